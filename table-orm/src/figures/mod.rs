//! What reports are written with: percentiles and numbers of different values in little memory, numbers as people read them, text in HTML.

mod distinct;
mod sketch;
mod text;

pub use sketch::Percentiles;

pub(crate) use distinct::DistinctSketch;
pub(crate) use sketch::Sketch;
pub(crate) use text::{bytes, code, counted, escaped, grouped};
