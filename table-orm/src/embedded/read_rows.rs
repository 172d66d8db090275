//! The rows of a table as they were at one time, for one read.
//!
//! Invariant: they show the rows after some whole request, and no later change.

use super::layout::{Key, Value};
use super::memory::MemoryRows;
use super::packed::PackedRow;
use super::row::{Row, RowKey};
use redb::ReadOnlyTable;
use std::collections::btree_set;
use std::ops::Bound;
use std::sync::RwLockReadGuard;

/// The rows of a table at one time.
pub(crate) enum ReadRows<'t> {
    File(&'t ReadOnlyTable<Key, Value>),
    Memory(RwLockReadGuard<'t, MemoryRows>),
}

impl ReadRows<'_> {
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Row<'_>>, redb::Error> {
        Ok(match self {
            Self::File(table) => table.get(key)?.map(Row::File),
            Self::Memory(rows) => rows.get(key).map(Row::Memory),
        })
    }

    /// Returns the rows between two keys in order. The bounds are not reversed.
    pub(crate) fn range(
        &self,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
    ) -> Result<RowRange<'_>, redb::Error> {
        Ok(match self {
            Self::File(table) => RowRange::File(table.range::<&[u8]>(bounds)?),
            Self::Memory(rows) => RowRange::Memory(rows.range(bounds)),
        })
    }
}

/// Rows in order, each with its key.
#[allow(clippy::large_enum_variant)] // Each page has one, on the stack.
pub(crate) enum RowRange<'r> {
    File(redb::Range<'r, Key, Value>),
    Memory(btree_set::Range<'r, PackedRow>),
}

impl<'r> Iterator for RowRange<'r> {
    type Item = Result<(RowKey<'r>, Row<'r>), redb::Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::File(range) => Some(match range.next()? {
                Ok((key, row)) => Ok((RowKey::File(key), Row::File(row))),
                Err(error) => Err(error.into()),
            }),
            Self::Memory(range) => {
                range.next().map(|row| Ok((RowKey::Memory(row.key()), Row::Memory(row))))
            }
        }
    }
}
