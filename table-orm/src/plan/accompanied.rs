//! Writes of entities with `sums` or an `outbox`: the transaction also changes the totals, and adds events.
//!
//! Invariants:
//! - What is stored before is read, and the write asks for the version that was read. So each difference
//!   counts once, and an event says what the write did.
//! - What follows a write is in its transaction.

use super::attempts::{Attempts, RetryLimits};
use super::canonical_key::CanonicalKey;
use super::cost::{Bounds, Cost};
use super::events::{is_number_taken, requires_only};
use super::step::Step;
use super::table_client::TableClient;
use crate::codec::overlay;
use crate::entity::{Contributions, EventContent, HEAD, is_total};
use crate::error::{Error, Result};
use crate::model::{ETag, MAX_TRANSACTION_BYTES};
use crate::store::{Action, Batch, Operation, StoredRow};
use bytes::Bytes;
use futures_util::future::try_join_all;

/// A batch, and what follows it.
struct Accompanied {
    batch: Batch,
    /// The operations that got a condition here.
    guarded: Vec<usize>,
    /// By how much each total changes.
    changes: Contributions,
    events: Vec<EventContent>,
}

impl TableClient {
    /// Whether an operation writes an entity that is added up or reported.
    pub(super) fn is_accompanied(&self, batch: &Batch) -> bool {
        let none = self.summed.is_empty() && self.reported.is_empty();
        !none && batch.operations.iter().any(|one| self.is_followed(&one.row_key))
    }

    fn is_followed(&self, row_key: &str) -> bool {
        self.is_summed(row_key) || self.is_reported(row_key)
    }

    /// The most operations that a transaction adds to those of a batch, for totals and events.
    pub(super) fn most_following(&self, batch: &Batch) -> usize {
        if self.is_accompanied(batch) {
            self.following_all() + self.following_each(batch)
        } else {
            0
        }
    }

    /// Those of them that a transaction has once: for totals of all entities, and the number of the next event.
    pub(super) fn following_all(&self) -> usize {
        let totals: usize = self.summed.iter().map(|summed| summed.shared).sum();
        totals + usize::from(!self.reported.is_empty())
    }

    /// Those of them that each entity has: for totals of its groups, and its event.
    pub(super) fn following_each(&self, batch: &Batch) -> usize {
        let of = |operation: &Operation| {
            // An operation that only requires a version changes no total, and makes no event.
            if requires_only(operation).unwrap_or(false) {
                return 0;
            }
            // An entity that comes or goes is in one group of each sum, and one that changes may move to another.
            let groups = match operation.action {
                Action::Insert(_) | Action::Delete(_) => 1,
                _ => 2,
            };
            let totals = self.summed_types(&operation.row_key).map(|ty| groups * ty.groups).max();
            totals.unwrap_or_default() + usize::from(self.is_reported(&operation.row_key))
        };
        if self.summed.is_empty() && self.reported.is_empty() {
            return 0;
        }
        batch.operations.iter().map(of).sum()
    }

    /// What is read for a batch before it is sent.
    pub(crate) fn read_first_of(&self, batch: &Batch) -> Option<Step> {
        let count = |has: fn(&Self, &str) -> bool| {
            batch.operations.iter().filter(|operation| has(self, &operation.row_key)).count()
        };
        let reads = batch.operations.iter().filter(|operation| self.reads(operation)).count();
        self.read_first_for([count(Self::is_summed), count(Self::is_reported)], reads)
    }

    /// What is read before changes of an entity are sent.
    pub(crate) fn read_first(&self) -> Option<Step> {
        // One row for a key that stays; two where it changes.
        let rows = |has: bool| 2 * usize::from(has);
        self.read_first_for([rows(!self.summed.is_empty()), rows(!self.reported.is_empty())], 2)
    }

    /// What is read before a transaction with these numbers of canonical rows that are added up and that are
    /// reported, and with `reads` rows to read.
    fn read_first_for(&self, [summed, reported]: [usize; 2], reads: usize) -> Option<Step> {
        let (totals, events) = (summed > 0, reported > 0);
        let each = self.summed.iter().map(|ty| ty.shared + 2 * ty.groups * summed);
        let changed: usize = if totals { each.sum() } else { 0 };
        let queries = Bounds::up_to((reads + changed + usize::from(events)) as u64);
        // The number of the next event, and the events.
        let operations = changed + if events { 1 + reported } else { 0 };
        let adds = Cost::writes(Bounds::NONE, Bounds::up_to(operations as u64));
        let cost = Cost { bytes_up: most_bytes(operations), ..adds } + Cost::point_queries(queries);
        let table = self.table.clone();
        (totals || events).then_some(Step::ReadFirst { table, totals, events, cost })
    }

    /// Sends a batch with what follows it. Returns the ETags of the batch's operations.
    pub(super) async fn send_accompanied(&self, batch: Batch) -> Result<Vec<Option<ETag>>> {
        let count = batch.operations.len();
        let mut attempts = Attempts::begin(&self.connection, RetryLimits::default());
        let mut is_behind = false;
        loop {
            let Accompanied { mut batch, guarded, changes, events } =
                self.accompany(batch.clone()).await?;
            let mut rows = Vec::new();
            for (total, change) in changes {
                let number = self.shard.unwrap_or_else(|| self.connection.random.next());
                let key = CanonicalKey {
                    partition_key: batch.partition_key.clone(),
                    row_key: total.row_key(total.shard_by(number))?,
                };
                rows.push((key, total, change));
            }
            // Calls of this process take turns where all meet in one row. The order is the same in each.
            let mut permits = Vec::new();
            for (key, ..) in rows.iter().filter(|(_, total, _)| total.shards == 1) {
                permits.push(self.connection.write_lock(&self.table, key).await);
            }
            if !events.is_empty() {
                let key = self.outbox_head(&batch.partition_key);
                permits.push(self.connection.write_lock(&self.table, &key).await);
            }
            let operations = rows.iter().map(|(key, _, change)| self.changed_total(key, *change));
            batch.operations.extend(try_join_all(operations).await?);
            if !events.is_empty() {
                let numbered = self.numbered(&batch.partition_key, &events, is_behind).await?;
                batch.operations.extend(numbered);
            }
            match self.send_rows(batch).await {
                Ok(mut etags) => {
                    etags.truncate(count);
                    return Ok(etags);
                }
                Err(error) if is_lost_race(&error, count, &guarded) && attempts.next().await => {
                    is_behind |= is_number_taken(&error);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads what the operations replace. Makes those that would replace anything replace what was read.
    async fn accompany(&self, batch: Batch) -> Result<Accompanied> {
        let Batch { partition_key, mut operations } = batch;
        let stored = operations.iter().map(|operation| self.replaced(&partition_key, operation));
        let stored = try_join_all(stored).await?;
        let several = operations.len() > 1;
        let (mut guarded, mut changes) = (Vec::new(), Contributions::new());
        let mut events = Vec::new();
        for (index, (operation, stored)) in operations.iter_mut().zip(stored).enumerate() {
            if !self.is_followed(&operation.row_key) {
                continue;
            }
            let before = stored.as_ref().map(|row| &row.body);
            let after = match (&operation.action, before) {
                (Action::Delete(_), _) => None,
                (Action::Merge(set, _) | Action::InsertOrMerge(set), Some(before)) => {
                    Some(overlay(before, set, &[])?)
                }
                // Such a write fails, or what it changes was not read because nobody asks.
                (Action::Merge(..), None) => None,
                (action, _) => action.body().cloned(),
            };
            let rows: [Option<&Bytes>; 2] = [before, after.as_ref()];
            self.add_difference(&mut changes, &operation.row_key, rows)?;
            let moved =
                self.event_row.as_ref().filter(|(row_key, _)| *row_key == operation.row_key);
            let after = moved.map_or(rows[1], |(_, row)| Some(row));
            events.extend(self.event(operation, [rows[0], after])?);
            if !self.reads(operation) {
                continue;
            }
            if stored.is_none() && operation.action.replaces_any() {
                // Sent, it could still find a row that nothing here knows of.
                let named = Some((index, operation.action.name())).filter(|_| several);
                return Err(self.not_found_by(&partition_key, &operation.row_key, named));
            }
            if guard(&mut operation.action, stored.as_ref())? {
                guarded.push(index);
            }
        }
        let events = self.with_moves(events);
        Ok(Accompanied { batch: Batch { partition_key, operations }, guarded, changes, events })
    }

    /// The canonical row that an operation replaces, where what follows depends on it.
    async fn replaced(
        &self,
        partition_key: &str,
        operation: &Operation,
    ) -> Result<Option<StoredRow>> {
        if !self.reads(operation) {
            return Ok(None);
        }
        self.annotated_row(partition_key, &operation.row_key).await
    }

    /// Whether what follows depends on the stored row. An insert replaces none.
    fn reads(&self, operation: &Operation) -> bool {
        let inserts = matches!(operation.action, Action::Insert(_));
        !inserts && (self.is_summed(&operation.row_key) || self.reads_for_event(operation))
    }
}

/// The bytes of operations in a transaction that has others.
const fn most_bytes(operations: usize) -> Bounds {
    if operations > 0 { Bounds::up_to(MAX_TRANSACTION_BYTES as u64) } else { Bounds::NONE }
}

/// Makes a write without a condition fail unless the row is as it was read. Returns whether it did.
fn guard(action: &mut Action, stored: Option<&StoredRow>) -> Result<bool> {
    let guarded = match stored {
        Some(row) => action.under(&row.etag()?),
        None => action.if_absent(),
    };
    let Some(guarded) = guarded else { return Ok(false) };
    *action = guarded;
    Ok(true)
}

/// Whether another writer changed a total, took the number of an event, or changed a row that got its
/// condition here, between the read and the write.
fn is_lost_race(error: &Error, count: usize, guarded: &[usize]) -> bool {
    let (Error::Conflict(rejection) | Error::NotFound(rejection) | Error::AlreadyExists(rejection)) =
        error
    else {
        return false;
    };
    match rejection.operation {
        Some((index, _)) if index >= count => {
            is_total(&rejection.row_key) || rejection.row_key == HEAD || is_number_taken(error)
        }
        Some((index, _)) => guarded.contains(&index),
        None => false,
    }
}
