//! Queries of many rows of one kind.

use super::Repo;
use super::get::reading;
use super::listing::{Listing, last_methods};
use super::pages::{PageReader, Pages};
use crate::entity::{
    FromRow, Invalid, Query, Row, RowHead, RowOf, SkipUnreadable, TableEntity, keys_of,
};
use crate::error::Result;
use crate::property::PropertyError;
use crate::query::Condition;
use std::marker::PhantomData;

impl<E: TableEntity> Repo<E> {
    /// The rows of a query in one partition. At most 1000 rows a request.
    ///
    /// As in [`get`](Self::get), properties are not compared with keys.
    pub fn list<Q>(&self, query: Q) -> List<Q::Row, Q::Class, E>
    where
        Q: Query,
        Q::Row: RowOf<E>,
    {
        let query = keys_of(query).map(|keys| self.client.query(keys)).map_err(Invalid::from);
        List { listing: Listing::new(self.client.clone(), query), read: PhantomData }
    }
}

/// A query of rows of kind `R`, of class `C`, read as `T`. One of the last methods sends it.
///
/// Rows come in the service's order: PartitionKey, then RowKey, by UTF-16 code unit.
#[must_use = "nothing is sent until `stream`, `pages`, `collect` or another last method"]
#[derive(Debug)]
pub struct List<R, C, T> {
    listing: Listing,
    read: PhantomData<Reads<R, C, T>>,
}

type Reads<R, C, T> = fn() -> (R, C, T);

impl<R, C, T> Clone for List<R, C, T> {
    fn clone(&self) -> Self {
        Self { listing: self.listing.clone(), read: PhantomData }
    }
}

impl<R: Row, C, T> List<R, C, T> {
    fn map(self, change: impl FnOnce(Listing) -> Listing) -> Self {
        Self { listing: change(self.listing), read: PhantomData }
    }

    fn cast<U>(self) -> List<R, C, U> {
        List { listing: self.listing, read: PhantomData }
    }

    /// Keeps the rows that meet a condition on their properties. The store evaluates it on every
    /// row in the range, so a filter saves transfer, not reading. Two filters must both hold.
    ///
    /// A row that lacks a compared property does not match.
    pub fn filter(self, condition: impl FnOnce(R::Columns) -> Condition) -> Self {
        let entity = self.listing.client.context.entity;
        let condition = condition(R::COLUMNS).0.map_err(|(property, fault)| {
            Invalid::Property(PropertyError {
                entity,
                property,
                partition_key: String::new(),
                row_key: String::new(),
                fault,
            })
        });
        self.map(|listing| listing.filter(condition))
    }

    /// Reads only the fields of `P`, a struct with `#[derive(Projection)]`: fields that the row
    /// stores from its properties, others from its keys.
    pub fn project<P: FromRow<R>>(self) -> List<R, C, P> {
        self.cast()
    }

    /// Leaves out rows that cannot be read, and calls `on_skip` with the key and the fault of each.
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
    /// let (skipped, unreadable) = mpsc::channel();
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
    pub fn skip_unreadable(self, on_skip: impl Fn(&PropertyError) + Send + Sync + 'static) -> Self {
        self.map(|listing| listing.skip_unreadable(on_skip))
    }

    pub(super) fn skipping(self, skip: SkipUnreadable) -> Self {
        self.map(|listing| listing.skipping(skip))
    }

    /// Reads at most `rows` rows in all.
    pub fn take(self, rows: usize) -> Self {
        self.map(|listing| listing.take(rows))
    }

    /// Returns whether there is any row: reads one, without its properties.
    ///
    /// # Errors
    /// When a key or filter cannot hold one of the values, or the store refuses the request.
    pub async fn exists(self) -> Result<bool>
    where
        R: 'static,
    {
        Ok(self.take(1).count().await? > 0)
    }

    /// Returns the number of rows: reads all of them, without their properties.
    ///
    /// # Errors
    /// When a key or filter cannot hold one of the values, or the store refuses a request.
    pub async fn count(self) -> Result<usize>
    where
        R: 'static,
    {
        self.cast::<RowHead>().ask(None).count().await
    }
}

impl<R: Row, C, T> List<R, C, T> {
    fn ask(mut self, size: Option<usize>) -> Pages<T>
    where
        T: FromRow<R>,
    {
        self.listing.query = self.listing.query.map(reading::<T>);
        self.listing.pages(PageReader::each(R::INDEX), size)
    }

    last_methods! {
        T, T::NAME, "rows" where
        [T: FromRow<R>,]
        [R: 'static, T: FromRow<R> + Send + 'static,]
    }
}
