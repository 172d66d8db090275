//! The fields that a projection reads: from a row's properties, or else from its keys.

use super::TableEntity;
use crate::key::{KeyError, KeyReader, StoredKeys};
use crate::property::Series;

/// A field of entity `Self` that a projection may have, by the hash of its name and its type. The
/// derive writes the implementations.
#[doc(hidden)]
pub trait Field<const ID: u64, T> {
    /// The property that stores it; empty for a field that is stored only in keys.
    const PROPERTY: &'static str;

    /// The field's value in the keys of a row that does not store it as a property.
    fn from_keys(_keys: StoredKeys<'_>) -> Result<Option<T>, KeyError> {
        Ok(None)
    }
}

/// Implemented where rows of kind `Self` store that field, or their keys hold it. The derive writes
/// the implementations.
/// The series of that field.
#[doc(hidden)]
pub trait SeriesOf<const ID: u64> {
    type Series: Series;
    const PROPERTY: &'static str;
}

#[doc(hidden)]
pub trait Stores<const ID: u64> {}

impl StoredKeys<'_> {
    /// Reads the PartitionKey, behind the literal that it starts with.
    pub fn partition<E: TableEntity, T>(
        self,
        start: &str,
        read: impl FnOnce(&mut KeyReader<'_>) -> Result<T, KeyError>,
    ) -> Result<Option<T>, KeyError> {
        let mut key = KeyReader::new(E::NAME, E::ESCAPE, self.partition_key);
        key.literal(start)?;
        read(&mut key).map(Some)
    }

    /// Reads the RowKey, behind the literal that it starts with; `None` when it was written from
    /// another template.
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
