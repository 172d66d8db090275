//! Entity group transactions: several requests in one body, several responses in another.

mod parts;
mod writer;

pub(super) use parts::parts;
pub(super) use writer::BatchWriter;
