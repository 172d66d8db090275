//! The end of a partition: every entity of one type in it, wherever its row is.
//!
//! Invariant: a canonical row is deleted under its own key, in the version that was read, whatever
//! key its properties make.

use super::Repo;
use super::bulk::{BatchPolicy, Bulk, BulkProgress};
use super::maintenance::verify::Found;
use crate::entity::{
    EntityRow, EntityRows, RowOf, TableEntity, WholePartition, canonical, canonical_rows, read_row,
    split_page, template_of,
};
use crate::error::Result;
use crate::key::KeyError;
use crate::plan::{Plan, Step, TableClient, delete_all};
use crate::query::{KeyRange, RowQuery};
use crate::store::{Batch, IfMatch};
use bytes::Bytes;
use futures_core::future::BoxFuture;
use std::marker::PhantomData;

impl<E: TableEntity> Repo<E> {
    /// Deletes every entity of this type in a partition: reads its canonical rows page by page and
    /// deletes the entities of a page in as few transactions as they need.
    ///
    /// A row whose properties make another key, which `load` refuses, is deleted where it stands,
    /// with the index rows that its properties tell of. If it had others, they are orphans then,
    /// which [`verify`](Self::verify) finds and [`repair`](Self::repair) deletes.
    ///
    /// # Errors
    /// With the first failure. What was deleted before it stays deleted, and the call can be made
    /// again. A row that cannot be read is a failure, for it may be of another type: delete it with
    /// the untyped calls of [`Tables::table`](crate::Tables::table), or keep it.
    pub fn delete_partition<Q>(&self, partition: Q) -> DeletePartition<E>
    where
        Q: WholePartition,
        Q::Row: RowOf<E>,
    {
        let query = partition.into_keys().map(|keys| {
            self.client.query(KeyRange { partition: keys.partition, row: canonical_rows::<E>() })
        });
        DeletePartition { client: self.client.clone(), query, entity: PhantomData }
    }
}

/// A `delete_partition`: `.await` sends it, `.plan()` shows what it reads.
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct DeletePartition<E> {
    client: TableClient,
    query: Result<RowQuery, KeyError>,
    entity: PhantomData<fn() -> E>,
}

impl<E: TableEntity + 'static> DeletePartition<E> {
    /// Returns what it will read; what it deletes is decided by that.
    ///
    /// # Errors
    /// When a key cannot hold one of the values.
    pub fn plan(&self) -> Result<Plan> {
        Ok(Step::read(self.query.clone()?).into())
    }

    async fn run(self) -> Result<BulkProgress> {
        let mut query = self.query?;
        let mut deleted = BulkProgress::default();
        loop {
            let page = self.client.page(&query).await?;
            let rows = split_page(&page.body)?.into_iter();
            let entities = rows.filter_map(|row| removal::<E>(row.get().as_bytes()).transpose());
            let entities = entities.collect::<Result<Vec<_>>>()?.into_iter();
            let policy = BatchPolicy::shared(|removal: &Batch| Ok(removal.clone()));
            let report = Bulk::new(self.client.clone(), entities, policy).await.all()?;
            deleted.entities += report.entities;
            deleted.rows += report.rows;
            deleted.requests += report.requests;
            query.continuation = page.continuation;
            if query.continuation.is_none() {
                return Ok(deleted);
            }
        }
    }
}

impl<E: TableEntity + 'static> IntoFuture for DeletePartition<E> {
    type Output = Result<BulkProgress>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// What deletes the entity of a canonical row; `None` for a row of another kind.
fn removal<E: TableEntity>(json: &[u8]) -> Result<Option<Batch>> {
    let canonical = canonical::<E>();
    let Found { partition_key, row_key, etag, .. } = Found::read(json)?;
    if template_of::<E>(&row_key).is_none_or(|(index, _)| index != canonical) {
        return Ok(None);
    }
    let entity = read_row::<E>(canonical, json)?;
    let guard = IfMatch::ETag(etag);
    // If it makes no key, or one of another partition, it has no copies here.
    let made = EntityRows::of(&entity).ok().filter(|made| made.partition_key == partition_key);
    let copies = made.into_iter().flat_map(|made| made.rows).filter(|row| row.index != canonical);
    let own = EntityRow { index: canonical, row_key, body: Bytes::new() };
    let rows = std::iter::once(own).chain(copies).collect();
    Ok(Some(delete_all(EntityRows { partition_key, rows }, canonical, &guard)))
}
