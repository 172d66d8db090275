//! Writes of entities that are added up: the transaction changes the totals, too.
//!
//! Invariants:
//! - A total changes in the transaction that changes the entity, by what the entity adds afterwards less
//!   what it added before.
//! - What it added before is read from its canonical row, and the write asks for the version that was
//!   read. So each difference counts once.
//! - A transaction that changes what an entity adds writes the total's row, even if the total stays the
//!   same. So whoever counts while nobody writes that row counts right.

use super::attempts::{Attempts, RetryLimits};
use super::canonical_key::CanonicalKey;
use super::table_client::TableClient;
use crate::codec::overlay;
use crate::entity::{Contributions, SummedType, TOTAL, TotalRow, body, is_total, read_row};
use crate::error::{Error, Result, SumError};
use crate::model::ETag;
use crate::property::PropertiesWriter;
use crate::store::{Action, Batch, IfMatch, Operation, StoredRow};
use bytes::Bytes;
use futures_util::future::try_join_all;

/// A batch with the changes of its totals.
struct Summed {
    batch: Batch,
    /// The operations that got a condition here.
    guarded: Vec<usize>,
    /// By how much each total changes.
    changes: Contributions,
}

impl TableClient {
    /// Whether an operation writes an entity that is added up.
    pub(super) fn changes_sums(&self, batch: &Batch) -> bool {
        !self.summed.is_empty() && batch.operations.iter().any(|one| self.is_summed(&one.row_key))
    }

    fn is_summed(&self, row_key: &str) -> bool {
        self.summed_types(row_key).next().is_some()
    }

    /// The types that may have such a canonical row: several, where the rows' `kind` tells them apart.
    fn summed_types(&self, row_key: &str) -> impl Iterator<Item = &SummedType> {
        self.summed.iter().filter(move |summed| summed.is_canonical(row_key))
    }

    /// What the entity of a canonical row adds; nothing if there is no row.
    fn added_by(&self, row_key: &str, row: Option<&Bytes>) -> Result<Contributions> {
        let mut added = Contributions::new();
        let Some(row) = row else { return Ok(added) };
        for summed in self.summed_types(row_key) {
            added.extend(summed.contributions(row)?);
        }
        Ok(added)
    }

    /// Sends a batch with the changes of its totals. Returns the ETags of the batch's operations.
    pub(super) async fn send_with_sums(&self, batch: Batch) -> Result<Vec<Option<ETag>>> {
        let count = batch.operations.len();
        let mut attempts = Attempts::begin(&self.connection, RetryLimits::default());
        loop {
            let Summed { mut batch, guarded, changes } = self.changes(batch.clone()).await?;
            let mut rows = Vec::new();
            for (total, change) in changes {
                let shard = self.connection.random.next() % u64::from(total.shards);
                let key = CanonicalKey {
                    partition_key: batch.partition_key.clone(),
                    row_key: total.row_key(u8::try_from(shard).unwrap_or_default())?,
                };
                rows.push((key, total, change));
            }
            // Calls of this process take turns where all meet in one row. The order is the same in each.
            let mut permits = Vec::new();
            for (key, ..) in rows.iter().filter(|(_, total, _)| total.shards == 1) {
                permits.push(self.connection.write_lock(&self.table, key).await);
            }
            let operations = rows.iter().map(|(key, _, change)| self.changed_total(key, *change));
            batch.operations.extend(try_join_all(operations).await?);
            match self.send_rows(batch).await {
                Ok(mut etags) => {
                    etags.truncate(count);
                    return Ok(etags);
                }
                Err(error) if is_lost_race(&error, count, &guarded) && attempts.next().await => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads what the operations replace. Makes those that would replace anything replace what was read.
    async fn changes(&self, batch: Batch) -> Result<Summed> {
        let Batch { partition_key, mut operations } = batch;
        let stored = operations.iter().map(|operation| self.replaced(&partition_key, operation));
        let stored = try_join_all(stored).await?;
        let (mut guarded, mut changes) = (Vec::new(), Contributions::new());
        for (index, (operation, stored)) in operations.iter_mut().zip(stored).enumerate() {
            if !self.is_summed(&operation.row_key) {
                continue;
            }
            let before = stored.as_ref().map(|row| &row.body);
            let after = match (&operation.action, before) {
                (Action::Delete(_), _) => None,
                (Action::Merge(set, _) | Action::InsertOrMerge(set), Some(before)) => {
                    Some(overlay(before, set)?)
                }
                // Such a write is refused.
                (Action::Merge(..) | Action::Replace(..), None) => None,
                (action, _) => action.body().cloned(),
            };
            let mut change = self.added_by(&operation.row_key, after.as_ref())?;
            for (total, value) in self.added_by(&operation.row_key, before)? {
                *change.entry(total).or_default() -= value;
            }
            // A total that the entities of one transaction change by 0 together is written, too.
            for (total, value) in change.into_iter().filter(|(_, value)| *value != 0) {
                *changes.entry(total).or_default() += value;
            }
            if guard(&mut operation.action, stored.as_ref())? {
                guarded.push(index);
            }
        }
        Ok(Summed { batch: Batch { partition_key, operations }, guarded, changes })
    }

    /// The canonical row that an operation replaces. An insert replaces none.
    async fn replaced(
        &self,
        partition_key: &str,
        operation: &Operation,
    ) -> Result<Option<StoredRow>> {
        let inserts = matches!(operation.action, Action::Insert(_));
        if inserts || !self.is_summed(&operation.row_key) {
            return Ok(None);
        }
        self.annotated_row(partition_key, &operation.row_key).await
    }

    /// The write that changes a total.
    async fn changed_total(&self, key: &CanonicalKey, change: i128) -> Result<Operation> {
        let stored = self.row(&self.point(key)).await?;
        let before = match &stored {
            Some(row) => read_row::<TotalRow>(0, &row.body)?.0,
            None => 0,
        };
        let overflow = |_| {
            let CanonicalKey { partition_key, row_key } = key.clone();
            SumError::Overflow { partition_key, row_key }
        };
        let total = i64::try_from(i128::from(before) + change).map_err(overflow)?;
        let etag = stored.map(|row| row.etag()).transpose()?;
        total_row(key, total, etag)
    }
}

/// The write of a total: over that version, or where there is none yet.
pub(crate) fn total_row(key: &CanonicalKey, total: i64, etag: Option<ETag>) -> Result<Operation> {
    let mut out = PropertiesWriter::new("Sum");
    out.property(TOTAL, &total)?;
    let body = body(&key.partition_key, &key.row_key, &out)?;
    let action = match etag {
        Some(etag) => Action::Replace(body, IfMatch::ETag(etag)),
        None => Action::Insert(body),
    };
    Ok(Operation { row_key: key.row_key.clone(), action })
}

/// Makes a write without a condition fail unless the row is as it was read. Returns whether it did. A write
/// of a row that must exist and does not fails by itself.
fn guard(action: &mut Action, stored: Option<&StoredRow>) -> Result<bool> {
    let guarded = match stored {
        Some(row) => action.under(&row.etag()?),
        None => action.if_absent(),
    };
    let Some(guarded) = guarded else { return Ok(false) };
    *action = guarded;
    Ok(true)
}

/// Whether another writer changed a total, or a row that got its condition here, between the read and the
/// write.
fn is_lost_race(error: &Error, count: usize, guarded: &[usize]) -> bool {
    let (Error::Conflict(rejection) | Error::NotFound(rejection) | Error::AlreadyExists(rejection)) =
        error
    else {
        return false;
    };
    match rejection.operation {
        Some((index, _)) if index >= count => is_total(&rejection.row_key),
        Some((index, _)) => guarded.contains(&index),
        None => false,
    }
}
