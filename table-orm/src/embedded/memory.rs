//! Tables in memory: the rows of each in order, behind a lock.
//!
//! Invariant: whoever holds a table's lock sees whole requests only. A writer keeps the lock for all
//! operations of its request, which it has checked before the first one changes a row; a reader
//! keeps it for its page.

use super::layout::lower_case;
use super::packed::PackedRow;
use super::shape::Shapes;
use super::stored::TimestampText;
use super::timestamps::LastTick;
use crate::model::TableName;
use std::collections::{BTreeMap, BTreeSet, btree_set};
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The rows of one table in order, and their shapes.
#[derive(Debug, Default)]
pub(crate) struct MemoryRows {
    rows: BTreeSet<PackedRow>,
    shapes: Shapes,
}

impl MemoryRows {
    pub(crate) fn get(&self, key: &[u8]) -> Option<&PackedRow> {
        self.rows.get(key)
    }

    /// Returns the rows between two keys in order. The bounds are not reversed.
    pub(crate) fn range(
        &self,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
    ) -> btree_set::Range<'_, PackedRow> {
        self.rows.range::<[u8], _>(bounds)
    }

    /// Stores a row of this body, in place of the one that is there.
    pub(crate) fn put(&mut self, key: &[u8], timestamp: &TimestampText, body: &[u8]) {
        let row = PackedRow::new(key, timestamp, body, &mut self.shapes);
        if let Some(replaced) = self.rows.replace(row) {
            self.shapes.release(replaced.into_shape());
        }
    }

    pub(crate) fn remove(&mut self, key: &[u8]) {
        if let Some(removed) = self.rows.take(key) {
            self.shapes.release(removed.into_shape());
        }
    }
}

/// Tables by their lower-case names, and the last timestamp.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    tables: RwLock<BTreeMap<String, NamedTable>>,
    last_tick: LastTick,
}

#[derive(Debug)]
struct NamedTable {
    /// The name as spelled at creation.
    name: String,
    table: MemoryTable,
}

impl Memory {
    /// Returns a table by its lower-case name.
    pub(crate) fn table(&self, name: &str) -> Option<MemoryTable> {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        tables.get(name).map(|named| named.table.clone())
    }

    /// Returns the names of all tables in order, spelled as at creation.
    pub(crate) fn table_names(&self) -> Vec<String> {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        tables.values().map(|named| named.name.clone()).collect()
    }

    /// Returns the lower-case names of all tables.
    pub(crate) fn table_keys(&self) -> BTreeSet<String> {
        self.tables.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    /// Returns the last timestamp, for the clock that continues after it.
    pub(crate) fn last_tick(&self) -> LastTick {
        self.last_tick.clone()
    }

    pub(crate) fn create_table(&self, name: &TableName) {
        let key = lower_case(name.as_str()).into_owned();
        let named = NamedTable { name: name.to_string(), table: MemoryTable::default() };
        self.tables.write().unwrap_or_else(PoisonError::into_inner).insert(key, named);
    }

    /// Deletes a table by its lower-case name. Its rows last until their last reader is done.
    pub(crate) fn delete_table(&self, name: &str) {
        let deleted = self.tables.write().unwrap_or_else(PoisonError::into_inner).remove(name);
        // Many rows take a while to drop, so the lock is released before.
        drop(deleted);
    }
}

/// One table. Clones share its rows.
#[derive(Debug, Clone, Default)]
pub(crate) struct MemoryTable {
    rows: Arc<RwLock<MemoryRows>>,
}

impl MemoryTable {
    /// Locks for reading, even after a panic: no panic comes between two changes of a request.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, MemoryRows> {
        self.rows.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks for one request's changes.
    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, MemoryRows> {
        self.rows.write().unwrap_or_else(PoisonError::into_inner)
    }
}
