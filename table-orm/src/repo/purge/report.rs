//! What a purge did.

use crate::error::{Error, Result};

/// How much a purge did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PurgeProgress {
    /// Entities that were deleted, with all their rows.
    pub purged: u64,
    /// Entities that were changed or deleted by others while the purge ran. They stay as the others left them.
    pub changed: u64,
    /// Rows of the index that no entity had any more, such as one that was extended by a process that ended. They
    /// were brought in step.
    pub settled: u64,
    /// Rows in other partitions and values that do not follow the deletes yet: 0 when everything is settled. The
    /// process tries again for 2 minutes, and [`Repo::settle`](crate::Repo::settle) settles what is left.
    pub unsettled: u64,
    /// Requests that it sent, each of which is billed. Those that a layer such as
    /// [`Retry`](crate::layer::Retry) sent again are not counted.
    pub requests: u64,
    /// Whether it stopped at its [`limit`](super::Purge::limit): more entities may have expired.
    pub is_limited: bool,
}

/// The result of a purge.
#[derive(Debug, Default)]
#[must_use = "it may hold failures"]
#[non_exhaustive]
pub struct PurgeReport {
    /// The progress it made.
    pub progress: PurgeProgress,
    /// Entities that could not be deleted, each with the error. The next purge tries them again.
    pub failures: Vec<PurgeFailure>,
    /// The error that ended it before the end: the index cannot be read, or the store cannot be reached. What was
    /// purged stays purged, and the next purge goes on.
    pub ended: Option<Error>,
}

impl PurgeReport {
    /// Returns the progress when the purge reached the end and deleted each entity that it was to delete.
    ///
    /// # Errors
    /// The error of the first failure, or else the error that ended it.
    pub fn all(self) -> Result<PurgeProgress> {
        let failed = self.failures.into_iter().next().map(|failure| failure.error);
        failed.or(self.ended).map_or(Ok(self.progress), Err)
    }
}

/// An entity that a purge could not delete.
#[derive(Debug)]
#[non_exhaustive]
pub struct PurgeFailure {
    /// The PartitionKey of its canonical row.
    pub partition_key: String,
    /// The RowKey of its canonical row.
    pub row_key: String,
    /// The reason.
    pub error: Error,
}
