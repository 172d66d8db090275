//! What settling needs to know of an entity type.

use super::foreign_rows::ForeignRows;
use crate::entity::{Loaded, TableEntity};
use crate::error::Result;
use crate::model::{Metadata, TableName};
use crate::store::StoredRow;

/// An entity type with rows in other partitions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ForeignType {
    /// Its name.
    pub entity: &'static str,
    /// The annotations that its canonical rows are read with.
    pub metadata: Metadata,
    /// Whether it has a foreign row of that name.
    pub has_row: fn(&str) -> bool,
    /// The foreign rows that a canonical row in that table tells of: none for a row of another type.
    pub rows: fn(&TableName, StoredRow) -> Result<ForeignRows>,
}

impl ForeignType {
    /// What settling needs to know of `E`.
    pub const fn of<E: TableEntity>() -> Self {
        Self {
            entity: E::NAME,
            metadata: E::METADATA,
            has_row: |name| E::FOREIGN.iter().any(|template| template.row.name == name),
            rows: |home, row| match Loaded::<E>::read(row.body, row.header)? {
                Some(entity) => Ok(ForeignRows::of::<E>(home, &entity)?),
                None => Ok(ForeignRows::default()),
            },
        }
    }
}
