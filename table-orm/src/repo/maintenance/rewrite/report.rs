//! The progress and the result of a rewrite.

use crate::error::{Error, Result};
use crate::query::PageToken;
use crate::repo::maintenance::repair::Skipped;

/// The progress of a rewrite, in whole pages.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct RewriteProgress {
    /// Entities whose rows have the form of their type now.
    pub entities: u64,
    /// Rows written.
    pub rows: u64,
    /// Where the next page starts, for [`Rewrite::resume`](crate::repo::Rewrite::resume). `None` at the
    /// end, and before the first page.
    pub token: Option<PageToken>,
}

/// The result of a rewrite.
#[derive(Debug, Default)]
#[must_use = "it may hold failures"]
#[non_exhaustive]
pub struct RewriteReport {
    /// The progress it made.
    pub progress: RewriteProgress,
    /// Canonical rows that cannot be read, and index rows that are out of step. They were not written.
    pub skipped: Vec<Skipped>,
    /// Entities that could not be written.
    pub failures: Vec<RewriteFailure>,
    /// The error that ended it before the last page. Resume at the token of `progress`.
    pub ended: Option<Error>,
}

/// An entity whose rows could not be written.
#[derive(Debug)]
#[non_exhaustive]
pub struct RewriteFailure {
    /// The PartitionKey of its rows.
    pub partition_key: String,
    /// The RowKey of its canonical row.
    pub row_key: String,
    /// The error.
    pub error: Error,
}

impl RewriteReport {
    /// Returns the progress when the rewrite reached the end and nothing failed. Skipped rows are not
    /// failures: see [`skipped`](Self::skipped) first.
    ///
    /// # Errors
    /// The error of the first failure.
    pub fn all(self) -> Result<RewriteProgress> {
        let failed = self.failures.into_iter().next().map(|failure| failure.error);
        failed.or(self.ended).map_or(Ok(self.progress), Err)
    }
}
