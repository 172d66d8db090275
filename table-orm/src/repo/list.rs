//! Queries of many rows of one kind.

use super::Repo;
use super::get::reading;
use super::listing::{Listing, last_methods};
use super::pages::{PageReader, Pages};
use crate::entity::{
    FromRow, InvalidEntity, OwnRows, Query, Row, RowHead, RowOf, SkipUnreadable, TableEntity,
    keys_of, read_rows,
};
use crate::error::Result;
use crate::key::KeyError;
use crate::plan::TableClient;
use crate::property::PropertyError;
use crate::query::{IntoCondition, KeyRange, RowQuery};
use std::marker::PhantomData;

impl<E: TableEntity> Repo<E> {
    /// Reads the rows of a query in one partition: one request for each 1000 rows, in key order.
    ///
    /// Choose what to read with a last method of [`List`], such as [`collect`](List::collect),
    /// [`stream`](List::stream), [`first`](List::first) or [`count`](List::count).
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
    /// # for (bib, age) in [(7, 55), (8, 30), (9, 51)] {
    /// #     runners.insert(&Runner { race: "Boston".into(), bib, age, city: None }).await?;
    /// # }
    /// let boston = Runner::partition("Boston");
    /// assert_eq!(runners.list(&boston).count().await?, 3);
    /// let fifties = runners.list(boston.by_age().age_in(50..60)).collect().await?;
    /// let bibs: Vec<_> = fifties.iter().map(|runner| runner.bib).collect();
    /// assert_eq!(bibs, [9, 7]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// As [`get`](Self::get), it does not compare properties with keys.
    pub fn list<Q>(&self, query: Q) -> List<Q::Row, Q::Class, E>
    where
        Q: Query,
        Q::Row: RowOf<E>,
    {
        self.list_keys(keys_of(query))
    }

    /// Reads the rows of kind `R` with these keys.
    pub(crate) fn list_keys<R: Row, C>(&self, keys: Result<KeyRange, KeyError>) -> List<R, C, E> {
        let query = keys.map(|keys| self.client.query_of::<R>(keys));
        let listing = Listing::new(self.client.clone(), query.map_err(InvalidEntity::from));
        List { listing, read: PhantomData }
    }
}

/// A query of rows of kind `R`, of class `C`, read as `T`. One of the last methods sends it.
///
/// Rows come in the service's order: PartitionKey, then RowKey, by UTF-16 code unit.
///
/// ```
/// # use table_orm::{TableEntity, Tables};
/// # #[derive(Debug, Clone, PartialEq, TableEntity)]
/// # #[table(name = "readings", partition = "{sensor}", row = "{minute:06}")]
/// # struct Reading { sensor: String, minute: u32, celsius: f64 }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let readings = Tables::in_memory()?.repo::<Reading>();
/// # readings.create_table().await?;
/// # for minute in 0..5 {
/// #     readings.insert(&Reading { sensor: "roof".into(), minute, celsius: 20.0 }).await?;
/// # }
/// let roof = readings.list(Reading::partition("roof"));
/// assert!(roof.clone().exists().await?);
/// assert_eq!(roof.clone().first().await?.map(|reading| reading.minute), Some(0));
/// let mut rows = roof.filter(|row| row.celsius.gt(15.0)).take(3).stream();
/// let mut minutes = Vec::new();
/// while let Some(reading) = rows.next().await? {
///     minutes.push(reading.minute);
/// }
/// assert_eq!(minutes, [0, 1, 2]);
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is sent until `stream`, `pages`, `collect` or another last method"]
#[derive(Debug)]
pub struct List<R, C, T> {
    pub(super) listing: Listing,
    read: PhantomData<Reads<R, C, T>>,
}

type Reads<R, C, T> = fn() -> (R, C, T);

impl<R, C, T> Clone for List<R, C, T> {
    fn clone(&self) -> Self {
        Self { listing: self.listing.clone(), read: PhantomData }
    }
}

impl<R: Row, C, T> List<R, C, T> {
    fn with(self, change: impl FnOnce(Listing) -> Listing) -> Self {
        Self { listing: change(self.listing), read: PhantomData }
    }

    fn cast<U>(self) -> List<R, C, U> {
        List { listing: self.listing, read: PhantomData }
    }

    /// Keeps the rows that meet a condition on their properties. A second filter must hold as well.
    ///
    /// The store evaluates the condition on every row in the range, so a filter saves transfer, but not
    /// reading. A row that lacks a property matches no comparison with it, and every negated one.
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
    /// # for (number, paid) in [(1, true), (2, false), (3, false)] {
    /// #     invoices.insert(&Invoice { customer: "acme".into(), number, cents: 900, paid }).await?;
    /// # }
    /// let acme = invoices.list(Invoice::partition("acme"));
    /// let due = acme.filter(|row| row.paid.eq(false)).filter(|row| row.number.gt(2));
    /// assert_eq!(due.one().await?.number, 3);
    /// # Ok(())
    /// # }
    /// ```
    pub fn filter<I: IntoCondition>(self, condition: impl FnOnce(R::Columns) -> I) -> Self {
        let entity = self.listing.client.context.entity;
        let condition =
            condition(R::COLUMNS).into_condition().of(entity).map_err(InvalidEntity::from);
        self.with(|listing| listing.filter(condition))
    }

    /// Reads only the fields of `P`, a struct with `#[derive(Projection)]`. Fields that the row stores
    /// come from its properties, the others from its keys.
    ///
    /// ```
    /// # use table_orm::{Projection, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "invoices", partition = "{customer}", row = "{number:05}")]
    /// # struct Invoice { customer: String, number: u32, cents: u32, paid: bool }
    /// # #[derive(Debug, PartialEq, Projection)]
    /// # #[projection(of = Invoice)]
    /// # struct Amount { number: u32, cents: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let invoices = Tables::in_memory()?.repo::<Invoice>();
    /// # invoices.create_table().await?;
    /// # invoices.insert(&Invoice { customer: "acme".into(), number: 1, cents: 900, paid: true }).await?;
    /// // `Amount` is a projection of the fields `number` and `cents`.
    /// let amounts = invoices.list(Invoice::partition("acme")).project::<Amount>();
    /// assert_eq!(amounts.collect().await?, [Amount { number: 1, cents: 900 }]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn project<P: FromRow<R>>(self) -> List<R, C, P> {
        self.cast()
    }

    /// Leaves out rows that cannot be read, and calls `on_skip` with the key and the fault of each.
    /// By default the first such row fails the call.
    ///
    /// Use it for rows that other programs wrote: a property is missing, or an enum has no variant of
    /// the stored code. It sends no further requests for pages without such rows.
    /// [`take`](Self::take), [`first`](Self::first) and [`one`](Self::one) count readable rows only. A
    /// page of [`pages`](Self::pages) may hold fewer rows than its size, or no row, and not be the
    /// last. [`count`](Self::count) and [`exists`](Self::exists) read no properties, so they count
    /// unreadable rows too.
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
    /// // Another program writes a state that `State` does not have.
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
        self.with(|listing| listing.skip_unreadable(on_skip))
    }

    pub(super) fn skipping(self, skip: SkipUnreadable) -> Self {
        self.with(|listing| listing.skipping(skip))
    }

    /// Reads at most `rows` rows in all, and asks the store for no more.
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
    /// # for number in 1..=9 {
    /// #     tracks.insert(&Track { album: "Blue".into(), number, title: "-".into() }).await?;
    /// # }
    /// let two = tracks.list(Track::partition("Blue")).take(2);
    /// assert!(two.plan()?.to_string().contains("$top          2"));
    /// assert_eq!(two.collect().await?.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn take(self, rows: usize) -> Self {
        self.with(|listing| listing.take(rows))
    }

    /// Reads from the primary location, whatever the connection's [`ReadFrom`](crate::layer::ReadFrom).
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
    /// // Sees what was written before, even where the connection reads from another region.
    /// assert!(!tracks.list(Track::partition("Blue")).from_primary().exists().await?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_primary(self) -> Self {
        self.with(|listing| Listing { from_primary: true, ..listing })
    }

    /// Returns whether the query matches a row: reads one row, without its properties.
    ///
    /// # Errors
    /// When a key or filter cannot hold one of the values, or the store rejects the request.
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
    /// # tracks.insert(&Track { album: "Blue".into(), number: 1, title: "-".into() }).await?;
    /// assert!(tracks.list(Track::partition("Blue")).exists().await?);
    /// assert!(!tracks.list(Track::partition("Green")).exists().await?);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn exists(self) -> Result<bool>
    where
        R: 'static,
    {
        Ok(self.take(1).count().await? > 0)
    }

    /// Returns the number of rows. Reads all of them without their properties, 1000 a request.
    ///
    /// # Errors
    /// When a key or filter cannot hold one of the values, or the store rejects a request.
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
    /// # for number in 1..=9 {
    /// #     tracks.insert(&Track { album: "Blue".into(), number, title: "-".into() }).await?;
    /// # }
    /// let blue = Track::partition("Blue");
    /// assert_eq!(tracks.list(&blue).count().await?, 9);
    /// assert_eq!(tracks.list(blue.row().number_in(..5)).count().await?, 4);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn count(self) -> Result<usize>
    where
        R: 'static,
    {
        self.cast::<RowHead>().ask(None).count().await
    }
}

/// What a query reads, for those who read it in another way.
pub(crate) struct ListParts {
    pub client: TableClient,
    pub query: Result<RowQuery, InvalidEntity>,
    pub limit: Option<usize>,
    pub skip: Option<SkipUnreadable>,
}

impl<R: Row, C, T> List<R, C, T> {
    pub(crate) fn into_parts(self) -> ListParts {
        let Listing { client, query, limit, skip, .. } = self.listing.may_be_old();
        ListParts { client, query, limit, skip }
    }

    /// The same rows, each with its keys, from the primary location.
    pub(crate) fn with_heads(mut self) -> Pages<(RowHead, T)>
    where
        T: FromRow<R>,
    {
        let own = const { OwnRows::of::<R>() };
        self.listing.query = self.listing.query.map(|query| reading::<T>(query, &own));
        let reader = PageReader::of(own, |own, page, skip, most| {
            let (rows, whole) = read_rows::<T>(own, page, skip, most)?;
            let (heads, _) = read_rows::<RowHead>(own, page, None, most)?;
            Ok((heads.into_iter().zip(rows).collect(), whole))
        });
        self.listing.pages(reader, None)
    }

    fn ask(mut self, size: Option<usize>) -> Pages<T>
    where
        T: FromRow<R>,
    {
        let own = const { OwnRows::of::<R>() };
        self.listing.query = self.listing.query.map(|query| reading::<T>(query, &own));
        self.listing.may_be_old().pages(PageReader::each(own), size)
    }

    last_methods! {
        T, T::NAME, "rows" where
        [T: FromRow<R>,]
        [R: 'static, T: FromRow<R> + Send + 'static,]
    }
}
