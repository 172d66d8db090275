//! Deletes of every entity of one type in a partition.
//!
//! Invariant: a canonical row is deleted under the key that it is stored under and in the version that
//! was read, even if its properties make another key.

use super::Repo;
use super::bulk::{BatchPolicy, Bulk, BulkProgress};
use super::entity_costs;
use super::maintenance::verify::VersionedRow;
use crate::entity::{
    EntityRow, EntityRows, OwnRows, RowOf, TableEntity, WholePartition, canonical, canonical_rows,
    reaches_across, read_row, split_page,
};
use crate::error::{Error, Result};
use crate::eventual::register_step_of;
use crate::key::KeyError;
use crate::plan::{Plan, Step, TableClient, delete_all};
use crate::query::{KeyRange, ReadMark, RowQuery};
use crate::store::{Batch, IfMatch};
use bytes::Bytes;
use futures_core::future::BoxFuture;
use std::marker::PhantomData;

impl<E: TableEntity> Repo<E> {
    /// Deletes every entity of this type in a partition. Returns the counts of what it deleted.
    ///
    /// Reads the canonical rows page by page, 1000 a request, and deletes the entities of each page in
    /// transactions of at most 100 operations. Rows of other types are kept.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "runners", partition = "{race}")]
    /// # #[row(by_bib, key = "BIB:{bib:05}")]
    /// # #[row(by_age, key = "AGE:{age:03}__{bib:05}")]
    /// # struct Runner { race: String, bib: u32, age: u8, city: Option<String> }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let runners = Tables::in_memory()?.repo::<Runner>();
    /// # runners.create_table().await?;
    /// # for bib in [7, 8] {
    /// #     runners.insert(&Runner { race: "Boston".into(), bib, age: 40, city: None }).await?;
    /// # }
    /// let boston = Runner::partition("Boston");
    /// let deleted = runners.delete_partition(&boston).await?;
    /// assert_eq!((deleted.entities, deleted.rows), (2, 4));
    /// assert!(!runners.list(&boston).exists().await?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A canonical row whose properties make another key, which `load` rejects, is deleted too, with the index
    /// rows that its properties make. Its other index rows become orphans, which [`verify`](Self::verify)
    /// finds and [`repair`](Self::repair) deletes.
    ///
    /// # Errors
    /// Fails with the first error. What was deleted before stays deleted, and the call can be repeated. A row
    /// that cannot be read fails the call, because its index rows are unknown: delete it with the untyped calls
    /// of [`Tables::table`](crate::Tables::table), or keep it.
    pub fn delete_partition<Q>(&self, partition: Q) -> DeletePartition<E>
    where
        Q: WholePartition,
        Q::Row: RowOf<E>,
    {
        let query = partition.into_keys().map(|keys| {
            let keys = KeyRange { partition: keys.partition, row: canonical_rows::<E>() };
            let mark = ReadMark { entity: Some(E::NAME), ..ReadMark::NONE };
            RowQuery { mark, ..self.client.query(keys) }
        });
        DeletePartition { client: self.client.clone(), query, entity: PhantomData }
    }
}

/// A delete of a partition: `.await` sends it, `.plan()` shows what it reads.
///
/// ```
/// # use table_orm::{TableEntity, Tables};
/// # #[derive(Debug, Clone, PartialEq, TableEntity)]
/// # #[table(name = "notes", partition = "{owner}", row = "{id:05}")]
/// # struct Note { owner: String, id: u32, text: String }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let notes = Tables::in_memory()?.repo::<Note>();
/// # notes.create_table().await?;
/// let delete = notes.delete_partition(Note::partition("ann"));
/// assert!(delete.plan()?.to_string().contains("PartitionKey eq 'ann'"));
/// assert_eq!(delete.await?.entities, 0);
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct DeletePartition<E> {
    client: TableClient,
    query: Result<RowQuery, KeyError>,
    entity: PhantomData<fn() -> E>,
}

impl<E: TableEntity + 'static> DeletePartition<E> {
    /// Returns the first request for the canonical rows, and what the deletes cost for each entity that it finds.
    /// Sends nothing. [`Plan::cost_of`] says what the call costs for a number of entities.
    ///
    /// # Errors
    /// When a key cannot hold one of the values.
    pub fn plan(&self) -> Result<Plan> {
        let query = self.query.clone()?;
        let table = query.table.clone();
        let of_each = entity_costs::deleting::<E>(&self.client);
        let register = register_step_of::<E>(&self.client).into_iter();
        let steps = register.chain([Step::read(query), Step::WriteFound { table, of_each }]);
        Ok(Plan { steps: steps.collect() })
    }

    async fn run(self) -> Result<BulkProgress> {
        let mut deleted = BulkProgress::default();
        let mut pages = self.client.pages(self.query?);
        while let Some(page) = pages.next().await? {
            let rows = split_page(&page)?.into_iter();
            let entities = rows.filter_map(|row| removal::<E>(row.get().as_bytes()).transpose());
            let entities = entities.collect::<Result<Vec<_>>>()?.into_iter();
            let policy = BatchPolicy::shared(|removal: &Removal| Ok(removal.batch.clone()));
            let policy =
                policy.due::<E>(|client, Removal { batch, canonical, is_own }, intents| {
                    if *is_own {
                        intents.add::<E>(client, &batch.partition_key, Some(canonical), None)
                    } else {
                        intents.add_copies::<E>(client, &batch.partition_key, Some(canonical), None)
                    }
                });
            let report = Bulk::new(self.client.clone(), entities, policy).await;
            let report = report.all().map_err(Error::repeatable)?;
            deleted.entities += report.entities;
            deleted.rows += report.rows;
            deleted.requests += report.requests;
            deleted.unsettled += report.unsettled;
        }
        Ok(deleted)
    }
}

impl<E: TableEntity + 'static> IntoFuture for DeletePartition<E> {
    type Output = Result<BulkProgress>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// The deletion of an entity.
struct Removal {
    batch: Batch,
    /// The canonical row as it is stored.
    canonical: EntityRow,
    /// Whether its properties make its key. If not, what they name in other partitions belongs to the entity of the
    /// other key; but the totals have counted it here.
    is_own: bool,
}

/// The deletion of the entity of a canonical row; `None` for a row of another kind.
fn removal<E: TableEntity>(json: &[u8]) -> Result<Option<Removal>> {
    let canonical = canonical::<E>();
    let VersionedRow { partition_key, row_key, etag, context, .. } = VersionedRow::read(json)?;
    if !OwnRows::canonical::<E>().take(&context) {
        return Ok(None);
    }
    let entity = read_row::<E>(canonical, json)?;
    let guard = IfMatch::ETag(etag);
    // An entity that makes no key, or one of another partition, has no copies here.
    let made =
        EntityRows::of_stored(&entity).ok().filter(|made| made.partition_key == partition_key);
    let is_own =
        made.as_ref().is_some_and(|made| made.stands_at(canonical, &partition_key, &row_key));
    // Only `eventual` rows, unique values and large values follow from it.
    let is_needed = reaches_across::<E>() || !E::OVERFLOW.is_empty();
    let body = if is_needed { Bytes::copy_from_slice(json) } else { Bytes::new() };
    let own = EntityRow { index: canonical, row_key, body };
    Ok(Some(Removal::of(partition_key, own, made, is_own, &guard)))
}

impl Removal {
    /// Of a canonical row, and the copies among the rows that its entity makes.
    fn of(
        partition_key: String,
        own: EntityRow,
        made: Option<EntityRows>,
        is_own: bool,
        guard: &IfMatch,
    ) -> Self {
        let copies = made.into_iter().flat_map(|made| made.rows);
        let copies = copies.filter(|row| row.index != own.index);
        let rows = std::iter::once(own.clone()).chain(copies).collect();
        let batch = delete_all(EntityRows { partition_key, rows }, own.index, guard);
        Self { batch, canonical: own, is_own }
    }
}
