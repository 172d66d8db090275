//! A redb database whose tables stay open between reads, and whose transaction stays open between writes.
//!
//! redb takes longer to open a table than to find a row in it, and longer to commit a row than to write it. So
//! with [`Durability::Eventual`], the groups of a while are one transaction. It is committed before the next
//! read, sync or close, or when it has [`MAX_OPEN_ROWS`].
//!
//! Invariants: a table that is kept open shows the last commit. No table is kept open while a
//! transaction runs, because redb reuses no page that a reader may still need. What is not synced is
//! marked so, and what is not committed is, too: who reads commits it first. The open transaction holds whole requests
//! only, and all of them are answered. If it is lost, [`File::commit_answered`] fails. Only the engine's writer begins,
//! continues and commits transactions.

use super::durability::Durability;
use super::layout::{self, Key, Value};
use redb::{
    ReadOnlyDatabase, ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTable, TableError,
    TransactionError, WriteTransaction,
};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The most rows that are written in one transaction before it is committed: a read that has to commit them takes some
/// milliseconds more.
const MAX_OPEN_ROWS: usize = 10_000;

/// A table as it was at a commit.
pub(crate) type FileTable = Arc<ReadOnlyTable<Key, Value>>;

/// A database file that is open.
pub(crate) struct File {
    /// Before the database, so that they are dropped first.
    kept: Arc<RwLock<KeptTables>>,
    open: Mutex<Option<OpenTransaction>>,
    /// Whether the open transaction has answered writes, also while the writer continues it.
    uncommitted: AtomicBool,
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
        let (kept, open, uncommitted, unsynced) = Default::default();
        Self { kept, open, uncommitted, database, durability, unsynced }
    }

    pub(crate) const fn is_read_only(&self) -> bool {
        matches!(self.database, Handle::ReadOnly(_))
    }

    /// Whether a commit does not wait for the disk.
    pub(crate) fn is_eventual(&self) -> bool {
        self.durability == Durability::Eventual
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
                changes.redb().open_table(layout::CATALOG)?;
                changes.redb().open_table(layout::CLOCK)?;
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

    /// Begins the only transaction that runs, or continues the open one.
    pub(crate) fn begin(&self) -> Result<FileTransaction<'_>, redb::Error> {
        let Handle::ReadWrite(database) = &self.database else { return Err(read_only()) };
        if let Some(open) = self.take_open() {
            return Ok(FileTransaction { file: self, open });
        }
        self.kept_mut().change();
        let running = Running(Arc::clone(&self.kept));
        let open = OpenTransaction { redb: database.begin_write()?, rows: 0, _running: running };
        Ok(FileTransaction { file: self, open })
    }

    /// Whether answered writes are not on the disk yet.
    pub(crate) fn is_unsynced(&self) -> bool {
        self.unsynced.load(Ordering::Relaxed)
    }

    /// Whether a reader would not see all answered writes.
    pub(crate) fn is_uncommitted(&self) -> bool {
        self.uncommitted.load(Ordering::Acquire)
    }

    /// Commits all answered writes, so that readers see them.
    pub(crate) fn commit_answered(&self) -> Result<(), redb::Error> {
        if !self.is_uncommitted() {
            return Ok(());
        }
        // Without its transaction, a panic has lost them.
        let open = self.take_open().ok_or(redb::Error::DatabaseClosed)?;
        FileTransaction { file: self, open }.commit_unsynced()
    }

    /// Brings all answered writes to the disk. Readers see them before, so none waits for the disk.
    pub(crate) fn sync(&self) -> Result<(), redb::Error> {
        self.commit_answered()?;
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

    /// Locks, even after a panic: the transaction is there, or it is not.
    fn take_open(&self) -> Option<OpenTransaction> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Locks, even after a panic: the tables are never half changed.
    fn kept(&self) -> RwLockReadGuard<'_, KeptTables> {
        self.kept.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept_mut(&self) -> RwLockWriteGuard<'_, KeptTables> {
        self.kept.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closing loses nothing while the disk works.
impl Drop for File {
    fn drop(&mut self) {
        // Nobody is left to tell, as with the sync that redb makes when it closes.
        let _ = self.commit_answered();
    }
}

/// A transaction of redb. Tables are kept open again once it has ended.
struct OpenTransaction {
    redb: WriteTransaction,
    /// How many rows it has written.
    rows: usize,
    _running: Running,
}

/// A transaction in the hands of the writer. What it holds is lost if it is dropped.
pub(crate) struct FileTransaction<'d> {
    file: &'d File,
    open: OpenTransaction,
}

impl FileTransaction<'_> {
    pub(crate) const fn redb(&self) -> &WriteTransaction {
        &self.open.redb
    }

    /// Makes a group of requests last as the file's durability says, which has written so many rows.
    pub(crate) fn commit(mut self, rows: usize) -> Result<(), redb::Error> {
        if !self.file.is_eventual() {
            return self.commit_synced();
        }
        self.open.rows += rows;
        self.file.unsynced.store(true, Ordering::Relaxed);
        if self.open.rows >= MAX_OPEN_ROWS {
            return self.commit_unsynced();
        }
        self.keep();
        Ok(())
    }

    /// Commits, and brings all that was committed before to the disk.
    pub(crate) fn commit_synced(self) -> Result<(), redb::Error> {
        self.open.redb.commit()?;
        self.file.uncommitted.store(false, Ordering::Release);
        self.file.unsynced.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Commits, so that readers see it.
    fn commit_unsynced(mut self) -> Result<(), redb::Error> {
        self.open.redb.set_durability(redb::Durability::None)?;
        self.open.redb.commit()?;
        self.file.uncommitted.store(false, Ordering::Release);
        Ok(())
    }

    /// Ends a group of which no request was applied.
    pub(crate) fn abort(self) -> Result<(), redb::Error> {
        if self.file.is_uncommitted() {
            // Earlier groups are in it.
            self.keep();
            return Ok(());
        }
        Ok(self.open.redb.abort()?)
    }

    /// Leaves it open for the next group.
    fn keep(self) {
        *self.file.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.open);
        self.file.uncommitted.store(true, Ordering::Release);
    }
}

struct Running(Arc<RwLock<KeptTables>>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).change();
    }
}
