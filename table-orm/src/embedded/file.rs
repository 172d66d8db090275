//! A redb database whose tables stay open between reads.
//!
//! redb takes longer to open a table than to find a row in it.
//!
//! Invariants: a table that is kept open shows the last commit. No table is kept open while a
//! transaction runs, because redb reuses no page that a reader may still need. What is not synced is
//! marked so, and only the engine's writer begins transactions.

use super::durability::Durability;
use super::layout;
use redb::{
    ReadOnlyDatabase, ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTable, TableError,
    TransactionError, WriteTransaction,
};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A table as it was at a commit.
pub(crate) type FileTable = Arc<ReadOnlyTable<&'static [u8], &'static [u8]>>;

/// A database file that is open.
pub(crate) struct File {
    /// Before the database, so that it is dropped first.
    kept: RwLock<KeptTables>,
    database: Handle,
    durability: Durability,
    /// Whether answered writes are not on the disk yet.
    unsynced: AtomicBool,
}

/// A database of redb, which may be opened for reading only.
enum Handle {
    ReadWrite(redb::Database),
    ReadOnly(ReadOnlyDatabase),
}

impl Handle {
    fn begin_read(&self) -> Result<ReadTransaction, TransactionError> {
        match self {
            Self::ReadWrite(database) => database.begin_read(),
            Self::ReadOnly(database) => database.begin_read(),
        }
    }
}

/// The error of a change to a file that is open for reading only.
fn read_only() -> redb::Error {
    redb::Error::Io(io::ErrorKind::ReadOnlyFilesystem.into())
}

#[derive(Default)]
struct KeptTables {
    /// How often a transaction has begun or ended: odd while one runs.
    changes: u64,
    /// By their lower-case names.
    tables: BTreeMap<String, FileTable>,
}

impl KeptTables {
    fn change(&mut self) {
        self.changes += 1;
        self.tables.clear();
    }
}

impl File {
    pub(crate) fn new(database: redb::Database, durability: Durability) -> Self {
        Self::of(Handle::ReadWrite(database), durability)
    }

    /// A file whose changes all fail.
    pub(crate) fn read_only(database: ReadOnlyDatabase) -> Self {
        Self::of(Handle::ReadOnly(database), Durability::Immediate)
    }

    fn of(database: Handle, durability: Durability) -> Self {
        Self { kept: RwLock::default(), database, durability, unsynced: AtomicBool::new(false) }
    }

    pub(crate) const fn is_read_only(&self) -> bool {
        matches!(self.database, Handle::ReadOnly(_))
    }

    /// Returns the table with this lower-case name; `None` when it does not exist.
    pub(crate) fn table(&self, name: &str) -> Result<Option<FileTable>, redb::Error> {
        let changes = {
            let kept = self.kept();
            if let Some(table) = kept.tables.get(name) {
                return Ok(Some(Arc::clone(table)));
            }
            kept.changes
        };
        let table = match self.database.begin_read()?.open_table(layout::rows(name)) {
            Ok(table) => Arc::new(table),
            Err(TableError::TableDoesNotExist(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        // A transaction that has begun since may have committed.
        let mut kept = self.kept_mut();
        if kept.changes == changes && changes.is_multiple_of(2) {
            kept.tables.insert(name.to_owned(), Arc::clone(&table));
        }
        Ok(Some(table))
    }

    /// Returns all table names in order, spelled as at creation.
    pub(crate) fn table_names(&self) -> Result<Vec<String>, redb::Error> {
        let catalog = match self.database.begin_read()?.open_table(layout::CATALOG) {
            Ok(catalog) => catalog,
            // Of a database that is new, and open for reading only.
            Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        catalog.iter()?.map(|entry| Ok(entry?.1.value().to_owned())).collect()
    }

    /// Creates our own tables if they are missing. Returns the lower-case names of all tables, and
    /// the upper bound of all timestamps.
    pub(crate) fn start(&self) -> Result<(BTreeSet<String>, i64), redb::Error> {
        let transaction = self.database.begin_read()?;
        let (catalog, clock) = match (
            transaction.open_table(layout::CATALOG),
            transaction.open_table(layout::CLOCK),
        ) {
            (Ok(catalog), Ok(clock)) => (catalog, clock),
            (Err(TableError::TableDoesNotExist(_)), _) => {
                if self.is_read_only() {
                    return Ok((BTreeSet::new(), 0));
                }
                let changes = self.begin()?;
                changes.redb.open_table(layout::CATALOG)?;
                changes.redb.open_table(layout::CLOCK)?;
                changes.commit_synced()?;
                return Ok((BTreeSet::new(), 0));
            }
            (Err(error), _) | (_, Err(error)) => return Err(error.into()),
        };
        let mut tables = BTreeSet::new();
        for entry in catalog.iter()? {
            tables.insert(entry?.0.value().to_owned());
        }
        Ok((tables, clock.get(())?.map_or(0, |bound| bound.value())))
    }

    /// Begins the only transaction that runs.
    pub(crate) fn begin(&self) -> Result<FileTransaction<'_>, redb::Error> {
        let Handle::ReadWrite(database) = &self.database else { return Err(read_only()) };
        self.kept_mut().change();
        let running = Running(self);
        Ok(FileTransaction { redb: database.begin_write()?, running })
    }

    /// Whether answered writes are not on the disk yet.
    pub(crate) fn is_unsynced(&self) -> bool {
        self.unsynced.load(Ordering::Relaxed)
    }

    /// Brings all answered writes to the disk.
    pub(crate) fn sync(&self) -> Result<(), redb::Error> {
        if self.is_unsynced() { self.begin()?.commit_synced() } else { Ok(()) }
    }

    /// Moves the pages together and gives the rest back to the file system.
    pub(crate) fn compact(&mut self) -> Result<(), redb::Error> {
        self.sync()?;
        self.kept_mut().tables.clear();
        match &mut self.database {
            Handle::ReadWrite(database) => database.compact()?,
            Handle::ReadOnly(_) => return Err(read_only()),
        };
        Ok(())
    }

    /// Locks, even after a panic: the tables are never half changed.
    fn kept(&self) -> RwLockReadGuard<'_, KeptTables> {
        self.kept.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept_mut(&self) -> RwLockWriteGuard<'_, KeptTables> {
        self.kept.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A transaction of redb. Tables are kept open again once it has ended.
pub(crate) struct FileTransaction<'d> {
    pub(crate) redb: WriteTransaction,
    running: Running<'d>,
}

impl FileTransaction<'_> {
    /// Commits as the file's durability says.
    pub(crate) fn commit(mut self) -> Result<(), redb::Error> {
        let file = self.running.0;
        match file.durability {
            Durability::Immediate => self.commit_synced(),
            Durability::Eventual => {
                self.redb.set_durability(redb::Durability::None)?;
                self.redb.commit()?;
                file.unsynced.store(true, Ordering::Relaxed);
                Ok(())
            }
        }
    }

    /// Commits, and brings all that was committed before to the disk.
    pub(crate) fn commit_synced(self) -> Result<(), redb::Error> {
        self.redb.commit()?;
        self.running.0.unsynced.store(false, Ordering::Relaxed);
        Ok(())
    }
}

struct Running<'d>(&'d File);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.kept_mut().change();
    }
}
