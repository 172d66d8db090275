//! The database, which is opened again after a disk failure.
//!
//! After one failed read or write of its file, for example on a full disk, redb refuses all work.
//!
//! Invariants: only the requests that met such a failure fail, and writes that were answered before they were
//! synced are lost. The next request opens the database
//! again; if it cannot, it returns the reason, and the request after it tries again. If answered
//! writes were not synced before the failure, one write, or one sync that an app asks for, fails that
//! says so. Locks are taken in the order writer, database.

use super::apply::{Change, ChangeResult, DatabaseWriter};
use super::database::Database;
use super::open::OpenError;
use crate::store::{ErrorCode, StoreError};
use std::sync::{
    Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError,
};
use std::{fmt, io, mem};

/// Opens the database again.
pub(crate) type Reopen =
    Box<dyn Fn() -> Result<(Database, DatabaseWriter), OpenError> + Send + Sync>;

pub(crate) struct Engine {
    database: RwLock<Opened>,
    /// `None` after a failure, because the writer may then be ahead of the database.
    writer: Mutex<Option<DatabaseWriter>>,
    /// `None` in memory, where no disk can fail.
    reopen: Option<Reopen>,
    /// Whether the database was opened for reading only, also while it is closed after a failure.
    read_only: bool,
}

/// The open database, and how often it was opened.
struct Opened {
    /// `None` after a failure, until it is opened again.
    database: Option<Database>,
    times: u64,
    /// Whether answered writes were lost, and nothing has said so yet.
    lost: bool,
}

impl Opened {
    /// Closes the database, which has failed.
    fn close(&mut self) {
        self.lost |= self.database.take().is_some_and(|database| database.is_unsynced());
    }
}

/// The reason why requests were not applied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EngineError {
    #[error("{0}")]
    Io(#[source] io::Error),
    #[error("{0}")]
    Database(#[source] redb::Error),
    #[error("{0}")]
    Closed(#[source] OpenError),
    #[error("the disk failed before the last writes were synced")]
    Lost,
}

impl From<redb::Error> for EngineError {
    fn from(error: redb::Error) -> Self {
        match error {
            redb::Error::Io(error) => Self::Io(error),
            error => Self::Database(error),
        }
    }
}

impl Engine {
    pub(crate) fn new(
        (database, writer): (Database, DatabaseWriter),
        reopen: Option<Reopen>,
    ) -> Self {
        let read_only = database.is_read_only();
        let opened = Opened { database: Some(database), times: 1, lost: false };
        let (database, writer) = (RwLock::new(opened), Mutex::new(Some(writer)));
        Self { database, writer, reopen, read_only }
    }

    /// Rejects a change of a database that is open for reading only.
    pub(crate) fn check_writable(&self) -> Result<(), StoreError> {
        if !self.read_only {
            return Ok(());
        }
        let message = "The database file is open for reading only.";
        let rejected = StoreError::new(ErrorCode::new("InsufficientAccountPermissions"), message);
        Err(StoreError { status: 403, ..rejected })
    }

    /// Reads, a second time after a disk failure.
    pub(crate) fn read<T>(
        &self,
        read: impl Fn(&Database) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.commit_answered();
        let attempt = || {
            let opened = self.opened();
            (opened.database.as_ref().map(&read), opened.times)
        };
        let (answer, times) = attempt();
        match answer {
            Some(Err(error)) if !has_failed(&error) => Err(error),
            Some(Ok(answer)) => Ok(answer),
            failed => {
                self.reopen(&mut self.writer(), times).map_err(not_open)?;
                attempt().0.or(failed).unwrap_or_else(|| Err(closed()))
            }
        }
    }

    /// Whether writes that come now neither sync nor wait for what does.
    pub(crate) fn is_quick(&self) -> bool {
        let is_eventual = self.opened().database.as_ref().is_some_and(Database::is_eventual);
        let may_sync = |writer: MutexGuard<'_, Option<DatabaseWriter>>| {
            writer.as_ref().is_none_or(DatabaseWriter::may_sync)
        };
        is_eventual && !self.try_writer().is_none_or(may_sync)
    }

    /// Whether a read would wait for a writer, or for a sync.
    pub(crate) fn would_wait(&self) -> bool {
        self.has_uncommitted() && self.try_writer().is_none()
    }

    /// Whether a read has to commit answered writes first.
    pub(crate) fn has_uncommitted(&self) -> bool {
        self.opened().database.as_ref().is_some_and(Database::is_uncommitted)
    }

    /// Commits all answered writes, so that a read sees them. If that fails, the database is closed, so the read opens
    /// it again.
    pub(crate) fn commit_answered(&self) {
        if !self.has_uncommitted() {
            return;
        }
        let mut writer = self.writer();
        let committed = self.opened().database.as_ref().map_or(Ok(()), Database::commit_answered);
        if committed.is_err() {
            self.opened_mut().close();
            *writer = None;
        }
    }

    /// Applies requests in one transaction.
    pub(crate) fn apply<'r>(
        &self,
        requests: impl Iterator<Item = &'r Change>,
    ) -> Result<Vec<ChangeResult>, EngineError> {
        let mut current = self.writer();
        if current.is_none() {
            let times = self.opened().times;
            self.reopen(&mut current, times).map_err(EngineError::Closed)?;
        }
        if self.opened().lost {
            self.opened_mut().lost = false;
            return Err(EngineError::Lost);
        }
        let result = self.transact(&mut current, requests);
        if result.is_err() && self.reopen.is_some() {
            // Only opening the file shows what it holds now, so nothing is read until then.
            self.opened_mut().close();
        }
        Ok(result?)
    }

    /// Brings all answered writes to the disk. If that fails, a later write says so, or
    /// [`sync_and_report`](Self::sync_and_report).
    pub(crate) fn sync(&self) -> Result<(), redb::Error> {
        let mut writer = self.writer();
        let synced = self.opened().database.as_ref().map_or(Ok(()), Database::sync);
        if synced.is_err() {
            self.opened_mut().close();
            *writer = None;
        }
        synced
    }

    /// Brings all answered writes to the disk. Fails if some of them may be lost, by this sync or by an
    /// earlier failure that nothing has reported yet.
    pub(crate) fn sync_and_report(&self) -> Result<(), StoreError> {
        let synced = self.sync();
        if !mem::take(&mut self.opened_mut().lost) {
            return Ok(());
        }
        let message = "The disk failed before answered writes were synced, so those of the last second \
                       may be lost: check the disk, then read the rows.";
        let error = StoreError::new(ErrorCode::ANSWERED_WRITES_LOST, message);
        let error = StoreError { status: 507, ..error };
        Err(match synced {
            Ok(()) => error,
            Err(cause) => error.caused_by(cause),
        })
    }

    /// Makes the file smaller, while no request reads or writes.
    pub(crate) fn compact(&self) -> Result<(), StoreError> {
        self.check_writable()?;
        let mut writer = self.writer();
        if writer.is_none() {
            let times = self.opened().times;
            self.reopen(&mut writer, times).map_err(not_open)?;
        }
        let mut opened = self.opened_mut();
        let Some(database) = &mut opened.database else { return Err(closed()) };
        database.compact().map_err(|error| {
            // As after a failed transaction: the next request opens the file again.
            if self.reopen.is_some() {
                opened.close();
                *writer = None;
            }
            let message = "The database file could not be compacted: check the disk. All rows are \
                           as before.";
            StoreError::new(ErrorCode::INTERNAL_ERROR, message).caused_by(error)
        })
    }

    fn transact<'r>(
        &self,
        current: &mut Option<DatabaseWriter>,
        requests: impl Iterator<Item = &'r Change>,
    ) -> Result<Vec<ChangeResult>, redb::Error> {
        let opened = self.opened();
        let database = opened.database.as_ref().ok_or(redb::Error::DatabaseClosed)?;
        let mut writer = match current.take() {
            Some(writer) => writer,
            None => DatabaseWriter::start(database)?,
        };
        let answers = writer.apply(database, requests)?;
        *current = Some(writer);
        Ok(answers)
    }

    /// Closes the database and opens it again, unless another request did so since the given count.
    fn reopen(&self, writer: &mut Option<DatabaseWriter>, times: u64) -> Result<(), OpenError> {
        let Some(reopen) = &self.reopen else { return Ok(()) };
        let mut opened = self.opened_mut();
        if opened.times != times {
            return Ok(());
        }
        // Closed first, because a file can be open only once.
        opened.close();
        *writer = None;
        let (database, started) = reopen()?;
        *opened = Opened { database: Some(database), times: times + 1, lost: opened.lost };
        *writer = Some(started);
        Ok(())
    }

    fn opened(&self) -> RwLockReadGuard<'_, Opened> {
        self.database.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn opened_mut(&self) -> RwLockWriteGuard<'_, Opened> {
        self.database.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks, even after a panic: the writer is absent while it works.
    fn writer(&self) -> MutexGuard<'_, Option<DatabaseWriter>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same; `None` while another request has it.
    fn try_writer(&self) -> Option<MutexGuard<'_, Option<DatabaseWriter>>> {
        match self.writer.try_lock() {
            Ok(writer) => Some(writer),
            Err(TryLockError::Poisoned(writer)) => Some(writer.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// Returns whether redb will refuse all further work.
fn has_failed(error: &StoreError) -> bool {
    let source = error.source.as_deref().and_then(|source| source.downcast_ref());
    matches!(source, Some(redb::Error::Io(_) | redb::Error::PreviousIo))
}

/// Builds the error of work on the file whose task did not finish.
pub(crate) fn abandoned(error: tokio::task::JoinError) -> StoreError {
    let message = "A panic or the runtime's shutdown ended the work on the database file.";
    StoreError::new(ErrorCode::INTERNAL_ERROR, message).caused_by(error)
}

/// Builds the error for a database that another request has just failed to open again.
fn closed() -> StoreError {
    StoreError::new(
        ErrorCode::INTERNAL_ERROR,
        "The database has been closed since its disk failed; check the disk.",
    )
}

fn not_open(error: OpenError) -> StoreError {
    let message = format!("The database has been closed since its disk failed ({error}).");
    StoreError::new(ErrorCode::INTERNAL_ERROR, message).caused_by(error)
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Engine")
    }
}
