//! The right to hand on the events of a partition, for a time.
//!
//! Invariants:
//! - The row is written under the version that was read. Events are removed in a transaction that writes
//!   it, so only the process that has the lease removes any.
//! - Times are those of the service's clock: when the row was written, and when the service last answered.
//!   A clock decides only who may try. No clock decides what is handed on, or in which order.

use crate::entity::{DynamicEntity, LEASE};
use crate::error::Result;
use crate::model::{DateTime, ETag, Edm};
use crate::plan::TableClient;
use crate::store::{Action, IfMatch, Operation};
use std::time::Duration;

/// The time for which a partition is left alone after its handler failed for the first time: 1 second. It
/// doubles with each failure.
pub const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest time for which a partition is left alone: 5 minutes.
pub const LONGEST_WAIT: Duration = Duration::from_secs(300);

const OWNER: &str = "Owner";
const MILLISECONDS: &str = "Milliseconds";
const FAILURES: &str = "Failures";
const NEXT: &str = "Next";

/// What the row of a lease stores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lease {
    /// Who has it; empty after a failure, and when nobody has it.
    pub owner: String,
    /// For how long after it was written.
    pub time: Duration,
    /// How often the handler failed since it last took an event.
    pub failures: u32,
    /// The number of the event that is to be handed on next.
    pub next: u64,
}

impl Default for Lease {
    fn default() -> Self {
        Self { owner: String::new(), time: Duration::ZERO, failures: 0, next: 1 }
    }
}

impl Lease {
    /// Reads the row. What is missing counts as that of a new one.
    pub fn read(row: &DynamicEntity) -> Self {
        let number = |name: &str| match row.properties.get(name) {
            Some(Edm::Int64(number)) => u64::try_from(*number).ok(),
            _ => None,
        };
        let owner = match row.properties.get(OWNER) {
            Some(Edm::String(owner)) => owner.clone(),
            _ => String::new(),
        };
        let failures = number(FAILURES).and_then(|failures| u32::try_from(failures).ok());
        Self {
            owner,
            time: Duration::from_millis(number(MILLISECONDS).unwrap_or_default()),
            failures: failures.unwrap_or_default(),
            next: number(NEXT).unwrap_or(1),
        }
    }

    /// The write of the row: over that version, or where there is none yet.
    pub fn write(&self, partition_key: &str, etag: Option<&ETag>) -> Result<Operation> {
        let number = |number: u64| Edm::Int64(i64::try_from(number).unwrap_or(i64::MAX));
        let milliseconds = u64::try_from(self.time.as_millis()).unwrap_or(u64::MAX);
        let body = DynamicEntity::new(partition_key, LEASE)
            .with(OWNER, self.owner.clone())
            .with(MILLISECONDS, number(milliseconds))
            .with(FAILURES, number(self.failures.into()))
            .with(NEXT, number(self.next))
            .body()?;
        let action = match etag {
            Some(etag) => Action::Replace(body, IfMatch::ETag(etag.clone())),
            None => Action::Insert(body),
        };
        Ok(Operation { row_key: LEASE.to_owned(), action })
    }

    /// Whether nobody has the lease that was written then, nor waits after a failure.
    pub fn is_over(&self, client: &TableClient, written: Option<DateTime>) -> bool {
        written.is_none_or(|written| client.age(written) >= self.time)
    }

    /// The lease after another failure of the handler. Nobody has it until its time is over.
    pub fn after_failure(&self) -> Self {
        let failures = self.failures.saturating_add(1);
        let wait = FIRST_WAIT.saturating_mul(1 << (failures - 1).min(16)).min(LONGEST_WAIT);
        Self { owner: String::new(), time: wait, failures, next: self.next }
    }

    /// The lease that nobody has.
    pub fn released(&self) -> Self {
        Self { next: self.next, failures: self.failures, ..Self::default() }
    }
}
