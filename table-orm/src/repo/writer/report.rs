//! What a writer has written, and what it could not write.

use crate::error::{Error, Result};
use crate::repo::BulkProgress;
use std::fmt;

/// What a [`Writer`](super::Writer) did since its last report.
#[must_use = "it may hold failures; `.all()?` returns the counts, or the first failure"]
#[non_exhaustive]
pub struct WriterReport<E> {
    /// The counts of what was written. A writer settles each transaction by itself, and does not count
    /// [`unsettled`](BulkProgress::unsettled) rows: that is 0.
    pub written: BulkProgress,
    /// The entities that could not be written. No other report has them.
    pub failures: Vec<WriterFailure<E>>,
}

/// Entities that a writer could not write, with the reason.
#[non_exhaustive]
pub struct WriterFailure<E> {
    /// The entities, in the order in which they were sent: the one that the store rejected, or all of a
    /// transaction whose request failed.
    pub entities: Vec<E>,
    /// The reason. [`Error::kind`] says what to do. After [`Error::Unavailable`] and [`Error::Ambiguous`],
    /// the entities may have been written.
    pub error: Error,
}

impl<E> WriterReport<E> {
    /// Both reports together.
    pub(crate) fn plus(self, later: Self) -> Self {
        let failures = self.failures.into_iter().chain(later.failures).collect();
        Self { written: self.written.plus(later.written), failures }
    }

    /// Returns the counts when everything was written. Otherwise it drops the report: read `failures` to
    /// keep the entities.
    ///
    /// # Errors
    /// The error of the first failure.
    pub fn all(self) -> Result<BulkProgress> {
        match self.failures.into_iter().next() {
            None => Ok(self.written),
            Some(failure) => Err(failure.error),
        }
    }
}

impl<E> Default for WriterReport<E> {
    fn default() -> Self {
        Self { written: BulkProgress::default(), failures: Vec::new() }
    }
}

impl<E> fmt::Debug for WriterReport<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriterReport")
            .field("written", &self.written)
            .field("failures", &self.failures)
            .finish()
    }
}

impl<E> fmt::Debug for WriterFailure<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriterFailure")
            .field("entities", &self.entities.len())
            .field("error", &self.error)
            .finish()
    }
}
