//! Writes of an entity as it is, whatever was loaded before.

use super::merge::merge_over;
use crate::entity::{EntityRows, Invalid, Row, TableEntity};
use crate::error::{Error, Result};
use crate::model::ETag;
use crate::plan::{
    CanonicalKey, Decision, MAX_ATTEMPTS, Plan, TableClient, UpdateMode, changes, delete_all,
    insert_all, retry_on_conflict,
};
use crate::store::{Batch, IfMatch};
use futures_core::future::BoxFuture;
use std::marker::PhantomData;

/// A write of an entity: `.await` sends it, `.plan()` shows it.
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct Write<E, T = ETag> {
    pub(super) client: TableClient,
    pub(super) change: Result<Change, Invalid>,
    pub(super) attempts: usize,
    pub(super) entity: PhantomData<fn() -> (E, T)>,
}

/// What is to be written.
#[derive(Debug, Clone)]
pub(super) enum Change {
    /// Sent without a look at what is stored; the first operation is the canonical row's.
    Blind(Batch),
    /// Decided by the rows that are stored.
    OverStored { rows: EntityRows, on_existing: OnExisting },
}

/// What happens over the stored rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OnExisting {
    /// They become the new rows; inserted when nothing is there.
    Upsert,
    /// They become the new rows; an error when nothing is there, or another version than given.
    Replace(Option<ETag>),
    /// The new properties are set in them.
    Merge,
    /// They go; an error when nothing is there.
    Delete,
}

impl<E: TableEntity, T> Write<E, T> {
    /// Tries at most so often when other writers come between, instead of [`MAX_ATTEMPTS`] times;
    /// 0 counts as 1. A blind write,
    /// one that reads nothing first, is sent once whatever this says.
    pub fn attempts(mut self, attempts: usize) -> Self {
        self.attempts = attempts.max(1);
        self
    }

    /// What it will send.
    ///
    /// # Errors
    /// A key or property that the service would refuse.
    pub fn plan(&self) -> Result<Plan> {
        let table = &self.client.table;
        Ok(match self.change.clone()? {
            Change::Blind(transaction) => Plan::write(table, transaction),
            Change::OverStored { rows, on_existing } => {
                let Some(row) = rows.canonical() else {
                    return Err(self.client.not_found(&rows.partition_key, ""));
                };
                let key = CanonicalKey::in_partition(&rows.partition_key, row);
                let inserts = matches!(on_existing, OnExisting::Upsert | OnExisting::Merge);
                key.plan(&self.client, inserts.then(|| insert_all(rows)), self.attempts)
            }
        })
    }

    /// Sends it. Returns the canonical row's new ETag, `None` after a delete.
    async fn run(self) -> Result<(CanonicalKey, Option<ETag>)> {
        match self.change? {
            Change::Blind(transaction) => {
                let canonical = transaction.operations.first();
                let row_key = canonical.map(|operation| operation.row_key.clone());
                let key = CanonicalKey {
                    partition_key: transaction.partition_key.clone(),
                    row_key: row_key.unwrap_or_default(),
                };
                let etags = self.client.send_changes(transaction, &key.row_key).await?;
                Ok((key, etags.into_iter().next().flatten()))
            }
            Change::OverStored { rows, on_existing } => {
                over_stored::<E>(&self.client, self.attempts, &rows, on_existing).await
            }
        }
    }
}

/// Brings the stored rows to `rows` under the canonical row's ETag.
async fn over_stored<E: TableEntity>(
    client: &TableClient,
    attempts: usize,
    rows: &EntityRows,
    on_existing: OnExisting,
) -> Result<(CanonicalKey, Option<ETag>)> {
    let canonical = <E::Canonical as Row>::INDEX;
    let Some(row) = rows.canonical() else {
        return Err(client.not_found(&rows.partition_key, ""));
    };
    let key = CanonicalKey::in_partition(&rows.partition_key, row);
    if on_existing == OnExisting::Merge {
        let etag = merge_over::<E>(client, &key, attempts, &row.body, Some(rows)).await?;
        return Ok((key, Some(etag)));
    }
    let (_, written) = retry_on_conflict::<E, Error>(client, &key, attempts, |stored| match stored {
        None if on_existing == OnExisting::Upsert => {
            Ok(Decision { transaction: insert_all(rows.clone()), canonical: Some(row.clone()) })
        }
        None => Err(client.not_found(&key.partition_key, &key.row_key)),
        Some(loaded) if on_existing == OnExisting::Delete => {
            let guard = IfMatch::ETag(loaded.etag().clone());
            let transaction = delete_all(loaded.stored_rows()?, canonical, &guard);
            Ok(Decision { transaction, canonical: None })
        }
        Some(loaded) if matches!(&on_existing, OnExisting::Replace(Some(etag)) if etag != loaded.etag()) => {
            Err(client.changed(&key.partition_key, &key.row_key))
        }
        Some(loaded) => {
            let (stored, etag) = (loaded.stored_rows()?, loaded.etag());
            let transaction = changes(&stored, rows, canonical, etag, UpdateMode::Replace);
            Ok(Decision { transaction, canonical: Some(row.clone()) })
        }
    })
    .await?;
    Ok((key, written.and_then(|(_, etag)| etag)))
}

/// An upsert as one of many, where it cannot share a transaction.
pub(super) fn upsert_alone<E: TableEntity + 'static>(
    client: TableClient,
    entity: E,
) -> BoxFuture<'static, (E, Result<()>)> {
    Box::pin(async move {
        let written = match EntityRows::of(&entity) {
            Ok(rows) => {
                over_stored::<E>(&client, MAX_ATTEMPTS, &rows, OnExisting::Upsert).await.map(drop)
            }
            Err(invalid) => Err(invalid.into()),
        };
        (entity, written)
    })
}

impl<E: TableEntity + 'static> IntoFuture for Write<E, ETag> {
    type Output = Result<ETag>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let client = self.client.clone();
            let (key, etag) = self.run().await?;
            client.version(&key, etag)
        })
    }
}

impl<E: TableEntity + 'static> IntoFuture for Write<E, ()> {
    type Output = Result<()>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.run().await.map(drop) })
    }
}
