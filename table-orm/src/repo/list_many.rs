//! Several queries of one kind at a time.

use super::Repo;
use super::get::MAX_PARALLEL_GETS;
use super::list::List;
use super::many_pages::ManyPages;
use super::merged_streams::merged;
use super::pages::{RowStream, until_error};
use crate::entity::{FromRow, Query, Row, RowOf, SkipUnreadable, TableEntity};
use crate::error::Result;
use crate::plan::Plan;
use crate::property::PropertyError;
use crate::query::IntoCondition;
use crate::sync::Concurrent;
use futures_core::future::BoxFuture;
use futures_util::{StreamExt as _, stream};

impl<E: TableEntity> Repo<E> {
    /// Reads the rows of several queries of one kind, such as one for each shard. At most 16 queries
    /// are in flight.
    ///
    /// ```
    /// use table_orm::{TableEntity, Tables};
    ///
    /// /// A day's events would all go to one partition; eight share them.
    /// #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// #[table(name = "events", partition = "{share}__{day:05}", row = "{id:010}")]
    /// #[component(share = shard(id, 8))]
    /// struct Event {
    ///     day: u32,
    ///     id: u32,
    ///     text: String,
    /// }
    ///
    /// # async fn run() -> table_orm::Result<()> {
    /// let events = Tables::in_memory()?.repo::<Event>();
    /// events.create_table().await?;
    /// let today = (0..100).map(|id| Event { day: 20_778, id, text: "started".into() });
    /// events.insert_many(today).await.all()?;
    ///
    /// // One event: its shard follows from its id.
    /// let one = events.get(Event::partition(7, 20_778).row().id(7)).await?;
    /// assert_eq!(one.map(|event| event.id), Some(7));
    ///
    /// // All of a day: eight queries.
    /// let day = events.list_many(Event::partitions(20_778)).collect().await?;
    /// assert_eq!(day.len(), 100);
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
    /// ```
    pub fn list_many<Q>(
        &self,
        queries: impl IntoIterator<Item = Q>,
    ) -> ListMany<Q::Row, Q::Class, E>
    where
        Q: Query,
        Q::Row: RowOf<E>,
    {
        ListMany(queries.into_iter().map(|query| self.list(query)).collect())
    }
}

/// Several queries of rows of kind `R`, read as `T`. At most 16 queries are in flight.
///
/// Rows come query by query, in the order of the queries, except with [`merge_by`](Self::merge_by).
///
/// ```
/// # use table_orm::{TableEntity, Tables};
/// # #[derive(Debug, Clone, PartialEq, TableEntity)]
/// # #[table(name = "tracks", partition = "{album}", row = "{number:02}")]
/// # struct Track { album: String, number: u8, title: String }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let tracks = Tables::in_memory()?.repo::<Track>();
/// # tracks.create_table().await?;
/// # for (album, number) in [("Blue", 1), ("Blue", 2), ("Hejira", 1)] {
/// #     tracks.insert(&Track { album: album.into(), number, title: "-".into() }).await?;
/// # }
/// let both = || tracks.list_many(["Hejira", "Blue"].map(Track::partition));
/// assert_eq!(both().count().await?, 3);
/// let opening = both().take_each(1).collect().await?;
/// let albums: Vec<_> = opening.iter().map(|track| track.album.as_str()).collect();
/// assert_eq!(albums, ["Hejira", "Blue"]);
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is sent until `collect`, `pages`, `stream`, `merge_by` or `count`"]
#[derive(Debug)]
pub struct ListMany<R, C, T>(Vec<List<R, C, T>>);

impl<R: Row, C, T> ListMany<R, C, T> {
    /// These queries, which may be of several tables.
    pub(crate) const fn of(lists: Vec<List<R, C, T>>) -> Self {
        Self(lists)
    }

    /// Keeps the rows that meet a condition, as [`List::filter`] does.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "invoices", partition = "{customer}", row = "{number:05}")]
    /// # struct Invoice { customer: String, number: u32, cents: u32, paid: bool }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let invoices = Tables::in_memory()?.repo::<Invoice>();
    /// # invoices.create_table().await?;
    /// # for customer in ["acme", "init"] {
    /// #     invoices.insert(&Invoice { customer: customer.into(), number: 1, cents: 900, paid: customer == "acme" }).await?;
    /// # }
    /// let both = invoices.list_many(["acme", "init"].map(Invoice::partition));
    /// let due = both.filter(|row| row.paid.eq(false)).collect().await?;
    /// assert_eq!(due[0].customer, "init");
    /// # Ok(())
    /// # }
    /// ```
    pub fn filter<I: IntoCondition>(self, condition: impl Fn(R::Columns) -> I) -> Self {
        Self(self.0.into_iter().map(|list| list.filter(&condition)).collect())
    }

    /// Reads only the fields of `P`, as [`List::project`] does.
    pub fn project<P: FromRow<R>>(self) -> ListMany<R, C, P> {
        ListMany(self.0.into_iter().map(List::project).collect())
    }

    /// Leaves out rows that cannot be read, as [`List::skip_unreadable`] does.
    pub fn skip_unreadable(self, on_skip: impl Fn(&PropertyError) + Send + Sync + 'static) -> Self {
        let skip = SkipUnreadable::new(on_skip);
        Self(self.0.into_iter().map(|list| list.skipping(skip.clone())).collect())
    }

    /// Reads at most `rows` rows of each query.
    pub fn take_each(self, rows: usize) -> Self {
        Self(self.0.into_iter().map(|list| list.take(rows)).collect())
    }

    /// Returns the first request of each query, without sending it.
    ///
    /// # Errors
    /// When a key or filter cannot hold one of the values.
    pub fn plan(&self) -> Result<Plan>
    where
        T: FromRow<R>,
    {
        self.0.iter().map(List::plan).collect()
    }

    /// Reads all rows.
    ///
    /// # Errors
    /// When a key or filter cannot hold one of the values, the store rejects a request, or a row cannot be
    /// read.
    pub fn collect(self) -> BoxFuture<'static, Result<Vec<T>>>
    where
        R: 'static,
        C: 'static,
        T: FromRow<R> + Send + 'static,
    {
        Box::pin(async move {
            let lists = self.0.into_iter().map(List::collect);
            let rows = Concurrent::in_order(lists, MAX_PARALLEL_GETS).try_all().await?;
            Ok(rows.into_iter().flatten().collect())
        })
    }

    /// Returns the rows one after another, query by query. Holds two pages of at most 1000 rows in memory.
    #[must_use]
    pub fn stream(self) -> RowStream<T>
    where
        R: 'static,
        C: 'static,
        T: FromRow<R> + Send + 'static,
    {
        RowStream::new(until_error(stream::iter(self.0).flat_map(List::stream)))
    }

    /// Reads the first row of the first query that has one: one row of each query, one query after the other.
    ///
    /// # Errors
    /// As [`collect`](Self::collect).
    pub fn first(self) -> BoxFuture<'static, Result<Option<T>>>
    where
        R: 'static,
        C: 'static,
        T: FromRow<R> + Send + 'static,
    {
        let mut rows = self.take_each(1).stream();
        Box::pin(async move { rows.next().await })
    }

    /// Returns the rows query by query, in pages of `size` rows, 1 to 1000. One
    /// [token](crate::query::PageToken) names the place in all of the queries.
    ///
    /// The text of a token has about 40 characters, and those of the two keys at which the page starts, in
    /// base64. Two keys of 512 ASCII characters, the longest, make it 1,900 characters long on Azure. The number
    /// of queries adds at most three. The starts of earlier pages, for [`previous`](super::RowPage::previous), add at
    /// most 1,366.
    pub fn pages(self, size: usize) -> ManyPages<T>
    where
        T: FromRow<R>,
    {
        ManyPages::new(self.0.into_iter().map(|list| list.pages(size)).collect(), size)
    }

    /// Returns the rows of all queries in the order of `key`, such as the latest of all shards. Each
    /// query must return its rows in that order. Equal rows come in the order of the queries.
    ///
    /// Holds two pages of at most 1000 rows of each query in memory; [`take_each`](Self::take_each)
    /// makes the pages smaller.
    ///
    /// ```
    /// use std::cmp::Reverse;
    /// use table_orm::{TableEntity, Tables};
    /// use time::{Duration, OffsetDateTime};
    ///
    /// #[derive(Debug, TableEntity)]
    /// #[table(name = "readings", partition = "{share}", row = "{newest}__{sensor}")]
    /// #[component(share = shard(sensor, 8), newest = desc(at))]
    /// struct Reading { sensor: u32, at: OffsetDateTime }
    ///
    /// # async fn run() -> table_orm::Result<()> {
    /// # let readings = Tables::in_memory()?.repo::<Reading>();
    /// # readings.create_table().await?;
    /// # let at = |n: u32| OffsetDateTime::UNIX_EPOCH + Duration::minutes(n.into());
    /// # readings.insert_many((0..100).map(|n| Reading { sensor: n, at: at(n) })).await.all()?;
    /// // The three latest of all shards: three rows of each are read.
    /// let shards = readings.list_many(Reading::partitions()).take_each(3);
    /// let mut latest = shards.merge_by(|reading| Reverse(reading.at));
    /// for sensor in [99, 98, 97] {
    ///     assert_eq!(latest.next().await?.map(|reading| reading.sensor), Some(sensor));
    /// }
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
    /// ```
    pub fn merge_by<K>(self, key: impl Fn(&T) -> K + Clone + Send + Sync + 'static) -> RowStream<T>
    where
        R: 'static,
        C: 'static,
        T: FromRow<R> + Send + 'static,
        K: Ord + Send + 'static,
    {
        merged(self.0.into_iter().map(List::stream).collect(), key)
    }

    /// Returns the number of rows. Reads all of them without their properties.
    ///
    /// # Errors
    /// When a key or filter cannot hold one of the values, or the store rejects a request.
    pub async fn count(self) -> Result<usize>
    where
        R: 'static,
        C: 'static,
        T: 'static,
    {
        let counts = Concurrent::unordered(self.0.into_iter().map(List::count), MAX_PARALLEL_GETS);
        Ok(counts.try_all().await?.into_iter().sum())
    }
}
