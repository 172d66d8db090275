//! Numbers in reports: many in little memory, and one as people read it.

mod sketch;
mod text;

pub use sketch::Percentiles;

pub(crate) use sketch::Sketch;
pub(crate) use text::{bytes, grouped};
