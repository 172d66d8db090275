//! The progress and the result of a backfill.

use crate::error::{Error, Result};
use crate::query::PageToken;
use crate::repo::maintenance::repair::{RepairFailure, Skipped};

/// The progress of a backfill, in whole pages.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct BackfillProgress {
    /// Entities whose index rows exist now.
    pub entities: u64,
    /// Rows written.
    pub rows: u64,
    /// Where the next page starts, for [`Backfill::resume`](crate::repo::Backfill::resume). `None` at the end, and before
    /// the first page.
    pub token: Option<PageToken>,
}

/// The result of a backfill.
#[derive(Debug, Default)]
#[must_use = "it may hold failures"]
#[non_exhaustive]
pub struct BackfillReport {
    /// The progress it made.
    pub progress: BackfillProgress,
    /// Canonical rows that cannot be read or whose index rows cannot be written, existing rows with
    /// other content, and totals that changed during each count.
    pub skipped: Vec<Skipped>,
    /// Rows that could not be written.
    pub failures: Vec<RepairFailure>,
    /// The error that ended it before the last page. Resume at the token of `progress`.
    pub ended: Option<Error>,
}

impl BackfillReport {
    /// Returns the progress when the backfill reached the end and nothing failed. Skipped rows are not
    /// failures: see [`skipped`](Self::skipped) first.
    ///
    /// # Errors
    /// The error of the first failure.
    pub fn all(self) -> Result<BackfillProgress> {
        let failed = self.failures.into_iter().next().map(|failure| failure.error);
        failed.or(self.ended).map_or(Ok(self.progress), Err)
    }
}
