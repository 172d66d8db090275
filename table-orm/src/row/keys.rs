//! The keys of a stored row, which tell what the row does not store.

use crate::entity::TableEntity;
use crate::key::{KeyError, KeyReader};

/// The two keys of a row, and which of its entity's templates the RowKey was written from.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct StoredKeys<'a> {
    pub(super) row: usize,
    pub(super) partition_key: &'a str,
    pub(super) row_key: &'a str,
}

impl StoredKeys<'_> {
    /// Reads the PartitionKey, from behind the literal that it starts with.
    pub fn partition<E: TableEntity, T>(
        self,
        start: &str,
        read: impl FnOnce(&mut KeyReader<'_>) -> Result<T, KeyError>,
    ) -> Result<Option<T>, KeyError> {
        let mut key = KeyReader::new(E::NAME, E::ESCAPE, self.partition_key);
        key.literal(start)?;
        read(&mut key).map(Some)
    }

    /// Reads the RowKey, from behind the literal that it starts with; nothing where it was written
    /// from another template.
    pub fn row<E: TableEntity, T>(
        self,
        row: usize,
        start: &str,
        read: impl FnOnce(&mut KeyReader<'_>) -> Result<T, KeyError>,
    ) -> Result<Option<T>, KeyError> {
        if self.row != row {
            return Ok(None);
        }
        let mut key = KeyReader::new(E::NAME, E::ESCAPE, self.row_key);
        key.literal(start)?;
        read(&mut key).map(Some)
    }
}
