//! The progress and the result of a bulk write, and the rest of its input.

use super::source::Streamed;
use crate::error::{Error, Result};
use futures_core::Stream;
use futures_util::StreamExt as _;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The progress of a bulk write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct BulkProgress {
    /// Entities written, without those [present](Self::present).
    pub entities: u64,
    /// Entities that are there although the answer to their transaction was lost: each of their rows is
    /// stored as it was sent, by this call or by an equal one
    /// ([`Error::is_stored_as_sent`](crate::Error::is_stored_as_sent)). They count neither as written nor
    /// as failed.
    pub present: u64,
    /// Rows written: all rows of these entities.
    pub rows: u64,
    /// Transactions answered. A write that reads first counts as one for each entity, however many
    /// requests it sent. Those that a writer with a journal sends again count, too, answered or not.
    pub requests: u64,
    /// What does not follow the entities written yet: rows in other partitions, copies of totals, and values
    /// given up. It is 0 when everything is settled. At the end of a call it is above 0 if a settling failed,
    /// or with [`settle_later`](super::Bulk::settle_later). The process tries again for 2 minutes, and
    /// [`Repo::settle`](crate::Repo::settle) settles what is left.
    pub unsettled: u64,
}

impl BulkProgress {
    /// The counts of both.
    pub(crate) const fn plus(self, other: Self) -> Self {
        Self {
            entities: self.entities + other.entities,
            present: self.present + other.present,
            rows: self.rows + other.rows,
            requests: self.requests + other.requests,
            unsettled: self.unsettled + other.unsettled,
        }
    }
}

/// The result of a bulk write.
///
/// ```
/// # use table_orm::{TableEntity, Tables};
/// # #[derive(Debug, Clone, PartialEq, TableEntity)]
/// # #[table(name = "readings", partition = "{sensor}", row = "{minute:06}")]
/// # struct Reading { sensor: String, minute: u32, celsius: f64 }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let readings = Tables::in_memory()?.repo::<Reading>();
/// # readings.create_table().await?;
/// let reading = |minute| Reading { sensor: "roof".into(), minute, celsius: 20.0 };
/// readings.insert(&reading(1)).await?;
/// let report = readings.insert_many((0..3).map(reading)).await;
/// // Minute 1 exists, so its transaction wrote nothing.
/// assert_eq!((report.written.entities, report.failures.len()), (0, 1));
/// assert_eq!(report.remainder.map(|left| left.minute).collect::<Vec<_>>(), [0, 2]);
/// # Ok(())
/// # }
/// ```
#[must_use = "it may hold failures; `.all()?` returns the counts, or the first failure"]
#[non_exhaustive]
pub struct BulkReport<E, I> {
    /// The counts of what was written.
    pub written: BulkProgress,
    /// The entities that could not be written, each with the error. The write sends nothing more after
    /// the first one, unless it [continues](super::Bulk::continue_on_failure).
    pub failures: Vec<BulkFailure<E>>,
    /// What was not written: entities that shared a transaction with a failed one, and the input that
    /// was not reached. Pass it to the same call to continue.
    pub remainder: Remainder<E, I>,
}

/// An entity that a bulk write could not write.
#[derive(Debug)]
#[non_exhaustive]
pub struct BulkFailure<E> {
    /// The entity that the store rejected; `None` when the whole request failed.
    pub entity: Option<E>,
    /// The reason.
    pub error: Error,
}

/// The input that a bulk write has not written: an iterator, or a stream if the input was one.
pub struct Remainder<E, I> {
    unsent: std::vec::IntoIter<E>,
    input: I,
}

impl<E, I> Remainder<E, I> {
    pub(crate) fn new(unsent: Vec<E>, input: I) -> Self {
        Self { unsent: unsent.into_iter(), input }
    }
}

impl<E, I: Iterator<Item = E>> Iterator for Remainder<E, I> {
    type Item = E;

    fn next(&mut self) -> Option<E> {
        self.unsent.next().or_else(|| self.input.next())
    }
}

// Nothing in it is pinned in its place.
impl<E, I> Unpin for Remainder<E, I> {}

impl<E, S: Stream<Item = E>> Stream for Remainder<E, Streamed<S>> {
    type Item = E;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<E>> {
        let Self { unsent, input } = self.get_mut();
        match unsent.next() {
            Some(entity) => Poll::Ready(Some(entity)),
            None => input.stream.poll_next_unpin(context),
        }
    }
}

impl<E, I> Remainder<E, I> {
    /// Returns the number of entities besides the input that was not reached.
    #[must_use]
    pub fn unsent(&self) -> usize {
        self.unsent.len()
    }
}

impl<E, I> BulkReport<E, I> {
    /// Returns the counts when everything was written.
    ///
    /// # Errors
    /// The error of the first failure. Use the fields of the report to see what was written.
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
