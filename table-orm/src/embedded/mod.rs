//! The embedded store: a redb database in a file, or ordered rows in memory.
//!
//! It enforces the service's rules and limits: row order, ETags, entity group transactions, and the error codes of
//! rejected requests. A commit is durable once it is answered, unless the store is opened with
//! [`Durability::Eventual`]. Reads see committed rows only. After a full disk or another disk failure, the same
//! store continues as soon as the disk works again.
//!
//! Invariant: at most one process at a time can write the file, and one writer of it at a time changes it. Several
//! processes may read it while none writes.
//!
//! In memory, a write waits until the pages that are being read from its table are complete, and reads wait for
//! writes. A page reads at most [`MAX_SCANNED_ROWS`] rows.
//!
//! A write passes `admit` (the rules, on the caller's task), `commit` (group commit) and `apply`
//! (one transaction). A read passes `seek` (where to start) and `read` (what to return).

mod admit;
mod apply;
mod commit;
mod database;
mod durability;
mod engine;
mod file;
mod file_options;
mod file_rows;
mod filter_eval;
mod if_match;
mod key_bytes;
mod known_rows;
mod layout;
mod members;
mod memory;
mod open;
mod packed;
mod read;
mod read_rows;
mod row;
mod row_change;
mod rules;
mod seek;
mod selected_shape;
mod selection;
mod shape;
mod stored;
mod syncer;
#[cfg(test)]
mod tests;
mod timestamps;
mod totals;
mod value;

pub use durability::Durability;
pub use file_options::FileOptions;
pub use open::OpenError;

use crate::model::{ETag, Metadata, PARTITION_KEY, ROW_KEY, TableName};
use crate::query::RowQuery;
#[cfg(doc)]
use crate::store::ErrorCode;
use crate::store::{Backend, Batch, Operation, Page, Store, StoreError, StoredRow, limits};
use apply::Change;
use async_trait::async_trait;
use commit::CommitQueue;
use engine::{Engine, Reopen};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use syncer::Syncer;
use tokio::runtime::Handle;

/// The most rows that one page request reads. With a filter, a page may therefore be short or empty
/// and still have a continuation, like a page of the service.
pub const MAX_SCANNED_ROWS: usize = 10_000;

/// A page ends with the row that makes its JSON this long: 4 MiB, the limit of a request. So a page of large rows is
/// short, and has a continuation. The documentation of the service gives no such limit.
pub const MAX_PAGE_BYTES: usize = 4 * 1024 * 1024;

/// A [`Store`] in a file or in memory. Clones share it.
#[derive(Debug, Clone)]
pub struct EmbeddedStore {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// Before the engine, which is dropped when the thread no longer has it.
    _syncer: Option<Syncer>,
    engine: Arc<Engine>,
    queue: CommitQueue,
    /// The database file; `None` in memory.
    path: Option<PathBuf>,
}

impl Inner {
    const fn in_memory(&self) -> bool {
        self.path.is_none()
    }

    /// Returns the size of the database file; 0 in memory.
    fn file_bytes(&self) -> u64 {
        let path = self.path.as_ref();
        path.and_then(|path| path.metadata().ok()).map_or(0, |file| file.len())
    }

    fn query(&self, query: &RowQuery) -> Result<Page, StoreError> {
        self.engine.read(|database| read::query(database, query))
    }
}

impl EmbeddedStore {
    /// Opens a database file. Creates it when it does not exist or is empty. Does not change any
    /// other file that is not a table-orm database.
    ///
    /// Opening reads from disk on the calling thread, and takes longer after a crash.
    ///
    /// # Errors
    /// Returns [`OpenError`], whose text says what to do, when the file cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::open_with(path, FileOptions::default())
    }

    /// Opens a database file as [`open`](Self::open) does, with another [`Durability`] of its writes or other
    /// [options](FileOptions).
    ///
    /// # Errors
    /// As [`open`](Self::open).
    ///
    /// ```
    /// use table_orm::embedded::{Durability, EmbeddedStore};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("race.redb");
    /// let store = EmbeddedStore::open_with(&path, Durability::Eventual)?;
    /// let tables = table_orm::Tables::new(store); // writes do not wait for the disk
    /// # drop(tables);
    /// # Ok(())
    /// # }
    /// ```
    pub fn open_with(
        path: impl AsRef<Path>,
        options: impl Into<FileOptions>,
    ) -> Result<Self, OpenError> {
        let (path, options) = (path.as_ref().to_owned(), options.into());
        let opened = open::file(&path, options)?;
        let owned = path.clone();
        let reopen: Reopen = Box::new(move || open::existing(&owned, options));
        let engine = Arc::new(Engine::new(opened, Some(reopen)));
        let syncer = match options.durability {
            Durability::Immediate => None,
            Durability::Eventual => {
                let started = Syncer::start(Arc::clone(&engine));
                Some(started.map_err(|source| OpenError::Io { path: path.clone(), source })?)
            }
        };
        Ok(Self::new(engine, syncer, Some(path)))
    }

    /// Opens a database file that exists for reading only: it may be on a file system that cannot be written. Several
    /// stores, also of several processes, can read a file in this way at the same time, and none can write it
    /// meanwhile. A write fails with [`Error::Unauthorized`](crate::Error::Unauthorized).
    ///
    /// After a crash, a file has to be recovered before it can be read. This call does so: it opens the file for
    /// writing, and closes it again. So it needs write permission, and a second reader at that time may fail with
    /// [`OpenError::Locked`]. redb recovers a redb database of another program, too, before this call can see whose it
    /// is.
    ///
    /// # Errors
    /// Returns [`OpenError`], whose text says what to do, when the file does not exist or cannot be opened.
    ///
    /// ```
    /// use table_orm::Tables;
    /// use table_orm::embedded::EmbeddedStore;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("race.redb");
    /// # drop(EmbeddedStore::open(&path)?);
    /// let tables = Tables::new(EmbeddedStore::open_read_only(&path)?);
    /// assert!(tables.list().await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        let path = path.as_ref().to_owned();
        let open = move |path: &Path| open::read_only(path, FileOptions::default());
        let opened = open(&path)?;
        let owned = path.clone();
        let reopen: Reopen = Box::new(move || open(&owned));
        Ok(Self::new(Arc::new(Engine::new(opened, Some(reopen))), None, Some(path)))
    }

    /// Creates an empty store in memory, which lasts until its last clone is dropped.
    ///
    /// # Errors
    /// Returns [`OpenError`] when the store cannot start, which does not happen in practice.
    pub fn in_memory() -> Result<Self, OpenError> {
        Ok(Self::new(Arc::new(Engine::new(open::in_memory()?, None)), None, None))
    }

    /// Returns the path of the database file; `None` in memory.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.inner.path.as_deref()
    }

    /// Makes the database file as small as its rows allow, and returns its size in bytes before and
    /// after. Does nothing in memory.
    ///
    /// A file keeps the space of deleted and replaced rows, and of a load, for later writes. This
    /// call takes about as long as writing all rows again, and every other call waits for it and
    /// blocks its thread, so make it while the store is idle. A crash loses nothing.
    ///
    /// # Errors
    /// The disk fails or is full, or the store is open for reading only. All rows are as before.
    ///
    /// ```
    /// use table_orm::embedded::EmbeddedStore;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("race.redb");
    /// let store = EmbeddedStore::open(&path)?;
    /// let tables = table_orm::Tables::new(store.clone());
    /// // .. load, delete and update ..
    /// let (before, after) = store.compact().await?;
    /// assert!(after <= before);
    /// # drop(tables);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn compact(&self) -> Result<(u64, u64), StoreError> {
        let inner = Arc::clone(&self.inner);
        let compact = move || {
            let before = inner.file_bytes();
            inner.engine.compact()?;
            Ok((before, inner.file_bytes()))
        };
        blocking(compact).await
    }

    /// Brings all answered writes to the disk, and says whether that succeeded. Does nothing in memory, and
    /// nothing that [`Durability::Immediate`] has not done already.
    ///
    /// Dropping the last clone also brings them to the disk, but cannot return an error. With
    /// [`Durability::Eventual`], await this first.
    ///
    /// ```
    /// use table_orm::embedded::{Durability, EmbeddedStore};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("race.redb");
    /// let store = EmbeddedStore::open_with(&path, Durability::Eventual)?;
    /// let tables = table_orm::Tables::new(store.clone());
    /// // .. write ..
    /// store.sync().await?;
    /// drop((tables, store));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorCode::ANSWERED_WRITES_LOST`] when the disk failed before answered writes were synced, now or earlier,
    /// and no write has said so yet: those of the last second may be lost.
    pub async fn sync(&self) -> Result<(), StoreError> {
        let inner = Arc::clone(&self.inner);
        blocking(move || inner.engine.sync_and_report()).await
    }

    /// Waits where it blocks no task, if a read would wait for a writer or a sync.
    async fn wait_for_writer(&self) -> Result<(), StoreError> {
        if !self.inner.engine.would_wait() {
            return Ok(());
        }
        let inner = Arc::clone(&self.inner);
        blocking(move || {
            inner.engine.commit_answered();
            Ok(())
        })
        .await
    }

    fn new(engine: Arc<Engine>, syncer: Option<Syncer>, path: Option<PathBuf>) -> Self {
        let queue = CommitQueue::default();
        Self { inner: Arc::new(Inner { _syncer: syncer, engine, queue, path }) }
    }
}

/// Runs work on the file where it blocks no task, if there is a runtime.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match Handle::try_current() {
        Ok(runtime) => match runtime.spawn_blocking(work).await {
            Ok(done) => done,
            Err(error) => Err(engine::abandoned(error)),
        },
        Err(_) => work(),
    }
}

#[async_trait]
impl Store for EmbeddedStore {
    fn hidden_property(&self) -> Option<&str> {
        None
    }

    fn backend(&self) -> Backend {
        Backend { system: "table_orm.embedded".into(), in_process: true, ..Backend::default() }
    }

    fn commit_bytes(&self, _: &TableName, partition_key: &str, operations: &[Operation]) -> usize {
        admit::bytes(partition_key, operations)
    }

    async fn create_table(&self, table: &TableName) -> Result<(), StoreError> {
        commit::submit(&self.inner, Change::CreateTable(table.clone())).await.map(drop)
    }

    async fn delete_table(&self, table: &TableName) -> Result<(), StoreError> {
        commit::submit(&self.inner, Change::DeleteTable(table.clone())).await.map(drop)
    }

    async fn list_tables(&self) -> Result<Vec<TableName>, StoreError> {
        self.wait_for_writer().await?;
        let names = self.inner.engine.read(read::table_names)?;
        names.iter().map(|name| TableName::new(name).map_err(stored::corrupt)).collect()
    }

    /// Reads on the calling task, because at most a few pages of the file are not in redb's cache, unless it has to wait
    /// for a writer. Rows have the annotations that they were written with.
    async fn get(
        &self,
        table: &TableName,
        partition_key: &str,
        row_key: &str,
        select: Option<&[&str]>,
        _metadata: Metadata,
    ) -> Result<Option<StoredRow>, StoreError> {
        limits::check_key(PARTITION_KEY, partition_key)?;
        limits::check_key(ROW_KEY, row_key)?;
        let key = key_bytes::row(partition_key, row_key);
        self.wait_for_writer().await?;
        self.inner.engine.read(|database| read::get(database, table.as_str(), &key, select))
    }

    async fn query(&self, query: &RowQuery) -> Result<Page, StoreError> {
        match Handle::try_current() {
            Ok(runtime) if !self.inner.in_memory() => {
                let (inner, query) = (Arc::clone(&self.inner), query.clone());
                let page = runtime.spawn_blocking(move || inner.query(&query));
                page.await.unwrap_or_else(|error| Err(read::abandoned(error)))
            }
            _ => self.inner.query(query),
        }
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        let request = admit::write(table, partition_key, operation)?;
        match commit::submit(&self.inner, request).await {
            Ok(etags) => Ok(etags.into_iter().next().flatten()),
            Err(error) => Err(StoreError { operation: None, ..error }),
        }
    }

    async fn commit(
        &self,
        table: &TableName,
        transaction: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let request = admit::transaction(table, transaction)?;
        commit::submit(&self.inner, request).await
    }
}
