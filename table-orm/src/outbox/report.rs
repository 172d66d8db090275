//! What a dispatch did.

use super::error::DispatchError;
use crate::error::Error;
use std::time::Duration;

/// What a call of [`Outbox::dispatch`](super::Outbox::dispatch) did.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct DispatchReport {
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
    /// The partitions whose events stay, or that stay named in the register although they have none.
    pub failures: Vec<DispatchFailure>,
    /// The error that ended the scan for partitions. The events of partitions that it had not reached stay. `None`
    /// if it reached its end.
    pub unfinished: Option<Error>,
}

/// A partition whose events stay, or that stays named in the register.
#[derive(Debug, thiserror::Error)]
#[error("the outbox of partition {partition_key:?}: {error}")]
#[non_exhaustive]
pub struct DispatchFailure {
    /// The PartitionKey.
    pub partition_key: String,
    /// The number of the event that stays, where it is known.
    pub number: Option<u64>,
    /// Why it stays.
    #[source]
    pub error: DispatchError,
}

impl DispatchReport {
    /// Takes the age of an event into account.
    pub(super) fn found(&mut self, age: Duration) {
        self.lag = self.lag.max(Some(age));
    }

    /// Adds what the store rejected about a partition.
    pub(super) fn failed(&mut self, partition_key: String, error: Error) {
        let failure = DispatchFailure { partition_key, number: None, error: error.into() };
        self.failures.push(failure);
    }

    pub(super) fn add(&mut self, other: Self) {
        let Self { partitions, busy, handed_on, may_repeat, missing, lag, failures, unfinished } =
            other;
        self.partitions += partitions;
        self.busy += busy;
        self.handed_on += handed_on;
        self.may_repeat += may_repeat;
        self.missing += missing;
        self.lag = self.lag.max(lag);
        self.failures.extend(failures);
        self.unfinished = self.unfinished.take().or(unfinished);
    }

    /// The report of a scan that ended early.
    pub(super) fn ended_by(error: Error) -> Self {
        Self { unfinished: Some(error), ..Self::default() }
    }

    /// Counts what happened in one partition, or that the scan for them ended early.
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
        if let Some(error) = &self.unfinished {
            tracing::event!(
                target: "table_orm",
                tracing::Level::WARN,
                db.collection.name = table,
                error = %error,
                "the scan for events ended early"
            );
        }
        #[cfg(feature = "metrics")]
        {
            let labels = [("table", table.to_owned())];
            metrics::counter!("table_orm.outbox.handed_on", &labels).increment(self.handed_on);
            let failures = self.failures.len() + usize::from(self.unfinished.is_some());
            let failures = failures as u64;
            metrics::counter!("table_orm.outbox.failures", &labels).increment(failures);
            if let Some(lag) = self.lag {
                metrics::histogram!("table_orm.outbox.lag", &labels).record(lag);
            }
        }
    }
}
