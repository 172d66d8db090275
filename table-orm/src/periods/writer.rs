//! A writer into the tables of periods.
//!
//! Invariants: an entity is taken by the writer of its period's table. A writer is let go only when what it took is
//! written, and its report is kept.

use super::{Bucketed, Periods};
use crate::error::{Result, WriterError};
use crate::model::TableName;
use crate::repo::{OpenWriter, Writer, WriterReport};
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

    /// The same with settings, such as `|writer| writer.every(Duration::from_secs(10)).upserts()`. They count for
    /// each period by itself: the buffer is one for each of the [`OPEN_PERIODS`].
    ///
    /// A [journal](OpenWriter::journal) keeps the entities of a period until a writer of that period is opened: after
    /// a crash, open one by [`at`](Self::at)`(period).writer()` for each period that may have left some.
    pub fn writer_with(
        &self,
        settings: impl Fn(OpenWriter<E>) -> OpenWriter<E> + Send + Sync + 'static,
    ) -> PeriodsWriter<E> {
        let open = Open { writers: BTreeMap::new(), sent: 0, report: None, is_closed: false };
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
    /// Each with the number of the last entity that it took.
    writers: BTreeMap<TableName, (Writer<E>, u64)>,
    sent: u64,
    /// What was written and let go since the last report.
    report: Option<WriterReport<E>>,
    is_closed: bool,
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
        let table = repo.table().clone();
        open.sent += 1;
        let now = open.sent;
        if !open.writers.contains_key(&table) {
            if open.writers.len() >= OPEN_PERIODS {
                open.let_go().await?;
            }
            let writer = (self.settings)(repo.writer()).await?;
            open.writers.insert(table.clone(), (writer, now));
        }
        match open.writers.get_mut(&table) {
            Some((writer, last)) => {
                *last = now;
                writer.send(entity).await
            }
            None => Ok(()),
        }
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
    /// Writes what the writer took that was idle longest, and lets it go.
    async fn let_go(&mut self) -> Result<()> {
        let idle = self.writers.iter().min_by_key(|(_, (_, last))| *last);
        let Some((table, (writer, _))) = idle else { return Ok(()) };
        let (table, report) = (table.clone(), writer.flush().await?);
        self.add(report);
        self.writers.remove(&table);
        Ok(())
    }

    async fn flush(&mut self) -> Result<WriterReport<E>> {
        let writers: Vec<_> = self.writers.values().map(|(writer, _)| writer.clone()).collect();
        for writer in writers {
            let report = writer.flush().await?;
            self.add(report);
        }
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
