//! Entity group transactions on the wire: several requests in one body, several responses in another.

mod read;
mod write;

pub(crate) use read::{BatchContent, Part, PartHead, read};
pub(crate) use write::{change_set, single};
