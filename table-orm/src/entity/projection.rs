//! The fields that a projection reads: from a row's properties, or else from its keys.

use super::TableEntity;
use crate::key::{KeyError, KeyFault, KeyPart, KeyReader, KeyTemplate, StoredKeys};
use crate::property::Series;

/// A field of entity `Self` that a projection may have, by the hash of its name and its type. The
/// derive writes the implementations.
#[doc(hidden)]
pub trait Field<const ID: u64, T> {
    /// The property that stores it; empty for a field that is stored only in keys.
    const PROPERTY: &'static str;

    /// Reads the field from the keys of a row that does not store it as a property; `None` where they
    /// do not hold it.
    const KEYS: FromKeys<T> = |_| Ok(None);
}

/// Reads a field from the keys of a row.
#[doc(hidden)]
pub type FromKeys<T> = fn(StoredKeys<'_>) -> Result<Option<T>, KeyError>;

/// The series of that field.
#[doc(hidden)]
pub trait SeriesOf<const ID: u64> {
    type Series: Series;
    const PROPERTY: &'static str;
}

/// Implemented where rows of kind `Self` store that field, or their keys hold it. The derive writes
/// the implementations.
#[doc(hidden)]
pub trait Stores<const ID: u64> {}

/// Reads the component `AT` of the PartitionKey.
///
/// # Errors
/// When the key was not written from the template.
#[doc(hidden)]
pub fn in_partition<E: TableEntity, T: From<C>, C: KeyPart<X>, X, const AT: usize>(
    keys: StoredKeys<'_>,
) -> Result<Option<T>, KeyError> {
    component::<E, T, C, X>(&E::PARTITION_KEY, AT, keys.partition_key)
}

/// Reads the component `AT` of the RowKey; `None` for a row of another template than `ROW`.
///
/// # Errors
/// When the key was not written from the template.
#[doc(hidden)]
pub fn in_row<E: TableEntity, T: From<C>, C: KeyPart<X>, X, const ROW: usize, const AT: usize>(
    keys: StoredKeys<'_>,
) -> Result<Option<T>, KeyError> {
    match E::ROWS.get(ROW).filter(|_| keys.row == ROW) {
        Some(row) => component::<E, T, C, X>(&row.template(), AT, keys.row_key),
        None => Ok(None),
    }
}

fn component<E: TableEntity, T: From<C>, C: KeyPart<X>, X>(
    template: &KeyTemplate<'_>,
    at: usize,
    key: &str,
) -> Result<Option<T>, KeyError> {
    let Some((part, rest)) = template.component(at, key) else {
        let (value, fault) = (key.to_owned(), KeyFault::Malformed);
        return Err(KeyError { entity: E::NAME, component: "", value, fault });
    };
    let mut reader = KeyReader::new(E::NAME, E::ESCAPE, rest);
    reader.part::<X, C>(part.name, part.separator).map(|value| Some(value.into()))
}
