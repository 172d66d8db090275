//! Tables in memory: one ordered map of rows each, behind a lock.
//!
//! Invariant: whoever holds a table's lock sees whole requests only. A writer keeps the lock for all
//! operations of its request, which it has checked before the first one changes a row; a reader
//! keeps it for its page.

use super::clock::LastTick;
use super::layout::lower_case;
use crate::model::TableName;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The rows of one table, by key.
pub(crate) type RowMap = BTreeMap<Box<[u8]>, Bytes>;

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
    rows: Arc<RwLock<RowMap>>,
}

impl MemoryTable {
    /// Locks for reading, even after a panic: no panic comes between two changes of a request.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, RowMap> {
        self.rows.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks for one request's changes.
    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, RowMap> {
        self.rows.write().unwrap_or_else(PoisonError::into_inner)
    }
}
