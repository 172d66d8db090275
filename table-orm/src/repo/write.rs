//! Writes of an entity as it is, whatever was loaded before.

use super::bulk::Chunk;
use super::channel::Channel;
use crate::entity::{ETag, Loaded, TableEntity};
use crate::error::{Error, Invalid, Result};
use crate::plan::{Plan, Step, changes, delete_all};
use crate::query::{KeyRange, Row, Span};
use crate::row::EntityRows;
use crate::store::{IfMatch, Metadata, Transaction};
use futures_core::future::BoxFuture;
use std::marker::PhantomData;

/// How often a write that reads first is tried when other writers come between.
pub const MAX_ATTEMPTS: usize = 8;

/// A write of an entity: `.await` sends it, `.plan()` shows it.
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct Write<E, T = ETag> {
    pub(super) channel: Channel,
    pub(super) change: Result<Change, Invalid>,
    pub(super) entity: PhantomData<fn() -> (E, T)>,
}

/// What is to be written.
#[derive(Debug, Clone)]
pub(super) enum Change {
    /// Sent without a look at what is stored.
    Blind { transaction: Transaction, canonical: usize },
    /// Decided by the rows that are stored.
    OverStored { rows: EntityRows, then: Then },
}

/// What happens over the stored rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// They become the new rows; inserted when nothing is there.
    Upsert,
    /// They become the new rows; an error when nothing is there.
    Replace,
    /// They go; an error when nothing is there.
    Delete,
}

impl<E: TableEntity, T> Write<E, T> {
    const CANONICAL: usize = <E::Canonical as Row>::INDEX;

    /// What it will send.
    ///
    /// # Errors
    /// A key or property that the service would refuse.
    pub fn plan(&self) -> Result<Plan> {
        let table = &self.channel.table;
        Ok(match self.change.clone()? {
            Change::Blind { transaction, .. } => Plan::write(table, transaction),
            Change::OverStored { rows, then } => {
                let row_key = rows.row(Self::CANONICAL).map(|row| row.row_key.clone());
                let keys = KeyRange {
                    partition: Span::Exact(rows.partition_key.clone()),
                    row: Span::Exact(row_key.unwrap_or_default()),
                };
                let mut plan = Plan::read(self.channel.query(keys));
                plan.steps.push(Step::CommitChanges {
                    table: table.clone(),
                    absent: (then == Then::Upsert).then(|| crate::plan::insert_all(rows)),
                    attempts: MAX_ATTEMPTS,
                });
                plan
            }
        })
    }

    /// Sends it. Returns the canonical row's new ETag, `None` after a delete.
    async fn run(self) -> Result<Option<ETag>> {
        match self.change? {
            Change::Blind { transaction, canonical } => {
                let row_key = transaction
                    .operations
                    .get(canonical)
                    .map(|operation| operation.row_key.as_str());
                let row_key = row_key.unwrap_or_default();
                let etags = self.channel.send_changes(&transaction, row_key).await?;
                Ok(etags.into_iter().nth(canonical).flatten())
            }
            Change::OverStored { rows, then } => over_stored::<E>(&self.channel, &rows, then).await,
        }
    }
}

/// Reads the canonical row, and writes the difference under its ETag, until no other writer comes
/// between.
async fn over_stored<E: TableEntity>(
    channel: &Channel,
    rows: &EntityRows,
    then: Then,
) -> Result<Option<ETag>> {
    let canonical = <E::Canonical as Row>::INDEX;
    let partition_key = &rows.partition_key;
    let row_key = rows.row(canonical).map(|row| row.row_key.as_str()).unwrap_or_default();
    let mut attempt = 0;
    loop {
        attempt += 1;
        let transaction = match channel.get(partition_key, row_key, None, Metadata::None).await? {
            None if then == Then::Upsert => crate::plan::insert_all(rows.clone()),
            None => return Err(channel.not_found(partition_key, row_key)),
            Some(row) => {
                let stored = Loaded::<E>::read(row.body, row.header)?;
                let etag = stored.etag().clone();
                let stored = stored.stored_rows()?;
                if then == Then::Delete {
                    delete_all(stored, canonical, &IfMatch::ETag(etag))
                } else {
                    let transaction = changes(&stored, rows, canonical, &etag);
                    if transaction.operations.is_empty() {
                        return Ok(Some(etag));
                    }
                    transaction
                }
            }
        };
        let written = transaction
            .operations
            .iter()
            .position(|operation| operation.row_key == row_key)
            .unwrap_or_default();
        match channel.send_changes(&transaction, row_key).await {
            Ok(etags) => return Ok(etags.into_iter().nth(written).flatten()),
            Err(Error::Conflict(_) | Error::AlreadyExists(_) | Error::NotFound(_))
                if attempt < MAX_ATTEMPTS => {}
            Err(error) => return Err(error),
        }
    }
}

/// An upsert as one of many, where it cannot share a transaction.
pub(super) fn upsert_alone<E: TableEntity + 'static>(
    channel: Channel,
    entity: E,
) -> BoxFuture<'static, (Chunk<E>, Result<()>)> {
    Box::pin(async move {
        let rows = EntityRows::of(&entity);
        let count = rows.as_ref().map_or(0, |rows| rows.rows.len());
        let written = match rows {
            Ok(rows) => over_stored::<E>(&channel, &rows, Then::Upsert).await.map(drop),
            Err(invalid) => Err(invalid.into()),
        };
        (Chunk::single(entity, count), written)
    })
}

impl<E: TableEntity + 'static> IntoFuture for Write<E, ETag> {
    type Output = Result<ETag>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let channel = self.channel.clone();
        Box::pin(async move {
            // Every write but a delete has an ETag.
            self.run().await?.ok_or_else(|| channel.not_found("", ""))
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
