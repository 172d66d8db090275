//! The reads under way: calls that want the same row share one.
//!
//! Invariant: whoever polls a shared read drives it, so no call waits for another that is not polled. A read
//! that nobody waits for any more is dropped.

use crate::model::{Metadata, TableName};
use crate::store::{StoreError, StoredRow};
use futures_core::future::BoxFuture;
use futures_util::FutureExt as _;
use futures_util::future::{Shared, WeakShared};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// The key of a row.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct RowAt {
    /// The name of the table in lower case: names that differ only in case are one table's.
    table: String,
    pub partition_key: String,
    pub row_key: String,
}

impl RowAt {
    pub fn new(table: &TableName, partition_key: &str, row_key: &str) -> Self {
        let table = table.as_str().to_ascii_lowercase();
        Self { table, partition_key: partition_key.to_owned(), row_key: row_key.to_owned() }
    }
}

/// The answer to a read, for all its calls.
pub(super) type Answer = Result<Option<StoredRow>, Arc<StoreError>>;
pub(super) type SharedRead = Shared<BoxFuture<'static, Answer>>;

/// The reads under way, by the key of their row.
#[derive(Debug, Default)]
pub(super) struct Flights {
    reads: HashMap<RowAt, Flight>,
    begun: u64,
}

#[derive(Debug)]
struct Flight {
    number: u64,
    since: Duration,
    metadata: Metadata,
    read: WeakShared<BoxFuture<'static, Answer>>,
}

impl Flights {
    /// The read of that row, if it began less than `time` ago.
    pub fn join(
        &self,
        at: &RowAt,
        metadata: Metadata,
        now: Duration,
        time: Duration,
    ) -> Option<SharedRead> {
        let flight = self.reads.get(at)?;
        let is_recent = now.saturating_sub(flight.since) < time;
        if flight.metadata == metadata && is_recent { flight.read.upgrade() } else { None }
    }

    /// Begins a read, in place of an earlier one. `make` gets its number.
    pub fn begin(
        &mut self,
        at: &RowAt,
        metadata: Metadata,
        since: Duration,
        make: impl FnOnce(u64) -> BoxFuture<'static, Answer>,
    ) -> SharedRead {
        self.begun += 1;
        let number = self.begun;
        let read = make(number).shared();
        // A read that was not polled yet is always alive.
        if let Some(weak) = read.downgrade() {
            self.reads.insert(at.clone(), Flight { number, since, metadata, read: weak });
        }
        read
    }

    /// Removes the read with that number. Returns whether its answer may be kept: no write of the row has
    /// ended since it began, and no other read has begun.
    pub fn land(&mut self, at: &RowAt, number: u64) -> bool {
        let is_current = self.reads.get(at).is_some_and(|flight| flight.number == number);
        if is_current {
            self.reads.remove(at);
        }
        is_current
    }

    /// A write of the row has ended: the answer to a read under way is not kept.
    pub fn detach(&mut self, at: &RowAt) {
        self.reads.remove(at);
    }

    /// The same for all rows.
    pub fn detach_all(&mut self) {
        self.reads.clear();
    }
}
