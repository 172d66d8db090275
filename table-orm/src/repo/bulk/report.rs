//! What has become of a bulk write, and what is left of its input.

use crate::error::{Error, Result};
use std::fmt;

/// How far a bulk write has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct BulkProgress {
    /// Entities written.
    pub entities: u64,
    /// Rows written: all rows of these entities.
    pub rows: u64,
    /// Transactions answered; of a write that reads first one for each entity, whatever its reads and
    /// attempts.
    pub requests: u64,
}

/// What became of a bulk write.
#[must_use = "it may hold failures; `.all()?` gives the counts, or the first of them"]
#[non_exhaustive]
pub struct BulkReport<E, I> {
    /// What was written.
    pub written: BulkProgress,
    /// The entities that could not be written, each with the reason. After the first one nothing
    /// more is sent, unless the write [continues](super::Bulk::continue_on_failure).
    pub failures: Vec<BulkFailure<E>>,
    /// What was not written: entities that shared a transaction with a failed one, and the input
    /// that was not reached. Pass it to the same call again to go on.
    pub remainder: Remainder<E, I>,
}

/// A bulk write that stopped.
#[derive(Debug)]
#[non_exhaustive]
pub struct BulkFailure<E> {
    /// The entity the store refused; `None` when the whole request failed.
    pub entity: Option<E>,
    /// Why.
    pub error: Error,
}

/// The input that a bulk write has not written.
pub struct Remainder<E, I> {
    unsent: std::vec::IntoIter<E>,
    input: I,
}

impl<E, I> Remainder<E, I> {
    pub(in crate::repo) fn new(unsent: Vec<E>, input: I) -> Self {
        Self { unsent: unsent.into_iter(), input }
    }
}

impl<E, I: Iterator<Item = E>> Iterator for Remainder<E, I> {
    type Item = E;

    fn next(&mut self) -> Option<E> {
        self.unsent.next().or_else(|| self.input.next())
    }
}

impl<E, I> Remainder<E, I> {
    /// How many entities it holds besides the input that was not reached.
    #[must_use]
    pub fn unsent(&self) -> usize {
        self.unsent.len()
    }
}

impl<E, I> BulkReport<E, I> {
    /// The counts, if everything was written.
    ///
    /// # Errors
    /// The first failure.
    pub fn all(self) -> Result<BulkProgress> {
        match self.failures.into_iter().next() {
            None => Ok(self.written),
            Some(failure) => Err(failure.error),
        }
    }
}

impl<E: fmt::Debug, I> fmt::Debug for BulkReport<E, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BulkReport")
            .field("written", &self.written)
            .field("failures", &self.failures)
            .field("unsent", &self.remainder.unsent())
            .finish_non_exhaustive()
    }
}
