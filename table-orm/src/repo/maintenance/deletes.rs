//! Deletes of many rows, each in the version that was read.

use crate::error::{Error, Result};
use crate::model::ETag;
use crate::plan::{CanonicalKey, TableClient};
use crate::store::{Action, Batch, IfMatch, Operation};
use crate::sync::Concurrent;

/// Rows to delete, in transactions as large as the store takes.
pub(crate) struct Deletes<'c> {
    client: &'c TableClient,
    batches: Vec<Batch>,
}

/// What was deleted.
#[derive(Default)]
pub(crate) struct Deleted {
    pub rows: u64,
    pub requests: u64,
    /// Rows that have another version now, and stay. Those that are gone are not among them.
    pub changed: Vec<CanonicalKey>,
}

impl<'c> Deletes<'c> {
    /// No rows.
    pub const fn of(client: &'c TableClient) -> Self {
        Self { client, batches: Vec::new() }
    }

    /// Adds a row. Rows that come in key order share transactions.
    pub fn add(&mut self, key: CanonicalKey, etag: ETag) {
        let CanonicalKey { partition_key, row_key } = key;
        let operation = Operation { row_key, action: Action::Delete(IfMatch::ETag(etag)) };
        let most = self.client.store().transaction_operations();
        match self.batches.last_mut() {
            Some(last) if last.partition_key == partition_key && last.operations.len() < most => {
                last.operations.push(operation);
            }
            _ => self.batches.push(Batch { partition_key, operations: vec![operation] }),
        }
    }

    /// What it would do, if no row changes meanwhile.
    pub fn would(&self) -> Deleted {
        let rows = self.batches.iter().map(|batch| batch.operations.len() as u64).sum();
        Deleted { rows, requests: self.batches.len() as u64, changed: Vec::new() }
    }

    /// Sends the transactions, `parallelism` of them at once.
    pub async fn send(self, parallelism: usize) -> Result<Deleted> {
        let client = self.client;
        let sending = self.batches.into_iter().map(|batch| delete(client, batch));
        let deleted = Concurrent::in_order(sending, parallelism).try_all().await?;
        Ok(deleted.into_iter().fold(Deleted::default(), Deleted::and))
    }
}

impl Deleted {
    fn and(mut self, other: Self) -> Self {
        self.rows += other.rows;
        self.requests += other.requests;
        self.changed.extend(other.changed);
        self
    }
}

/// How often deletes are sent whose answer is lost.
const ATTEMPTS: u32 = 3;

/// Sends deletes together, without rows that have changed or are gone. After a lost answer, what is gone has been
/// deleted.
async fn delete(client: &TableClient, mut batch: Batch) -> Result<Deleted> {
    let (mut deleted, mut lost) = (Deleted::default(), 0);
    while !batch.operations.is_empty() {
        deleted.requests += 1;
        let Err(error) = client.send(batch.clone()).await else {
            deleted.rows += batch.operations.len() as u64;
            break;
        };
        let changed = match &error {
            Error::Ambiguous(_) if lost + 1 < ATTEMPTS => {
                lost += 1;
                continue;
            }
            Error::Conflict(_) => true,
            Error::NotFound(_) => {
                deleted.rows += u64::from(lost > 0);
                false
            }
            _ => return Err(error),
        };
        let failed = error.rejection().and_then(|rejection| rejection.operation);
        match failed.filter(|(index, _)| *index < batch.operations.len()) {
            Some((index, _)) => {
                let Operation { row_key, .. } = batch.operations.remove(index);
                let key = CanonicalKey { partition_key: batch.partition_key.clone(), row_key };
                deleted.changed.extend(changed.then_some(key));
            }
            None => return Err(error),
        }
    }
    Ok(deleted)
}
