//! Rows: the JSON objects an entity is stored as, written and read without a value tree between.
//!
//! An entity has one row for each of its key templates. All rows share the PartitionKey; full
//! copies share their properties.

mod members;
mod overlay;
mod read;
mod write;

pub use members::{Members, RowContext};
pub use read::{FromRow, ReadRow};
pub use write::{EntityRow, EntityRows};

pub(crate) use overlay::overlay;
pub(crate) use read::{AnyRow, read_etag, read_page, read_row, read_versioned_row, split_page};
pub(crate) use write::body;
