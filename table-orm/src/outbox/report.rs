//! What a dispatch did.

use crate::error::{DispatchFailure, Error, Result};
use std::time::Duration;

/// How much a call of [`Outbox::dispatch`](super::Outbox::dispatch) did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DispatchProgress {
    /// The partitions from which it handed events on.
    pub partitions: u64,
    /// The partitions that it left: another process hands their events on, or a handler failed there a short
    /// time ago.
    pub busy: u64,
    /// The events that a handler took and that were removed.
    pub handed_on: u64,
    /// The events that a handler took and that may come again: another process took over their partition, or
    /// the store failed.
    pub may_repeat: u64,
    /// How many events were missing: another program removed them.
    pub missing: u64,
    /// The age of the oldest event that it found, by the service's clock: the lag of the outbox. `None` where
    /// it found none.
    pub lag: Option<Duration>,
}

/// The result of [`Outbox::dispatch`](super::Outbox::dispatch).
#[derive(Debug, Default)]
#[must_use = "it may hold failures"]
#[non_exhaustive]
pub struct DispatchReport {
    /// The progress it made.
    pub progress: DispatchProgress,
    /// The partitions whose events stay, or that stay named in the register although they have none.
    pub failures: Vec<DispatchFailure>,
    /// The error that ended the scan for partitions. The events of partitions that it had not reached stay until the
    /// next call. `None` if it reached its end.
    pub ended: Option<Error>,
}

impl DispatchProgress {
    fn add(&mut self, other: Self) {
        let Self { partitions, busy, handed_on, may_repeat, missing, lag } = other;
        self.partitions += partitions;
        self.busy += busy;
        self.handed_on += handed_on;
        self.may_repeat += may_repeat;
        self.missing += missing;
        self.lag = self.lag.max(lag);
    }
}

impl DispatchReport {
    /// Returns the progress when the call reached the end and nothing failed. Partitions may be
    /// [`busy`](DispatchProgress::busy).
    ///
    /// # Errors
    /// [`Error::Dispatch`] with the first failure, or else the error that ended it.
    pub fn all(self) -> Result<DispatchProgress> {
        let failed = self.failures.into_iter().next().map(Error::from);
        failed.or(self.ended).map_or(Ok(self.progress), Err)
    }

    /// Takes the age of an event into account.
    pub(super) fn found(&mut self, age: Duration) {
        self.progress.lag = self.progress.lag.max(Some(age));
    }

    /// Adds what the store rejected about a partition.
    pub(super) fn failed(&mut self, partition_key: String, error: Error) {
        self.failures.push(DispatchFailure::new(partition_key, None, error.into()));
    }

    pub(super) fn add(&mut self, other: Self) {
        let Self { progress, failures, ended } = other;
        self.progress.add(progress);
        self.failures.extend(failures);
        self.ended = self.ended.take().or(ended);
    }

    /// The report of a search for partitions that an error ended.
    pub(super) fn ended_by(error: Error) -> Self {
        Self { ended: Some(error.repeatable()), ..Self::default() }
    }

    /// Counts what happened in one partition, or that the search for them ended early.
    #[allow(
        unused_variables,
        clippy::unused_self,
        reason = "without the features, nothing is reported"
    )]
    pub(super) fn show(&self, table: &str) {
        #[cfg(feature = "tracing")]
        for failure in &self.failures {
            tracing::event!(
                target: "table_orm",
                tracing::Level::WARN,
                db.collection.name = table,
                table_orm.outbox.event = failure.number,
                "events of a partition stay in the outbox"
            );
        }
        #[cfg(feature = "tracing")]
        if let Some(error) = &self.ended {
            tracing::event!(
                target: "table_orm",
                tracing::Level::WARN,
                db.collection.name = table,
                error = %error,
                "the search for partitions with events ended early"
            );
        }
        #[cfg(feature = "metrics")]
        {
            let labels = [("table", table.to_owned())];
            metrics::counter!("table_orm.outbox.handed_on", &labels)
                .increment(self.progress.handed_on);
            let failures = self.failures.len() + usize::from(self.ended.is_some());
            let failures = failures as u64;
            metrics::counter!("table_orm.outbox.failures", &labels).increment(failures);
            if let Some(lag) = self.progress.lag {
                metrics::histogram!("table_orm.outbox.lag", &labels).record(lag);
            }
        }
    }
}
