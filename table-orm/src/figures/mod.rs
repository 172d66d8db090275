//! What reports are written with: percentiles and numbers of different values in little memory, numbers as people read
//! them, text in HTML and Markdown.

mod distinct;
mod markup;
mod numbers;
mod sketch;

pub use sketch::Percentiles;

pub(crate) use distinct::DistinctSketch;
pub(crate) use markup::{code, escaped};
pub(crate) use numbers::{bytes, counted, grouped, rounded};
pub(crate) use sketch::Sketch;
