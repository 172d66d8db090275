//! The copy itself: a scan of the source feeds chunked writes to the target.
//!
//! Invariant: a page leaves the checkpoint only after all its rows are written. So a copy that was
//! interrupted loses nothing; it writes the pages that were in flight again, which changes nothing,
//! because rows are inserted or replaced.

use std::path::PathBuf;
use table_orm::entity::RawRow;
use table_orm::repo::Table;
use table_orm::scan::{Checkpoint, ScanPage};
use table_orm::{Error, ScanPermit};

/// How a table is copied.
#[derive(Debug, Clone)]
pub struct Copying {
    pub source: Table,
    pub target: Table,
    /// The file in which the progress is kept. If it exists, the copy continues from it.
    pub checkpoint: PathBuf,
    /// The most requests to the source in flight.
    pub readers: usize,
    /// The pages that are written at a time, and the transactions of each of them.
    pub pages: usize,
    pub writers: usize,
}

/// The outcome of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All rows were written.
    Whole,
    /// It was stopped; the checkpoint records where to continue.
    Stopped,
}

impl Copying {
    /// Copies the rows that the checkpoint does not count yet, until `stop` ends. Calls `written`
    /// with the number of rows of each page once they are stored.
    pub async fn run(
        &self,
        stop: impl Future<Output = ()>,
        written: impl Fn(u64),
    ) -> Result<Ended, Error> {
        let page = |page: ScanPage<RawRow>| {
            let written = &written;
            async move {
                let rows = page.rows.len() as u64;
                let writes = self.target.insert_or_replace_raw(page.rows);
                writes.parallelism(self.writers).await.all()?;
                written(rows);
                Ok::<_, Error>(())
            }
        };
        let scan = self
            .source
            .scan(ScanPermit::because("copy of the table"))
            .raw()
            .concurrency(self.readers)
            .handlers(self.pages)
            .checkpoint(Checkpoint::file(&self.checkpoint))
            .on_page(page);
        tokio::select! {
            report = scan => report.map(|_| Ended::Whole),
            // The scan is dropped, and saves its checkpoint.
            () = stop => Ok(Ended::Stopped),
        }
    }
}
