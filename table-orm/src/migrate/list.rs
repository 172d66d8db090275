//! A list over both forms: what it asks for, and how it is answered.

use super::migrates::Migrates;
use super::migrating::Migrating;
use super::pages::MigratingPages;
use crate::entity::{FromRow, InvalidEntity, Query, Row, RowOf, keys_of};
use crate::error::{Error, Result};
use crate::query::{Filter, IntoCondition, KeyRange};
use crate::repo::{RowStream, only};
use futures_core::future::BoxFuture;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use std::fmt;
use std::marker::PhantomData;

/// How many entities a stream reads at once.
const STREAM_PAGE: usize = 1000;

/// A query of the entities of one partition, of both forms: `.await` reads them all, and `pages` and `stream` read
/// them in parts. They come in the order of their new keys.
///
/// An entity that matches the query during the whole call is returned exactly once, as it was at some time during
/// the call, whatever moves meanwhile. That holds across pages too: a token is the new key of the last entity that
/// was returned. In a list of index rows, an entity whose key changes between two pages may be returned twice or
/// not at all, as in any list.
///
/// A list of [`eventual` rows](crate::guide::run::migrating#rows-in-other-partitions) returns entities as they are now, and
/// may lack one whose last write has not been settled.
#[must_use = "nothing is sent until this is awaited, or one of the last methods is called"]
pub struct MigratingList<E: Migrates, R> {
    client: Migrating<E>,
    query: Result<(KeyRange, Option<Filter>), InvalidEntity>,
    limit: Option<usize>,
    row: PhantomData<fn() -> R>,
}

impl<E: Migrates, R> Clone for MigratingList<E, R> {
    fn clone(&self) -> Self {
        let Self { client, query, limit, row } = self;
        Self { client: client.clone(), query: query.clone(), limit: *limit, row: *row }
    }
}

impl<E: Migrates, R> fmt::Debug for MigratingList<E, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MigratingList")
            .field("query", &self.query)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

impl<E: Migrates> Migrating<E> {
    /// Reads the entities of a query of one partition, of both forms, in the order of their new keys.
    ///
    /// Awaiting it takes three requests for each 1000 rows, or two if the old and new rows are in one
    /// partition. Each entity on its way takes one more. It holds all entities in memory.
    ///
    /// A list of `eventual` rows takes two requests for each 1000 rows, and one for each row that it finds: it reads
    /// the entity.
    ///
    /// It reads only the old rows of the range if it asks for canonical rows, and if the RowKeys of both forms
    /// have the same components in the same order. Otherwise it reads all old rows of the partition that they
    /// come from. If the number of old shards does not divide the number of new ones, it reads the partitions
    /// of all old shards.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, TableEntity)]
    /// # #[table(name = "lots", partition = "{hall}", row = "L:{n:03}")]
    /// # struct LotV1 { hall: String, n: u32, sold: bool }
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "lots2", partition = "{hall}", row = "LOT:{n:08}", migrate_from = LotV1)]
    /// # struct Lot { hall: String, n: u32, sold: bool }
    /// # impl From<LotV1> for Lot { fn from(LotV1 { hall, n, sold }: LotV1) -> Self { Self { hall, n, sold } } }
    /// # impl From<Lot> for LotV1 { fn from(Lot { hall, n, sold }: Lot) -> Self { Self { hall, n, sold } } }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let old = tables.repo::<LotV1>();
    /// # old.create_table().await?;
    /// # for n in [1, 3] { old.insert(&LotV1 { hall: "a".into(), n, sold: n == 3 }).await?; }
    /// let lots = tables.migrating::<Lot>()?;
    /// # lots.create_table_if_not_exists().await?;
    /// # for n in [2, 4] { lots.insert(&Lot { hall: "a".into(), n, sold: false }).await?; }
    /// let hall = Lot::partition("a");
    /// let open = lots.list(&hall).filter(|lot| lot.sold.eq(false)).await?;
    /// assert_eq!(open.iter().map(|lot| lot.n).collect::<Vec<_>>(), [1, 2, 4]);
    /// let first = lots.list(&hall).pages(3).next().await?.expect("a page");
    /// let last = lots.list(&hall).pages(3).resume(first.next.clone().expect("more")).next().await?;
    /// assert_eq!((first.len(), last.map(|page| page.len())), (3, Some(1)));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`MigrationError::ManyPartitions`](crate::migrate::MigrationError::ManyPartitions) when the old rows may be in
    /// any partition. When a row cannot be read.
    pub fn list<Q>(&self, query: Q) -> MigratingList<E, Q::Row>
    where
        Q: Query,
        Q::Row: RowOf<E>,
    {
        let query = keys_of(query).map(|keys| (keys, None)).map_err(InvalidEntity::from);
        MigratingList { client: self.clone(), query, limit: None, row: PhantomData }
    }
}

impl<E: Migrates, R: Row> MigratingList<E, R> {
    /// Keeps the entities whose new row meets a condition on its properties. A second filter must hold as well. The
    /// store evaluates it on new rows, and this client on the new rows that old entities will have. It saves no
    /// request.
    ///
    /// # Errors
    /// The last method fails when the filter cannot hold a value.
    pub fn filter<I: IntoCondition>(mut self, condition: impl FnOnce(R::Columns) -> I) -> Self {
        let condition =
            condition(R::COLUMNS).into_condition().of(E::NAME).map_err(InvalidEntity::from);
        self.query = self.query.and_then(|(keys, filter)| {
            let condition = condition?;
            Ok((keys, Some(filter.into_iter().fold(condition, |all, filter| filter.and(all)))))
        });
        self
    }

    /// Returns at most that many entities in all. Where the RowKeys of both forms have the same components in the
    /// same order, it reads about as many rows of each form; else all old rows of the partition.
    pub fn take(mut self, entities: usize) -> Self {
        self.limit = Some(self.limit.map_or(entities, |limit| limit.min(entities)));
        self
    }

    /// Returns the answer in pages of `size` entities, 1 to 1000, that a token resumes. Only the last page has fewer. A
    /// page has more where its last index key is that of several entities: as long as they are in their old form, they may
    /// share a new index key.
    ///
    /// A page costs what [`list`](Migrating::list) costs: where the RowKeys of both forms have the same components in
    /// the same order, it reads old rows from the token on until the page is full; else all old rows of the partition,
    /// for each page. A marker counts as an old row.
    ///
    /// Tokens of `Repo` are refused, and `Repo` refuses these.
    pub fn pages(self, size: usize) -> MigratingPages<E, R> {
        MigratingPages::new(self.client, self.query, self.limit, size)
    }

    /// Returns the entities one after another. Reads 1000 at once, each time as a page: see [`pages`](Self::pages).
    #[must_use]
    pub fn stream(self) -> RowStream<E>
    where
        R: RowOf<E> + 'static,
        E: FromRow<R>,
    {
        let pages = stream::try_unfold(self.pages(STREAM_PAGE), |mut pages| async move {
            let page = pages.next().await?;
            Ok::<_, Error>(page.map(|page| (stream::iter(page.items.into_iter().map(Ok)), pages)))
        });
        RowStream::new(pages.try_flatten().boxed())
    }

    /// Reads all entities, as the list does when it is awaited.
    ///
    /// # Errors
    /// As [`list`](Migrating::list).
    pub fn collect(self) -> BoxFuture<'static, Result<Vec<E>>>
    where
        R: RowOf<E> + 'static,
        E: FromRow<R>,
    {
        self.into_future()
    }

    /// Reads the only entity.
    ///
    /// # Errors
    /// [`Error::RowCount`] when nothing or more than one matches. Otherwise as [`list`](Migrating::list).
    pub async fn one(self) -> Result<E>
    where
        R: RowOf<E> + 'static,
        E: FromRow<R>,
    {
        only(E::NAME, self.take(2).await?)
    }

    /// Returns the number of entities. Reads them as [`collect`](Self::collect) does.
    ///
    /// # Errors
    /// As [`list`](Migrating::list).
    pub async fn count(self) -> Result<usize>
    where
        R: RowOf<E> + 'static,
        E: FromRow<R>,
    {
        Ok(self.await?.len())
    }

    /// Returns whether an entity matches. Reads one, as [`first`](Self::first) does.
    ///
    /// # Errors
    /// As [`list`](Migrating::list).
    pub async fn exists(self) -> Result<bool>
    where
        R: RowOf<E> + 'static,
        E: FromRow<R>,
    {
        Ok(self.first().await?.is_some())
    }

    /// Reads the first entity in key order. Returns `None` when nothing matches.
    ///
    /// # Errors
    /// As [`list`](Migrating::list).
    pub async fn first(self) -> Result<Option<E>>
    where
        R: RowOf<E> + 'static,
        E: FromRow<R>,
    {
        Ok(self.take(1).await?.into_iter().next())
    }
}

impl<E: Migrates, R: RowOf<E> + 'static> IntoFuture for MigratingList<E, R>
where
    E: FromRow<R>,
{
    type Output = Result<Vec<E>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let all = self.limit.unwrap_or(usize::MAX);
            let (keys, filter) = self.query?;
            let part = self.client.read_parts::<R>(&keys, filter.as_ref(), None, all).await?;
            Ok(part.entities.into_iter().take(all).collect())
        })
    }
}
