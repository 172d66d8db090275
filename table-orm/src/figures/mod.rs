//! What reports are written with: percentiles in little memory, numbers as people read them, text in HTML.

mod sketch;
mod text;

pub use sketch::Percentiles;

pub(crate) use sketch::Sketch;
pub(crate) use text::{bytes, escaped, grouped};
