//! Queries of many rows.

use super::get::asking_for;
use super::pages::{Pages, RowStream};
use crate::entity::{FromRow, Invalid, Row, RowHead, SkipUnreadable};
use crate::error::{Error, Result, RowCount};
use crate::plan::{Plan, Step, TableClient};
use crate::property::PropertyError;
use crate::query::{Condition, RowQuery};
use futures_core::future::BoxFuture;
use std::marker::PhantomData;

/// A query of rows of kind `R`, of class `C`, read as `T`. One of the last methods sends it.
///
/// Rows come in the service's order: PartitionKey, then RowKey, by UTF-16 code unit.
#[must_use = "nothing is sent until `stream`, `pages`, `collect` or another last method"]
#[derive(Debug)]
pub struct List<R, C, T> {
    client: TableClient,
    query: Result<RowQuery, Invalid>,
    limit: Option<usize>,
    skip: Option<SkipUnreadable>,
    read: PhantomData<Reads<R, C, T>>,
}

type Reads<R, C, T> = fn() -> (R, C, T);

impl<R, C, T> Clone for List<R, C, T> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            query: self.query.clone(),
            limit: self.limit,
            skip: self.skip.clone(),
            read: PhantomData,
        }
    }
}

impl<R: Row, C, T> List<R, C, T> {
    pub(super) const fn new(client: TableClient, query: Result<RowQuery, Invalid>) -> Self {
        Self { client, query, limit: None, skip: None, read: PhantomData }
    }

    fn cast<D, U>(self) -> List<R, D, U> {
        let Self { client, query, limit, skip, read: _ } = self;
        List { client, query, limit, skip, read: PhantomData }
    }

    /// Keeps the rows that meet a condition on their properties. The store evaluates it on every
    /// row in the range, so a filter saves transfer, not reading. Two filters must both hold.
    ///
    /// A row that lacks a compared property does not match.
    pub fn filter(mut self, condition: impl FnOnce(R::Columns) -> Condition) -> Self {
        let condition = condition(R::COLUMNS).0.map_err(|(property, fault)| {
            Invalid::Property(PropertyError {
                entity: self.client.context.entity,
                property,
                partition_key: String::new(),
                row_key: String::new(),
                fault,
            })
        });
        self.query = self.query.and_then(|mut query| {
            let condition = condition?;
            query.filter = Some(match query.filter.take() {
                Some(earlier) => earlier.and(condition),
                None => condition,
            });
            Ok(query)
        });
        self
    }

    /// Reads only the fields of `P`, a struct with `#[derive(Projection)]`: those that the row stores
    /// from its properties, others from its keys.
    pub fn project<P: FromRow<R>>(self) -> List<R, C, P> {
        self.cast()
    }

    /// Leaves out rows that cannot be read, and calls `told` with the key and the fault of each.
    /// Without it the first such row is an error, and the end.
    ///
    /// For rows that other programs wrote: a property that is missing, a code that no variant has.
    /// Pages that read well cost nothing more. [`take`](Self::take), [`first`](Self::first) and
    /// [`one`](Self::one) mean rows that can be read; a page of [`pages`](Self::pages) holds fewer
    /// than it was asked for, even none, and is not the last for that. [`count`](Self::count) and
    /// [`exists`](Self::exists) read no properties: they count all rows.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use table_orm::{DynamicEntity, KeyPart, TableEntity, Tables};
    ///
    /// #[derive(Debug, Clone, Copy, PartialEq, KeyPart)]
    /// enum State { #[key("open")] Open, #[key("done")] Done }
    ///
    /// #[derive(Debug, PartialEq, TableEntity)]
    /// #[table(name = "orders", partition = "{shop}", row = "{id:05}")]
    /// struct Order { shop: String, id: u32, state: State }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let orders = tables.repo::<Order>();
    /// # orders.create_table().await?;
    /// // Another program knows one more state.
    /// let rows = tables.table(orders.table().clone());
    /// for (id, state) in [(1, "open"), (2, "lost"), (3, "done")] {
    ///     let row = DynamicEntity::new("A", format!("{id:05}"));
    ///     rows.insert(&row.with("Shop", "A").with("Id", id).with("State", state)).await?;
    /// }
    /// assert!(orders.list(Order::partition("A")).collect().await.is_err());
    ///
    /// let (skipped, unreadable) = mpsc::client();
    /// let readable = orders
    ///     .list(Order::partition("A"))
    ///     .skip_unreadable(move |error| drop(skipped.send(error.clone())))
    ///     .collect()
    ///     .await?;
    /// assert_eq!(readable.iter().map(|order| order.id).collect::<Vec<_>>(), [1, 3]);
    /// let left_out = unreadable.recv().unwrap();
    /// assert_eq!((&*left_out.row_key, &*left_out.property), ("00002", "State"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn skip_unreadable(self, told: impl Fn(&PropertyError) + Send + Sync + 'static) -> Self {
        self.skipping(SkipUnreadable::new(told))
    }

    pub(super) fn skipping(self, skip: SkipUnreadable) -> Self {
        Self { skip: Some(skip), ..self }
    }

    /// Reads at most `rows` rows in all.
    pub fn take(mut self, rows: usize) -> Self {
        self.limit = Some(self.limit.map_or(rows, |limit| limit.min(rows)));
        self
    }

    /// Whether any row is there: reads one, without its properties.
    ///
    /// # Errors
    /// A value that a key or filter cannot hold, or the store's refusal.
    pub async fn exists(self) -> Result<bool>
    where
        R: 'static,
    {
        Ok(self.take(1).count().await? > 0)
    }

    /// The number of rows: reads all of them, without their properties.
    ///
    /// # Errors
    /// A value that a key or filter cannot hold, or the store's refusal.
    pub async fn count(self) -> Result<usize>
    where
        R: 'static,
    {
        let mut pages = self.cast::<C, RowHead>().ask(None);
        let mut rows = 0;
        while let Some(page) = pages.next().await? {
            rows += page.len();
        }
        Ok(rows)
    }
}

// What a row must hold is asked of each method, which gives a future of a named type: so it is one
// error, which says what is missing.
impl<R: Row, C, T> List<R, C, T> {
    /// What it will send.
    ///
    /// # Errors
    /// A value that a key or filter cannot hold.
    pub fn plan(&self) -> Result<Plan>
    where
        T: FromRow<R>,
    {
        let query = asking_for::<T>(self.query.clone()?);
        Ok(Plan { steps: vec![Step::Read { query, limit: self.limit, reason: None }] })
    }

    fn ask(self, size: Option<usize>) -> Pages<T>
    where
        T: FromRow<R>,
    {
        let query = self.query.map(asking_for::<T>);
        Pages::new(self.client, R::INDEX, query, self.limit, size).skipping(self.skip)
    }

    /// The answer in pages of at most `size` rows, 1 to 1000, to be resumed by token. The rows of
    /// [`take`](Self::take) are counted from where it resumes.
    pub fn pages(self, size: usize) -> Pages<T>
    where
        T: FromRow<R>,
    {
        self.ask(Some(size))
    }

    /// The rows one after another, a page of at most 1000 in memory at a time.
    #[must_use]
    pub fn stream(self) -> RowStream<T>
    where
        R: 'static,
        T: FromRow<R> + Send + 'static,
    {
        self.ask(None).into_stream()
    }

    /// All rows.
    ///
    /// # Errors
    /// A value that a key or filter cannot hold, the store's refusal, or a row that cannot be read.
    pub fn collect(self) -> BoxFuture<'static, Result<Vec<T>>>
    where
        R: 'static,
        T: FromRow<R> + Send + 'static,
    {
        Box::pin(self.ask(None).collect())
    }

    /// The first row in key order, if there is one.
    ///
    /// # Errors
    /// As [`collect`](Self::collect).
    pub fn first(self) -> BoxFuture<'static, Result<Option<T>>>
    where
        R: 'static,
        T: FromRow<R> + Send + 'static,
    {
        let rows = self.take(1).collect();
        Box::pin(async { Ok(rows.await?.into_iter().next()) })
    }

    /// The only row.
    ///
    /// # Errors
    /// [`Error::RowCount`] when there is none or more than one; else as
    /// [`collect`](Self::collect).
    pub fn one(self) -> BoxFuture<'static, Result<T>>
    where
        R: 'static,
        T: FromRow<R> + Send + 'static,
    {
        let rows = self.take(2).collect();
        Box::pin(async {
            let mut rows = rows.await?;
            match (rows.pop(), rows.len()) {
                (Some(only), 0) => Ok(only),
                (last, rest) => {
                    let found = rest + usize::from(last.is_some());
                    Err(Error::RowCount(RowCount { entity: T::NAME, found }))
                }
            }
        })
    }
}
