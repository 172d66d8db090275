//! The progress and the result of a backfill.

use crate::error::{Error, Result};
use crate::query::PageToken;
use crate::repo::maintenance::repair::{RepairFailure, Skipped};

/// How far a backfill has come: whole pages.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct BackfillProgress {
    /// Entities whose rows are there now.
    pub entities: u64,
    /// Rows written.
    pub rows: u64,
    /// Where the next page starts: give it to [`Backfill::resume`](crate::repo::Backfill::resume). `None` at the end, and before
    /// the first page.
    pub token: Option<PageToken>,
}

/// What became of a backfill.
#[derive(Debug, Default)]
#[must_use = "it may hold failures"]
#[non_exhaustive]
pub struct BackfillReport {
    /// How far it came.
    pub progress: BackfillProgress,
    /// Canonical rows that cannot be read, or whose index rows cannot be written, and rows that are
    /// there with other content.
    pub skipped: Vec<Skipped>,
    /// Rows that could not be written.
    pub failures: Vec<RepairFailure>,
    /// Why it ended before the last page; resume at the progress's token.
    pub ended: Option<Error>,
}

impl BackfillReport {
    /// How far it came, if it came to the end and nothing failed. What was skipped is no failure:
    /// see [`skipped`](Self::skipped) first.
    ///
    /// # Errors
    /// The first failure.
    pub fn all(self) -> Result<BackfillProgress> {
        let failed = self.failures.into_iter().next().map(|failure| failure.error);
        failed.or(self.ended).map_or(Ok(self.progress), Err)
    }
}
