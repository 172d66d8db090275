//! The database under a store: redb in a file, or ordered rows in memory.
//!
//! Invariants: changes of a [`Transaction`] last once it is committed; of a file that is synced later, readers see them
//! once answered writes are committed. In memory they take effect one request after the other, and nothing but a
//! request's own checks can fail.

use super::file::{File, FileTable, FileTransaction};
use super::file_rows;
use super::layout::{self, Key, Value};
use super::memory::{Memory, MemoryRows, MemoryTable};
use super::read_rows::ReadRows;
use super::row::Row;
use super::row_change::RowChange;
use super::timestamps::Clock;
use crate::model::TableName;
use redb::ReadableTable;
use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::RwLockWriteGuard;

/// A database that is open.
#[allow(clippy::large_enum_variant)] // A store has one.
pub(crate) enum Database {
    File(File),
    Memory(Memory),
}

impl Database {
    /// Returns the table with this lower-case name as it is now; `None` when it does not exist.
    pub(crate) fn table(&self, name: &str) -> Result<Option<ReadTable>, redb::Error> {
        Ok(match self {
            Self::File(file) => file.table(name)?.map(ReadTable::File),
            Self::Memory(memory) => memory.table(name).map(ReadTable::Memory),
        })
    }

    /// Returns all table names in order, spelled as at creation.
    pub(crate) fn table_names(&self) -> Result<Vec<String>, redb::Error> {
        match self {
            Self::File(file) => file.table_names(),
            Self::Memory(memory) => Ok(memory.table_names()),
        }
    }

    /// Creates what is missing in a new database. Returns the lower-case names of all tables, and
    /// a clock that continues after all timestamps.
    pub(crate) fn start(&self) -> Result<(BTreeSet<String>, Clock), redb::Error> {
        Ok(match self {
            Self::File(file) => {
                let (tables, bound) = file.start()?;
                (tables, Clock::after(bound))
            }
            Self::Memory(memory) => (memory.table_keys(), Clock::continuing(memory.last_tick())),
        })
    }

    /// Begins a group of changes.
    pub(crate) fn begin(&self) -> Result<Transaction<'_>, redb::Error> {
        Ok(match self {
            Self::File(file) => Transaction::File(file.begin()?),
            Self::Memory(memory) => Transaction::Memory(memory),
        })
    }

    pub(crate) const fn is_read_only(&self) -> bool {
        matches!(self, Self::File(file) if file.is_read_only())
    }

    /// Whether it is a file whose commits do not wait for the disk.
    pub(crate) fn is_eventual(&self) -> bool {
        matches!(self, Self::File(file) if file.is_eventual())
    }

    /// Whether answered writes are not on the disk yet.
    pub(crate) fn is_unsynced(&self) -> bool {
        matches!(self, Self::File(file) if file.is_unsynced())
    }

    /// Whether a reader would not see all answered writes.
    pub(crate) fn is_uncommitted(&self) -> bool {
        matches!(self, Self::File(file) if file.is_uncommitted())
    }

    /// Commits all answered writes, so that readers see them.
    pub(crate) fn commit_answered(&self) -> Result<(), redb::Error> {
        match self {
            Self::File(file) => file.commit_answered(),
            Self::Memory(_) => Ok(()),
        }
    }

    /// Brings all answered writes to the disk, if there is one.
    pub(crate) fn sync(&self) -> Result<(), redb::Error> {
        match self {
            Self::File(file) => file.sync(),
            Self::Memory(_) => Ok(()),
        }
    }

    /// Moves the pages of a file together and gives the rest back to the file system.
    pub(crate) fn compact(&mut self) -> Result<(), redb::Error> {
        match self {
            Self::File(file) => file.compact(),
            Self::Memory(_) => Ok(()),
        }
    }
}

/// A table for reading.
pub(crate) enum ReadTable {
    File(FileTable),
    Memory(MemoryTable),
}

impl ReadTable {
    /// Returns the rows, which stay as they are while this value exists.
    pub(crate) fn rows(&self) -> ReadRows<'_> {
        match self {
            Self::File(table) => ReadRows::File(table),
            Self::Memory(table) => ReadRows::Memory(table.read()),
        }
    }
}

/// Changes that are committed together.
#[allow(clippy::large_enum_variant)] // There is one at a time, on the stack.
pub(crate) enum Transaction<'d> {
    File(FileTransaction<'d>),
    Memory(&'d Memory),
}

impl Transaction<'_> {
    /// Returns a table by its lower-case name, which exists.
    pub(crate) fn table(&self, name: &str) -> Result<WriteTable<'_>, redb::Error> {
        Ok(match self {
            Self::File(changes) => WriteTable::File(changes.redb().open_table(layout::rows(name))?),
            Self::Memory(memory) => WriteTable::Memory(memory.table(name).unwrap_or_default()),
        })
    }

    /// Creates a table, which does not exist.
    pub(crate) fn create_table(&self, name: &TableName) -> Result<(), redb::Error> {
        match self {
            Self::File(changes) => {
                let key = layout::lower_case(name.as_str());
                changes.redb().open_table(layout::CATALOG)?.insert(&*key, name.as_str())?;
                changes.redb().open_table(layout::rows(&key))?;
            }
            Self::Memory(memory) => memory.create_table(name),
        }
        Ok(())
    }

    /// Deletes a table by its lower-case name.
    pub(crate) fn delete_table(&self, name: &str) -> Result<(), redb::Error> {
        match self {
            Self::File(changes) => {
                changes.redb().open_table(layout::CATALOG)?.remove(name)?;
                changes.redb().delete_table(layout::rows(name))?;
            }
            Self::Memory(memory) => memory.delete_table(name),
        }
        Ok(())
    }

    /// Stores the upper bound of all timestamps. Memory keeps the last one itself.
    pub(crate) fn store_clock(&self, bound: i64) -> Result<(), redb::Error> {
        if let Self::File(changes) = self {
            changes.redb().open_table(layout::CLOCK)?.insert((), bound)?;
        }
        Ok(())
    }

    /// Makes the group's changes last, which has written so many rows.
    pub(crate) fn commit(self, rows: usize) -> Result<(), redb::Error> {
        match self {
            Self::File(changes) => changes.commit(rows),
            Self::Memory(_) => Ok(()),
        }
    }

    /// Commits to the disk, whatever the durability of other changes.
    pub(crate) fn commit_synced(self) -> Result<(), redb::Error> {
        match self {
            Self::File(changes) => changes.commit_synced(),
            Self::Memory(_) => Ok(()),
        }
    }

    /// Ends a group in which no request was applied.
    pub(crate) fn abort(self) -> Result<(), redb::Error> {
        if let Self::File(changes) = self {
            changes.abort()?;
        }
        Ok(())
    }
}

/// A table for writing.
pub(crate) enum WriteTable<'t> {
    File(redb::Table<'t, Key, Value>),
    Memory(MemoryTable),
}

impl<'t> WriteTable<'t> {
    /// Returns the rows for one request.
    pub(crate) fn rows(&mut self) -> WriteRows<'_, 't> {
        match self {
            Self::File(table) => WriteRows::File(table),
            Self::Memory(table) => WriteRows::Memory(table.write()),
        }
    }
}

/// The rows of a table while a request changes them.
pub(crate) enum WriteRows<'w, 't> {
    File(&'w mut redb::Table<'t, Key, Value>),
    Memory(RwLockWriteGuard<'w, MemoryRows>),
}

impl WriteRows<'_, '_> {
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Row<'_>>, redb::Error> {
        Ok(match self {
            Self::File(table) => table.get(key)?.map(Row::File),
            Self::Memory(rows) => rows.get(key).map(Row::Memory),
        })
    }

    /// Whether no row is from one key to another, both included.
    pub(crate) fn is_empty(&self, first: &[u8], last: &[u8]) -> Result<bool, redb::Error> {
        Ok(match self {
            Self::File(table) => table.range(first..=last)?.next().transpose()?.is_none(),
            Self::Memory(rows) => {
                rows.range((Bound::Included(first), Bound::Included(last))).next().is_none()
            }
        })
    }

    /// Makes the changes of a request, all of different keys.
    pub(crate) fn write(&mut self, changes: &[RowChange<'_>]) -> Result<(), redb::Error> {
        match self {
            Self::File(table) => file_rows::write(table, changes)?,
            Self::Memory(rows) => changes.iter().for_each(|RowChange { key, row }| match row {
                Some((timestamp, body)) => rows.put(key, timestamp, body),
                None => rows.remove(key),
            }),
        }
        Ok(())
    }
}
