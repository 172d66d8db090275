//! Several lists over both forms at a time.

use super::list::MigratingList;
use super::migrates::Migrates;
use super::migrating::Migrating;
use crate::entity::{FromRow, Query, Row, RowOf};
use crate::error::Result;
use crate::query::IntoCondition;
use crate::repo::{MAX_PARALLEL_GETS, RowStream, merged, until_error};
use crate::sync::Concurrent;
use futures_core::future::BoxFuture;
use futures_util::{StreamExt as _, stream};
use std::fmt;

impl<E: Migrates> Migrating<E> {
    /// Reads the entities of several queries of one kind, such as one for each shard. At most 16 queries are in flight.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, TableEntity)]
    /// # #[table(name = "players", partition = "{share}", row = "P:{id:05}")]
    /// # #[component(share = shard(id, 16))]
    /// # struct PlayerV1 { id: u32, points: i64 }
    /// # #[derive(Debug, Clone, TableEntity)]
    /// # #[table(name = "players", partition = "{share}", row = "P:{id:05}", migrate_from = PlayerV1)]
    /// # #[component(share = shard(id, 32))]
    /// # struct Player { id: u32, points: i64 }
    /// # impl From<PlayerV1> for Player { fn from(PlayerV1 { id, points }: PlayerV1) -> Self { Self { id, points } } }
    /// # impl From<Player> for PlayerV1 { fn from(Player { id, points }: Player) -> Self { Self { id, points } } }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let old = tables.repo::<PlayerV1>();
    /// # old.create_table().await?;
    /// # for id in 0..50 { old.insert(&PlayerV1 { id, points: i64::from(id) }).await?; }
    /// let players = tables.migrating::<Player>()?;
    /// let all = players.list_many(Player::partitions());
    /// let best = all.filter(|player| player.points.ge(40)).await?;
    /// assert_eq!(best.len(), 10);
    /// # Ok(())
    /// # }
    /// ```
    pub fn list_many<Q>(&self, queries: impl IntoIterator<Item = Q>) -> MigratingListMany<E, Q::Row>
    where
        Q: Query,
        Q::Row: RowOf<E>,
    {
        MigratingListMany(queries.into_iter().map(|query| self.list(query)).collect())
    }
}

/// Several queries over both forms: `.await` reads them all. Each costs what a [list](Migrating::list) costs.
///
/// The entities come query by query, in the order of the queries, except with [`merge_by`](Self::merge_by).
#[must_use = "nothing is sent until this is awaited, or one of the last methods is called"]
pub struct MigratingListMany<E: Migrates, R>(Vec<MigratingList<E, R>>);

impl<E: Migrates, R> Clone for MigratingListMany<E, R> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<E: Migrates, R> fmt::Debug for MigratingListMany<E, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MigratingListMany").field(&self.0).finish()
    }
}

impl<E: Migrates, R: Row> MigratingListMany<E, R> {
    /// Keeps the entities whose new row meets a condition, as [`MigratingList::filter`] does.
    pub fn filter<I: IntoCondition>(self, condition: impl Fn(R::Columns) -> I) -> Self {
        Self(self.0.into_iter().map(|list| list.filter(&condition)).collect())
    }

    /// Gives at most that many entities of each query.
    pub fn take_each(self, entities: usize) -> Self {
        Self(self.0.into_iter().map(|list| list.take(entities)).collect())
    }

    /// Returns the entities one after another, query by query, as [`MigratingList::stream`] does.
    #[must_use]
    pub fn stream(self) -> RowStream<E>
    where
        R: RowOf<E> + 'static,
        E: FromRow<R>,
    {
        RowStream::new(until_error(stream::iter(self.0).flat_map(MigratingList::stream)))
    }

    /// Reads the entities of all queries, query by query, as the lists do when they are awaited.
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

    /// Reads the first entity of the first query that has one, one query after the other.
    ///
    /// # Errors
    /// As [`list`](Migrating::list).
    pub async fn first(self) -> Result<Option<E>>
    where
        R: RowOf<E> + 'static,
        E: FromRow<R>,
    {
        for list in self.0 {
            if let Some(first) = list.first().await? {
                return Ok(Some(first));
            }
        }
        Ok(None)
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
        let counts = self.0.into_iter().map(MigratingList::count);
        let counts = Concurrent::in_order(counts, MAX_PARALLEL_GETS).try_all().await?;
        Ok(counts.into_iter().sum())
    }

    /// Returns the entities of all queries in the order of `key`, in which each query must give its own. Equal ones come
    /// in the order of the queries. Holds a page of each query in memory.
    pub fn merge_by<K>(self, key: impl Fn(&E) -> K + Clone + Send + Sync + 'static) -> RowStream<E>
    where
        R: RowOf<E> + 'static,
        E: FromRow<R>,
        K: Ord + Send + 'static,
    {
        merged(self.0.into_iter().map(MigratingList::stream).collect(), key)
    }
}

impl<E: Migrates, R: RowOf<E> + 'static> IntoFuture for MigratingListMany<E, R>
where
    E: FromRow<R>,
{
    type Output = Result<Vec<E>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let lists = self.0.into_iter().map(IntoFuture::into_future);
            let all = Concurrent::in_order(lists, MAX_PARALLEL_GETS).try_all().await?;
            Ok(all.into_iter().flatten().collect())
        })
    }
}
