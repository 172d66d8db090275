//! A writer into the tables of periods.
//!
//! Invariants: an entity is taken by the writer of its period's table, and a table has at most one. A writer is let go
//! only when what it took is written. What could not be written stays in its writer, and in the journal, until the
//! next report.

use super::{Bucketed, Period, Periods};
use crate::error::{Result, WriterError};
use crate::model::{DateTime, TableName};
use crate::repo::{OpenWriter, Repo, Writer, WriterReport};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use tokio::sync::Mutex;

/// The most periods that a writer holds entities of at a time.
pub const OPEN_PERIODS: usize = 4;

impl<E: Bucketed + 'static> Periods<E> {
    /// Opens a writer for entities that arrive one by one, as [`Repo::writer`](crate::Repo::writer) does for a type
    /// with one table. Each goes into the table of its period, whose first write creates it.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # use time::{Duration, OffsetDateTime};
    /// # #[derive(Debug, TableEntity)]
    /// # #[table(name = "readings", partition = "{sensor}", row = "{at}", bucket(month, at))]
    /// # struct Reading { sensor: String, at: OffsetDateTime }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let readings = Tables::in_memory()?.periods::<Reading>();
    /// # let now = OffsetDateTime::from_unix_timestamp(1_794_000_000)?;
    /// let writer = readings.writer();
    /// for days in 0..60 {
    ///     writer.send(Reading { sensor: "roof".into(), at: now + Duration::days(days) }).await?;
    /// }
    /// assert_eq!(writer.close().await?.all()?.entities, 60);
    /// assert_eq!(readings.existing().await?.len(), 3);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn writer(&self) -> PeriodsWriter<E> {
        self.writer_with(|writer| writer)
    }

    /// Starts a writer with settings, such as `|writer| writer.every(Duration::from_secs(10)).upserts()`. They count
    /// for each period by itself: the buffer is one for each of the [`OPEN_PERIODS`].
    ///
    /// One [journal](OpenWriter::journal) keeps the entities of all periods. After a crash,
    /// [`recover`](PeriodsWriter::recover) writes what it has of any period.
    pub fn writer_with(
        &self,
        settings: impl Fn(OpenWriter<E>) -> OpenWriter<E> + Send + Sync + 'static,
    ) -> PeriodsWriter<E> {
        let open = Open { writers: BTreeMap::new(), used: 0, report: None, is_closed: false };
        let (periods, settings) = (self.clone(), Arc::new(settings));
        PeriodsWriter { periods, settings, open: Arc::new(Mutex::new(open)) }
    }
}

/// Takes entities one by one, and writes them as full transactions into the tables of their periods. Cheap to clone:
/// clones are the same writer.
///
/// It holds a [`Writer`] for each of the last [`OPEN_PERIODS`] periods. What comes for a further one waits until the
/// entities of the period that was idle longest are written. All that [`Writer`] promises holds for each period.
pub struct PeriodsWriter<E> {
    periods: Periods<E>,
    settings: Arc<dyn Fn(OpenWriter<E>) -> OpenWriter<E> + Send + Sync>,
    open: Arc<Mutex<Open<E>>>,
}

/// The writers of the last periods.
struct Open<E> {
    writers: BTreeMap<TableName, PeriodWriter<E>>,
    used: u64,
    /// What was written and let go since the last report.
    report: Option<WriterReport<E>>,
    is_closed: bool,
}

/// The writer of a period.
struct PeriodWriter<E> {
    writer: Writer<E>,
    /// The number of the last call that used it.
    last: u64,
    /// Whether it holds nothing but failures, which the next report has.
    has_failed: bool,
}

impl<E: Bucketed + 'static> PeriodsWriter<E> {
    /// Takes an entity, as [`Writer::send`] does. Calls take turns.
    ///
    /// # Errors
    /// - As [`Writer::send`]: the entity was not taken.
    /// - [`WriterError::NoRuntime`] outside of a tokio runtime.
    pub async fn send(&self, entity: E) -> Result<()> {
        let mut open = self.open.lock().await;
        if open.is_closed {
            return Err(WriterError::Closed.into());
        }
        let repo = self.periods.of(&entity);
        self.writer_of(&mut open, &repo).await?.send(entity).await
    }

    /// Writes what an ended process left in the [journal](OpenWriter::journal) of the settings, for each period that
    /// has entities there. Returns what was written, and what could not be written, since the last report.
    ///
    /// Call it when the app starts. [`send`](Self::send) alone writes what was left of the periods of its entities.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # use time::OffsetDateTime;
    /// # #[derive(Debug, TableEntity)]
    /// # #[table(name = "readings", partition = "{sensor}", row = "{at}", bucket(month, at))]
    /// # struct Reading { sensor: String, at: OffsetDateTime }
    /// # #[cfg(feature = "embedded")]
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use table_orm::embedded::EmbeddedStore;
    /// # let readings = Tables::in_memory()?.periods::<Reading>();
    /// # let directory = tempfile::tempdir()?;
    /// let file = EmbeddedStore::open(directory.path().join("journal.redb"))?;
    /// let writer = readings.writer_with(move |writer| writer.journal(file.clone()));
    /// writer.recover().await?.all()?;
    /// let at = OffsetDateTime::now_utc();
    /// writer.send(Reading { sensor: "roof".into(), at }).await?; // on the disk
    /// writer.close().await?.all()?; // in the table
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "embedded"))]
    /// # fn main() {}
    /// ```
    ///
    /// # Errors
    /// - [`WriterError::Journal`] while the journal has an entry that cannot be read as an `E`.
    /// - [`WriterError::NoRuntime`] outside of a tokio runtime, [`WriterError::Closed`] when the writer is closed.
    /// - When the journal cannot be read.
    pub async fn recover(&self) -> Result<WriterReport<E>> {
        let mut open = self.open.lock().await;
        if open.is_closed {
            return Err(WriterError::Closed.into());
        }
        let any = (self.settings)(self.periods.at(DateTime::MIN).writer());
        let bucket = Periods::<E>::BUCKETING.bucket();
        for table in any.tables_in_journal().await? {
            let Some(period) = Period::of_table(bucket, &self.periods.base, &table) else {
                continue;
            };
            // It reads the journal as it is opened.
            self.writer_of(&mut open, &self.periods.repo(period)).await?;
        }
        open.flush().await
    }

    /// The writer of a period's table, which is the last that was used from now on.
    async fn writer_of(&self, open: &mut Open<E>, repo: &Repo<E>) -> Result<Writer<E>> {
        let table = repo.table();
        open.used += 1;
        let now = open.used;
        if let Some(known) = open.writers.get_mut(table) {
            (known.last, known.has_failed) = (now, false);
            return Ok(known.writer.clone());
        }
        while open.writers.values().filter(|one| !one.has_failed).count() >= OPEN_PERIODS {
            open.let_go().await?;
        }
        let writer = (self.settings)(repo.writer()).await?;
        let known = PeriodWriter { writer: writer.clone(), last: now, has_failed: false };
        open.writers.insert(table.clone(), known);
        Ok(writer)
    }

    /// Writes everything that was taken before. Returns what was written, and what could not be written, since the
    /// last report. When the call is dropped before it returns, the next one returns that.
    ///
    /// # Errors
    /// [`Error::Writer`](crate::Error::Writer) when the writer is closed.
    pub async fn flush(&self) -> Result<WriterReport<E>> {
        let mut open = self.open.lock().await;
        if open.is_closed {
            return Err(WriterError::Closed.into());
        }
        open.flush().await
    }

    /// Writes everything that was taken, and closes the writer for all its clones. Returns what was written, and
    /// what could not be written, since the last report.
    ///
    /// # Errors
    /// [`Error::Writer`](crate::Error::Writer) when the writer was closed before.
    pub async fn close(self) -> Result<WriterReport<E>> {
        let mut open = self.open.lock().await;
        if open.is_closed {
            return Err(WriterError::Closed.into());
        }
        let report = open.flush().await?;
        open.is_closed = true;
        open.writers.clear();
        Ok(report)
    }
}

impl<E: Bucketed + 'static> Open<E> {
    /// Writes what the writer took that was idle longest, and lets it go. Its failures stay in it, and in its
    /// journal, until the next report.
    async fn let_go(&mut self) -> Result<()> {
        let holding = self.writers.iter_mut().filter(|(_, one)| !one.has_failed);
        let Some((table, idle)) = holding.min_by_key(|(_, one)| one.last) else { return Ok(()) };
        if !idle.writer.finish().await? {
            idle.has_failed = true;
            return Ok(());
        }
        let (table, report) = (table.clone(), idle.writer.flush().await?);
        self.add(report);
        self.writers.remove(&table);
        Ok(())
    }

    async fn flush(&mut self) -> Result<WriterReport<E>> {
        let writers: Vec<_> = self.writers.values().map(|one| one.writer.clone()).collect();
        // A failure leaves the journal when the report is taken, which then waits for nothing more.
        for writer in &writers {
            writer.finish().await?;
        }
        for writer in writers {
            let report = writer.flush().await?;
            self.add(report);
        }
        self.writers.retain(|_, one| !one.has_failed);
        Ok(self.report.take().unwrap_or_default())
    }

    fn add(&mut self, report: WriterReport<E>) {
        let before = self.report.take().unwrap_or_default();
        self.report = Some(before.plus(report));
    }
}

impl<E> Clone for PeriodsWriter<E> {
    fn clone(&self) -> Self {
        let (periods, settings) = (self.periods.clone(), Arc::clone(&self.settings));
        Self { periods, settings, open: Arc::clone(&self.open) }
    }
}

impl<E> fmt::Debug for PeriodsWriter<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeriodsWriter").field("base", &self.periods.base).finish_non_exhaustive()
    }
}
