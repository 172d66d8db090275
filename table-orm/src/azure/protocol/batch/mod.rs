//! Bodies of entity group transactions: several requests in one, several responses in another.

mod parts;
mod writer;

pub(super) use parts::parts;
pub(super) use writer::{BatchWriter, CONTENT_TYPE};
