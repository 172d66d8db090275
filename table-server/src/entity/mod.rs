//! Entities as JSON: read from the bodies of requests, and written at each level of metadata.

mod read;
mod value;
mod write;

pub(crate) use read::EntityBody;
pub(crate) use write::{EntityAddress, EntityWriter};
#[cfg(test)]
mod tests;
