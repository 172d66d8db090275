//! The progress of a scan, in a file or in a row of a table, from which it resumes after a crash or a
//! cancellation.
//!
//! Invariant: a checkpoint is replaced whole, and every row outside its ranges was delivered. So after
//! a crash no row is missed, and rows delivered after the last save are delivered again.

mod file;
mod format;
mod row;

use super::engine::Shared;
use crate::error::Result;
use crate::repo::Table;
use file::CheckpointFile;
use format::{Scanned, Unread};
use row::CheckpointRow;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::Instant;

/// The progress of a scan, kept in a file or in a row of a table. A scan with the checkpoint of an
/// earlier one resumes where that ended. Keep it until the work is done, then delete it.
///
/// It is saved before a new scan reads its first page, after 100 pages or 30 seconds, when the scan
/// fails or ends, and when an error of the consumer ends it. A page counts as done when the next one is
/// requested. After a process was killed, the pages since the last save are delivered again: at most
/// one page with [`every`](Self::every) page.
///
/// A file is also saved when the scan is dropped, so that only the pages its consumer was working on
/// are delivered again. A row is not, because a drop cannot wait for the service.
///
/// The consumer's task writes the file, a few kilobytes, under another name and then renames it. When
/// two scans use one file at a time, each replaces the other's progress, and rows are delivered
/// again. A file does not notice that; a [`row`](Self::row) does.
///
/// A checkpoint recognizes its scan by the table's name and the query, not by the account or the
/// database file. Use separate checkpoints for the tables of each store.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    home: Home,
    pages: u64,
    interval: Duration,
}

#[derive(Debug, Clone)]
enum Home {
    File(CheckpointFile),
    Row(Box<CheckpointRow>),
}

impl Checkpoint {
    /// Keeps the progress in a file.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self::at(Home::File(CheckpointFile(path.into())))
    }

    /// Keeps the progress in a row of a table, which must exist. It may be any table of any account, so
    /// workers that move from one machine to another find it.
    ///
    /// The row is guarded by its ETag: when two scans use it at a time, one of them fails. Its text is
    /// spread over up to 15 properties of 64 KiB, enough for the ranges of thousands of workers. A scan
    /// that needs more fails with [`ScanError::CheckpointTooLarge`]; use a file for it.
    ///
    /// ```
    /// # use table_orm::{DynamicEntity, TableName, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let results = TableName::new("results")?;
    /// # tables.create(&results).await?;
    /// # tables.table(results.clone()).insert(&DynamicEntity::new("Boston", "00001")).await?;
    /// use table_orm::ScanPermit;
    /// use table_orm::scan::Checkpoint;
    ///
    /// let jobs = TableName::new("jobs")?;
    /// tables.create(&jobs).await?;
    /// let checkpoint = Checkpoint::row(&tables.table(jobs), "export", "2011-11-06");
    /// let scan = tables.scan(results, ScanPermit::because("export")).checkpoint(checkpoint);
    /// assert_eq!(scan.clone().collect().await?.len(), 1);
    /// assert_eq!(scan.collect().await?.len(), 0); // it is complete
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// [`ScanError::CheckpointTooLarge`]: super::ScanError::CheckpointTooLarge
    pub fn row(
        table: &Table,
        partition_key: impl Into<String>,
        row_key: impl Into<String>,
    ) -> Self {
        Self::at(Home::Row(Box::new(CheckpointRow::new(
            table,
            partition_key.into(),
            row_key.into(),
        ))))
    }

    const fn at(home: Home) -> Self {
        Self { home, pages: 100, interval: Duration::from_secs(30) }
    }

    /// Saves after this many pages, or after this time, whichever comes first.
    #[must_use]
    pub const fn every(mut self, pages: u64, interval: Duration) -> Self {
        self.pages = pages;
        self.interval = interval;
        self
    }
}

/// A checkpoint in that file.
impl From<PathBuf> for Checkpoint {
    fn from(path: PathBuf) -> Self {
        Self::file(path)
    }
}

/// A checkpoint in that file.
impl From<&Path> for Checkpoint {
    fn from(path: &Path) -> Self {
        Self::file(path)
    }
}

/// A checkpoint in the file of that path.
impl From<String> for Checkpoint {
    fn from(path: String) -> Self {
        Self::file(path)
    }
}

/// A checkpoint in the file of that path.
impl From<&str> for Checkpoint {
    fn from(path: &str) -> Self {
        Self::file(path)
    }
}

/// The checkpoint of one scan.
#[derive(Debug)]
pub(super) struct Saver {
    checkpoint: Checkpoint,
    scanned: Scanned,
    settled: u64,
    saved: Instant,
}

impl Saver {
    pub fn new(checkpoint: Checkpoint, table: &str, query: u64) -> Self {
        let scanned = Scanned { table: table.to_owned(), query: format!("{query:016x}") };
        Self { checkpoint, scanned, settled: 0, saved: Instant::now() }
    }

    /// The ranges left to read; `None` where there is no checkpoint yet.
    pub async fn load(&mut self) -> Result<Option<Vec<Unread>>> {
        let text = match &mut self.checkpoint.home {
            Home::File(file) => file.load()?,
            Home::Row(row) => row.load().await?,
        };
        let Some(text) = text else { return Ok(None) };
        Ok(Some(format::read(&text, &self.scanned, &self.checkpoint.home.name())?))
    }

    /// Notes a page delivered; returns whether it is time to save.
    pub fn is_due(&mut self) -> bool {
        self.settled += 1;
        self.settled >= self.checkpoint.pages || self.saved.elapsed() >= self.checkpoint.interval
    }

    pub async fn save<T>(&mut self, shared: &Shared<T>) -> Result<()> {
        let text = self.text(shared);
        match &mut self.checkpoint.home {
            Home::File(file) => Ok(file.save(&text)?),
            Home::Row(row) => row.save(&text).await,
        }
    }

    /// Saves what can be saved without waiting. An earlier save stays in any case.
    pub fn give_up<T>(&mut self, shared: &Shared<T>) {
        let text = self.text(shared);
        if let Home::File(file) = &self.checkpoint.home {
            // A drop has no caller that could handle the error.
            drop(file.save(&text));
        }
    }

    fn text<T>(&mut self, shared: &Shared<T>) -> String {
        self.settled = 0;
        self.saved = Instant::now();
        format::write(&self.scanned, &shared.lock())
    }
}

impl Home {
    /// For error messages.
    fn name(&self) -> String {
        match self {
            Self::File(file) => file.0.display().to_string(),
            Self::Row(row) => row.name(),
        }
    }
}
