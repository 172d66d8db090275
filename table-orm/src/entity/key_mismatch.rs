//! Rows that are stored under another key than their properties make.
//!
//! Such a row reads as the entity of the other key. Invariant: an entity that is read in order to
//! be written back never comes from such a row, so that no write goes to a row that was not read.

use super::eventual_row::keys_of_rows;
use super::own_rows::{MovedRow, OwnRowError, OwnRows};
use super::read::read_own;
use super::rows::partition_key;
use super::template::{RowTemplate, template_at};
use crate::codec::RowContext;
use crate::entity::{Row, TableEntity};
use crate::key::KeyError;
use crate::model::ETag;
use crate::property::{PropertyError, PropertyFault};

/// A stored row that is under another key than its properties make. Nothing was written.
///
/// table-orm stores no such row. Another program may have changed a property that is part of the
/// key, or copied a row. Only the app can decide whether the key or the properties are right.
/// [`Repo::verify`](crate::Repo::verify) finds all such rows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "row {partition_key:?} / {row_key:?} of `{entity}` has properties that make {}, so a write \
     would go to another row; nothing was written: {}",
    made_text(self),
    help(*.index_row)
)]
#[non_exhaustive]
pub struct KeyMismatch {
    /// The entity's type name.
    pub entity: &'static str,
    /// The name of the index row, such as `by_age`; `None` for the canonical row.
    pub index_row: Option<&'static str>,
    /// The stored PartitionKey.
    pub partition_key: String,
    /// The stored RowKey.
    pub row_key: String,
    /// The PartitionKey that the properties make.
    pub made_partition_key: String,
    /// The RowKey that the properties make, the first one if they make several; `None` where they make
    /// no such row.
    pub made_row_key: Option<String>,
}

fn made_text(mismatch: &KeyMismatch) -> String {
    match &mismatch.made_row_key {
        Some(row_key) => format!("the key {:?} / {row_key:?}", mismatch.made_partition_key),
        None => "no such row".to_owned(),
    }
}

const fn help(index_row: Option<&'static str>) -> &'static str {
    match index_row {
        None => {
            "correct its properties, or insert it under the other key and delete this row, with \
             the untyped calls of `Tables::table`; `key_only` fields are read from the key"
        }
        Some(_) => "run `verify`, then `repair` what it finds",
    }
}

/// Why a row cannot be read in order to be written back.
#[derive(Debug)]
pub(crate) enum ReadBackError {
    /// The row cannot be read.
    Property(PropertyError),
    /// The row is under another key than its properties make.
    KeyMismatch(Box<KeyMismatch>),
    /// The row was moved to another key.
    Moved(Box<MovedRow>),
}

impl From<OwnRowError> for ReadBackError {
    fn from(error: OwnRowError) -> Self {
        match error {
            OwnRowError::Property(error) => Self::Property(error),
            OwnRowError::Moved(error) => Self::Moved(error),
        }
    }
}

/// Reads an entity from a row of kind `R`, with the row's keys and version; `None` for a row of another
/// type.
pub(crate) fn read_entity<'a, R: Row<Entity = E>, E: TableEntity>(
    json: &'a [u8],
    stated: Option<&ETag>,
) -> Result<Option<(E, RowContext<'a>)>, ReadBackError> {
    let (own, row) = (const { OwnRows::of::<R>() }, R::INDEX);
    let Some((entity, stored)) = read_own::<E>(&own, json, stated)? else { return Ok(None) };
    match other_key(&entity, row, (&stored.partition_key, &stored.row_key)) {
        Ok(None) => Ok(Some((entity, stored))),
        Ok(Some(made)) => {
            let is_canonical = row == <E::Canonical as Row>::INDEX;
            let index_row = if is_canonical { None } else { template_at::<E>(row) };
            Err(mismatch(E::NAME, index_row, stored, made))
        }
        Err(error) => Err(ReadBackError::Property(makes_no_key(&stored, &error))),
    }
}

/// A key that the properties of a row make: the PartitionKey, and the RowKey if they make such a row.
type MadeKey = (String, Option<String>);

/// The key that an entity makes for its row of that kind, where none that it makes is this one.
fn other_key<E: TableEntity>(
    entity: &E,
    row: usize,
    key: (&str, &str),
) -> Result<Option<MadeKey>, KeyError> {
    if has_row(entity, row, key)? {
        return Ok(None);
    }
    Ok(Some(match keys_of_rows(entity, row).next() {
        Some(made) => {
            let (partition_key, row_key) = made?;
            (partition_key, Some(row_key))
        }
        None => (partition_key(entity)?, None),
    }))
}

/// The error of a row under another key.
#[cold]
fn mismatch(
    entity: &'static str,
    index_row: Option<RowTemplate>,
    stored: RowContext<'_>,
    (made_partition_key, made_row_key): MadeKey,
) -> ReadBackError {
    ReadBackError::KeyMismatch(Box::new(KeyMismatch {
        entity,
        index_row: index_row.map(|template| template.name),
        partition_key: stored.partition_key.into_owned(),
        row_key: stored.row_key.into_owned(),
        made_partition_key,
        made_row_key,
    }))
}

/// Whether an entity has a row of that kind under these keys.
pub(crate) fn has_row<E: TableEntity>(
    entity: &E,
    index: usize,
    (partition_key, row_key): (&str, &str),
) -> Result<bool, KeyError> {
    for keys in keys_of_rows(entity, index) {
        let (made_partition_key, made_row_key) = keys?;
        if made_row_key == row_key && made_partition_key == partition_key {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The error of a stored value that a key cannot hold.
fn makes_no_key(stored: &RowContext<'_>, error: &KeyError) -> PropertyError {
    PropertyError {
        entity: stored.entity,
        property: error.component.to_owned(),
        partition_key: stored.partition_key.clone().into_owned(),
        row_key: stored.row_key.clone().into_owned(),
        fault: PropertyFault::Unreadable(error.to_string()),
    }
}
