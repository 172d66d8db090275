//! What the keys of a stored row say of its entity.

use super::TableEntity;
use crate::key::{KeyError, KeyReader, StoredKeys};

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
