//! Rows: the JSON objects an entity is stored as, written and read without a value tree between.
//!
//! An entity has one row for each of its key templates. All rows share the PartitionKey; full
//! copies share their properties.

mod json;
mod keys;
mod members;
mod misplaced;
mod names;
mod overlay;
mod read;
mod skip;
#[cfg(test)]
mod tests;
mod write;

#[doc(hidden)]
pub use keys::StoredKeys;
pub use members::Members;
pub use misplaced::KeyMismatch;
pub use read::{FromRow, ReadRow};
pub use write::{EntityRow, EntityRows};

pub(crate) use misplaced::read_entity;
pub(crate) use overlay::overlay;
pub(crate) use read::{AnyRow, read_etag, read_page, read_row, split_page};
pub(crate) use skip::{SkipUnreadable, read_rows};
pub(crate) use write::{body, partition_key, row_key};
