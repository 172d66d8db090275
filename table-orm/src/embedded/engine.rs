//! The database, and its being opened again after its disk has failed.
//!
//! redb refuses all work after one read or write of its file that failed, as on a full disk.
//! Invariant: such a failure costs the requests that met it. The next one opens the database again;
//! where it cannot, it says why, and the one after it tries once more.
//!
//! Locks are taken in the order writer, database.

use super::apply::{Change, ChangeResult, DatabaseWriter};
use super::open::OpenError;
use crate::store::{ErrorCode, StoreError};
use redb::Database;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::{fmt, io};

/// Opens the database again.
pub(crate) type Reopen =
    Box<dyn Fn() -> Result<(Database, DatabaseWriter), OpenError> + Send + Sync>;

pub(crate) struct Engine {
    database: RwLock<Opened>,
    /// `None` after a failure, which may have left it ahead of the database.
    writer: Mutex<Option<DatabaseWriter>>,
    /// `None` in memory, where nothing fails.
    reopen: Option<Reopen>,
}

/// The database, as it was opened for the so-manieth time.
struct Opened {
    /// `None` after a failure, until it could be opened again.
    database: Option<Database>,
    times: u64,
}

/// Why requests were not carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Io(#[source] io::Error),
    #[error("{0}")]
    Database(#[source] redb::Error),
    #[error("{0}")]
    Closed(#[source] OpenError),
}

impl From<redb::Error> for Failure {
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
        let opened = Opened { database: Some(database), times: 1 };
        let (database, writer) = (RwLock::new(opened), Mutex::new(Some(writer)));
        Self { database, writer, reopen }
    }

    /// Reads; once more when the disk has failed.
    pub(crate) fn read<T>(
        &self,
        read: impl Fn(&Database) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
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

    /// Carries out requests in one transaction.
    pub(crate) fn apply<'r>(
        &self,
        requests: impl Iterator<Item = &'r Change>,
    ) -> Result<Vec<ChangeResult>, Failure> {
        let mut current = self.writer();
        if current.is_none() {
            let times = self.opened().times;
            self.reopen(&mut current, times).map_err(Failure::Closed)?;
        }
        let result = self.transact(&mut current, requests);
        if result.is_err() && self.reopen.is_some() {
            // What the file holds now, only opening it tells; until then nothing is read.
            self.opened_mut().database = None;
        }
        Ok(result?)
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

    /// Closes the database that was opened as the so-manieth, and opens it again.
    fn reopen(&self, writer: &mut Option<DatabaseWriter>, times: u64) -> Result<(), OpenError> {
        let Some(reopen) = &self.reopen else { return Ok(()) };
        let mut opened = self.opened_mut();
        if opened.times != times {
            return Ok(());
        }
        // Closed first: the file is open once.
        (opened.database, *writer) = (None, None);
        let (database, started) = reopen()?;
        *opened = Opened { database: Some(database), times: times + 1 };
        *writer = Some(started);
        Ok(())
    }

    fn opened(&self) -> RwLockReadGuard<'_, Opened> {
        self.database.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn opened_mut(&self) -> RwLockWriteGuard<'_, Opened> {
        self.database.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks, also after a panic: the writer is absent while it works.
    fn writer(&self) -> MutexGuard<'_, Option<DatabaseWriter>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether redb will refuse all that follows.
fn has_failed(error: &StoreError) -> bool {
    let source = error.source.as_deref().and_then(|source| source.downcast_ref());
    matches!(source, Some(redb::Error::Io(_) | redb::Error::PreviousIo))
}

/// Another request has just found that it cannot be opened again.
fn closed() -> StoreError {
    StoreError::new(ErrorCode::INTERNAL_ERROR, "The database is closed since its disk failed.")
}

fn not_open(error: OpenError) -> StoreError {
    let message = format!("The database is closed since its disk failed: {error}.");
    StoreError::new(ErrorCode::INTERNAL_ERROR, message).caused_by(error)
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Engine")
    }
}
