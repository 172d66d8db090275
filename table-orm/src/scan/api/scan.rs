//! A scan and its options.

use crate::entity::{
    BorrowedFrom, DynamicEntity, FromRow, InvalidEntity, OwnRows, ReadRow, Row, RowHead,
    SkipUnreadable,
};
use crate::error::Result;
use crate::model::{Metadata, SYSTEM_PROPERTIES, TableName};
use crate::plan::TableClient;
use crate::property::PropertyError;
use crate::query::{
    Condition, Filter, IntoCondition, IntoSpan, KeyRange, RowQuery, ScanPermit, Span,
};
use crate::scan::checkpoint::Checkpoint;
use crate::scan::engine::{Alive, RowReader, Splitter};
use crate::store::Store;
use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::Arc;

/// The most requests that a scan has in flight by default.
pub const DEFAULT_CONCURRENCY: usize = 16;
/// The highest [concurrency](Scan::concurrency). Twenty full pages a second reach an account's
/// documented target of 20,000 rows a second (service documentation, "Scalability and performance
/// targets").
pub const MAX_CONCURRENCY: usize = 1000;

/// The bytes of pages that an [ordered](Scan::ordered) scan keeps in memory by default: 64 MiB. That is
/// about 200 full pages of rows of ten properties.
pub const DEFAULT_BUFFER: usize = 64 * 1024 * 1024;

/// Names of properties.
pub(super) type Names = Vec<Cow<'static, str>>;

/// Rows of any shape.
#[derive(Debug, Clone, Copy)]
pub enum Untyped {}

/// A scan of a table: of rows of kind `R`, read as `T`. One of these methods runs it, on the tokio
/// runtime that awaits it: [`stream`], [`page_stream`], [`on_page`], [`collect`],
/// [`first`], [`one`], [`exists`], [`count`], [`partition_keys`] or [`pages`].
///
/// A scan delivers each row that stays in the table while it runs exactly once. It is no snapshot: it
/// may or may not see rows that are written while it runs. Rows come in no order without [`ordered`].
///
/// A slow consumer stops the workers: at most two pages for each worker wait in memory, or with
/// [`ordered`] as many as fit into the [`buffer`](Self::buffer).
///
/// ```
/// # use table_orm::{DynamicEntity, TableName, Tables};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let tables = Tables::in_memory()?;
/// # let results = TableName::new("results")?;
/// # tables.create(&results).await?;
/// # for (race, bib) in [("Boston", "00001"), ("Boston", "00002"), ("Chicago", "00001")] {
/// #     tables.table(results.clone()).insert(&DynamicEntity::new(race, bib)).await?;
/// # }
/// use table_orm::ScanPermit;
/// use table_orm::scan::Splitter;
///
/// let mut rows = tables
///     .scan(results, ScanPermit::because("nightly export"))
///     .partition_range("B".to_owned().."D".to_owned())
///     .split(Splitter::Keys(vec!["C".to_owned()]))
///     .concurrency(4)
///     .ordered(true)
///     .stream();
/// let mut keys = Vec::new();
/// while let Some(row) = rows.next().await? {
///     keys.push(row.partition_key + "/" + &row.row_key);
/// }
/// assert_eq!(keys, ["Boston/00001", "Boston/00002", "Chicago/00001"]);
/// assert_eq!(rows.report().requests, 2);
/// # Ok(())
/// # }
/// ```
///
/// [`ordered`]: Self::ordered
/// [`stream`]: Self::stream
/// [`page_stream`]: Self::page_stream
/// [`on_page`]: Self::on_page
/// [`collect`]: Self::collect
/// [`first`]: Self::first
/// [`one`]: Self::one
/// [`exists`]: Self::exists
/// [`count`]: Self::count
/// [`partition_keys`]: Self::partition_keys
/// [`pages`]: Self::pages
#[must_use = "nothing is sent until `stream`, `on_page`, `collect` or another method runs it"]
#[derive(Debug)]
pub struct Scan<T, R = Untyped> {
    pub(in crate::scan) store: Arc<dyn Store>,
    pub(in crate::scan) table: TableName,
    pub(in crate::scan) entity: &'static str,
    /// Which rows it reads.
    pub(in crate::scan) own: OwnRows,
    /// Its partition span is the range of the options, without the prefix.
    pub(in crate::scan) query: Result<RowQuery, InvalidEntity>,
    pub(in crate::scan) prefix: String,
    pub(in crate::scan) page_size: Option<usize>,
    pub(in crate::scan) splitter: Splitter,
    pub(in crate::scan) rounds: (u32, u32),
    pub(in crate::scan) workers: usize,
    pub(in crate::scan) handlers: usize,
    pub(in crate::scan) ordered: bool,
    pub(in crate::scan) buffer: usize,
    pub(in crate::scan) limit: Option<usize>,
    /// The row after which it begins.
    pub(in crate::scan) after: Option<RowHead>,
    pub(in crate::scan) skip: Option<SkipUnreadable>,
    /// What says which rows have expired.
    pub(in crate::scan) alive: Alive,
    pub(in crate::scan) checkpoint: Option<Checkpoint>,
    /// The seed of random waits; `None` takes one from the system.
    pub(in crate::scan) seed: Option<u64>,
    pub(in crate::scan) reason: String,
    pub(in crate::scan) reader: RowReader<T>,
    pub(in crate::scan) kind: PhantomData<fn() -> R>,
}

impl<T, R> Clone for Scan<T, R> {
    fn clone(&self) -> Self {
        Self {
            store: Arc::clone(&self.store),
            table: self.table.clone(),
            query: self.query.clone(),
            prefix: self.prefix.clone(),
            splitter: self.splitter.clone(),
            after: self.after.clone(),
            skip: self.skip.clone(),
            alive: self.alive.clone(),
            checkpoint: self.checkpoint.clone(),
            reason: self.reason.clone(),
            reader: self.reader.clone(),
            ..*self
        }
    }
}

impl<T: ReadRow, R> Scan<T, R> {
    /// Reads from a copy in another region too, where the connection has one.
    pub(super) fn may_be_old(mut self) -> Self {
        if let Ok(query) = &mut self.query {
            query.mark.may_be_old = true;
        }
        self
    }

    /// Leaves out what has expired, as reads of the client do.
    pub(super) fn alive(self, client: &TableClient) -> Self {
        Self { alive: Alive::of(client), ..self }
    }

    pub(super) fn with(
        store: Arc<dyn Store>,
        table: TableName,
        (entity, own): (&'static str, OwnRows),
        rows: Span,
        permit: &ScanPermit,
    ) -> Self {
        Self {
            store,
            table: table.clone(),
            entity,
            own,
            query: Ok(RowQuery {
                metadata: T::METADATA,
                self_paced: true,
                ..RowQuery::new(table, KeyRange { partition: Span::All, row: rows })
            }),
            prefix: String::new(),
            page_size: None,
            splitter: Splitter::default(),
            rounds: (1, 1),
            workers: DEFAULT_CONCURRENCY,
            handlers: 1,
            ordered: false,
            buffer: DEFAULT_BUFFER,
            limit: None,
            after: None,
            skip: None,
            alive: Alive::default(),
            checkpoint: None,
            seed: None,
            reason: permit.reason().to_owned(),
            reader: RowReader::typed(),
            kind: PhantomData,
        }
    }
}

impl<T, R> Scan<T, R> {
    /// Reads only the partitions whose stored keys start with `prefix`. The method that runs the scan
    /// fails if no key can start with it.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Reads only the partitions in a range of stored PartitionKeys. The method that runs the scan
    /// fails if the range is empty, as when its ends are swapped.
    pub fn partition_range(mut self, partitions: impl IntoSpan) -> Self {
        let span = partitions.into_span();
        self.query = self.query.map(|mut query| {
            query.keys.partition = span;
            query
        });
        self
    }

    /// Chooses how the table is divided among the workers. Default: [`Splitter::Adaptive`].
    pub fn split(mut self, splitter: Splitter) -> Self {
        self.splitter = splitter;
        self
    }

    /// Limits the requests in flight, 1 to [`MAX_CONCURRENCY`]. Default: [`DEFAULT_CONCURRENCY`].
    pub const fn concurrency(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// Limits the pages that [`on_page`](Self::on_page) handles at a time. Default: 1. A limit of 0
    /// counts as 1.
    pub const fn handlers(mut self, pages: usize) -> Self {
        self.handlers = if pages == 0 { 1 } else { pages };
        self
    }

    /// Chooses whether rows come in key order: PartitionKey, then RowKey, by UTF-16 code unit. In order,
    /// pages wait in memory for earlier ones, as many as fit into the [`buffer`](Self::buffer).
    pub const fn ordered(mut self, ordered: bool) -> Self {
        self.ordered = ordered;
        self
    }

    /// Limits the memory of an [`ordered`](Self::ordered) scan, in bytes: of the pages that wait for
    /// earlier ones or for the consumer, and of those in flight. Default: [`DEFAULT_BUFFER`]. A page
    /// counts with its JSON, with the structs read from it and, of a [`DynamicEntity`], with the map of its
    /// properties. A page in flight counts like the largest
    /// of late, so a scan whose pages grow may exceed the limit by what those in flight grow. The page
    /// that the consumer waits for is read in any case.
    ///
    /// The scan is fastest with eight pages or more for each worker, and slower with fewer. What the
    /// consumer has taken does not count.
    ///
    /// ```
    /// # use table_orm::{DynamicEntity, ScanPermit, TableName, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let results = TableName::new("results")?;
    /// # tables.create(&results).await?;
    /// # let rows = (0..2500).map(|at| DynamicEntity::new(format!("race {}", at / 250), format!("{at:05}")));
    /// # tables.table(results.clone()).insert_or_replace_many(rows).await.all()?;
    /// let scan = tables.scan(results, ScanPermit::because("sorted export"));
    /// let mut rows = scan.ordered(true).buffer(4 * 1024 * 1024).stream();
    /// let mut last = None;
    /// while let Some(row) = rows.next().await? {
    ///     let key = Some((row.partition_key, row.row_key));
    ///     assert!(last < key);
    ///     last = key;
    /// }
    /// assert!(rows.report().held_bytes <= 4 * 1024 * 1024);
    /// # Ok(())
    /// # }
    /// ```
    pub const fn buffer(mut self, bytes: usize) -> Self {
        self.buffer = bytes;
        self
    }

    /// Reads at most `rows` rows in all, or keys with [`partition_keys`](Self::partition_keys). With
    /// [`ordered`](Self::ordered) these are the first in key order, read one page after the other;
    /// otherwise they are any rows. The scan sends no request once it has them.
    ///
    /// Without a filter, it uses no more workers than these rows fill pages.
    pub fn take(mut self, rows: usize) -> Self {
        self.limit = Some(self.limit.map_or(rows, |limit| limit.min(rows)));
        self
    }

    /// Leaves out unreadable rows, and calls `on_skip` with the key and the fault of each. Without it,
    /// the scan fails at the first unreadable row.
    ///
    /// As with [`List::skip_unreadable`](crate::repo::List::skip_unreadable), pages without unreadable
    /// rows cost nothing extra. [`take`](Self::take), [`first`](Self::first) and [`one`](Self::one)
    /// count readable rows only; [`count`](Self::count), [`exists`](Self::exists) and
    /// [`partition_keys`](Self::partition_keys) read no properties and count all rows. The workers call
    /// `on_skip`, several at a time, in no order and ahead of the consumer.
    ///
    /// A page of unreadable rows only is handed out without rows, so that a
    /// [checkpoint](Self::checkpoint) or a scan by many machines can note it as done. A page that is
    /// delivered again reports its unreadable rows again.
    ///
    /// ```
    /// # use table_orm::{DynamicEntity, ScanPermit, TableEntity, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// #[derive(Debug, PartialEq, TableEntity)]
    /// #[table(name = "results", partition = "{race}", row = "{bib:05}")]
    /// struct Finisher { race: String, bib: u32, minutes: u32 }
    ///
    /// let results = tables.repo::<Finisher>();
    /// # results.create_table().await?;
    /// results.insert(&Finisher { race: "Boston".into(), bib: 7, minutes: 171 }).await?;
    /// // Another program gave up on a runner.
    /// let row = DynamicEntity::new("Boston", "00009").with("Race", "Boston").with("Bib", 9);
    /// tables.table(results.table().clone()).insert(&row.with("Minutes", "DNF")).await?;
    ///
    /// let scan = results.scan(ScanPermit::because("export"));
    /// assert!(scan.clone().collect().await.is_err());
    /// let readable = scan.skip_unreadable(|error| eprintln!("left out: {error}")).collect().await?;
    /// assert_eq!(readable.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn skip_unreadable(self, on_skip: impl Fn(&PropertyError) + Send + Sync + 'static) -> Self {
        Self { skip: Some(SkipUnreadable::new(on_skip)), ..self }
    }

    /// Asks for pages of at most `rows` rows, 1 to 1000. Default: 1000.
    pub const fn page_size(mut self, rows: usize) -> Self {
        self.page_size = Some(rows);
        self
    }

    /// Sets how many pages a query of [`Splitter::Prefix`] reads before it goes deeper, in its first
    /// round and in each later one. Default: one and one.
    pub const fn pages_per_prefix(mut self, first: u32, later: u32) -> Self {
        self.rounds = (first, later);
        self
    }

    /// Keeps the progress in a file, or in a row of a table, and resumes where an earlier scan with it
    /// ended. The method that runs the scan fails if the checkpoint belongs to another table, range,
    /// filter or selection.
    pub fn checkpoint(mut self, checkpoint: impl Into<Checkpoint>) -> Self {
        self.checkpoint = Some(checkpoint.into());
        self
    }

    /// The scan of all rows, whatever an earlier one has read.
    pub(crate) fn without_checkpoint(self) -> Self {
        Self { checkpoint: None, ..self }
    }

    /// A scan whose errors name that type.
    pub(crate) fn for_type(self, entity: &'static str) -> Self {
        Self { entity, ..self }
    }

    /// Begins after the position of a row in key order: reads the rows whose PartitionKey is greater,
    /// and those of its partition whose RowKey is greater, within the prefix, the range and the filter
    /// of the scan. The row need not be there.
    ///
    /// A page that follows rows in key order begins after the last of them, however many came before.
    /// A scan that resumes from a [checkpoint](Self::checkpoint) goes on where the checkpoint says.
    /// [`pages`](Self::pages) and [`distributed`](Self::distributed) scans keep their own positions, and
    /// fail with this one.
    ///
    /// ```
    /// # use table_orm::{DynamicEntity, TableName, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let results = TableName::new("results")?;
    /// # tables.create(&results).await?;
    /// # for (race, bib) in [("Boston", "00001"), ("Boston", "00002"), ("Chicago", "00001")] {
    /// #     tables.table(results.clone()).insert(&DynamicEntity::new(race, bib)).await?;
    /// # }
    /// use table_orm::ScanPermit;
    /// use table_orm::entity::RowHead;
    ///
    /// let last = RowHead { partition_key: "Boston".into(), row_key: "00001".into() };
    /// let scan = tables.scan(results, ScanPermit::because("the next page"));
    /// let rows = scan.after(last).ordered(true).take(50).collect().await?;
    /// let keys: Vec<_> = rows.iter().map(|row| (&*row.partition_key, &*row.row_key)).collect();
    /// assert_eq!(keys, [("Boston", "00002"), ("Chicago", "00001")]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn after(mut self, last: RowHead) -> Self {
        self.after = Some(last);
        self
    }

    /// Whether it asks for all rows of the table.
    pub(crate) fn is_whole(&self) -> bool {
        let is_whole = |query: &RowQuery| query.keys == KeyRange::ALL && query.filter.is_none();
        self.prefix.is_empty()
            && self.limit.is_none()
            && self.after.is_none()
            && self.query.as_ref().is_ok_and(is_whole)
    }

    pub(super) fn keep(mut self, filter: Result<Filter, InvalidEntity>) -> Self {
        self.query = self.query.and_then(|query| Ok(query.and(filter?)));
        self
    }

    /// Reads the rows as `U`, with what `U` needs to know of the properties' types.
    pub(crate) fn cast<U: ReadRow>(self) -> Scan<U, R> {
        self.read_by(RowReader::typed(), U::METADATA)
    }

    fn read_by<U>(self, reader: RowReader<U>, metadata: Metadata) -> Scan<U, R> {
        Scan {
            store: self.store,
            table: self.table,
            entity: self.entity,
            own: self.own,
            query: self.query.map(|query| RowQuery { metadata, ..query }),
            prefix: self.prefix,
            page_size: self.page_size,
            splitter: self.splitter,
            rounds: self.rounds,
            workers: self.workers,
            handlers: self.handlers,
            ordered: self.ordered,
            buffer: self.buffer,
            limit: self.limit,
            after: self.after,
            skip: self.skip,
            alive: self.alive,
            checkpoint: self.checkpoint,
            seed: self.seed,
            reason: self.reason,
            reader,
            kind: PhantomData,
        }
    }

    /// Seeds the random waits after 503s, so that a test or a benchmark on virtual time can be
    /// repeated.
    #[cfg(any(test, feature = "testing"))]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }
}

impl<T, R: Row> Scan<T, R> {
    /// Keeps the rows that match a condition on their properties. The service evaluates it on every
    /// row of the range, so a filter saves transfer, not reading. Rows must match every filter. All
    /// filters together may hold 11 comparisons.
    ///
    /// A row that lacks a property matches no comparison with it, and every negated one.
    pub fn filter<I: IntoCondition>(self, condition: impl FnOnce(R::Columns) -> I) -> Self {
        let entity = self.entity;
        let filter = condition(R::COLUMNS).into_condition().of(entity).map_err(InvalidEntity::from);
        self.keep(filter)
    }

    /// Reads only the fields of `P`, a struct with `#[derive(Projection)]`.
    pub fn project<P: FromRow<R>>(self) -> Scan<P, R> {
        self.cast()
    }

    /// Reads each row as `P`, whose texts are slices of the page, and keeps what `map` returns, as
    /// [`List::map`](crate::repo::List::map) does. The workers call `map`, on several threads at once.
    ///
    /// They may call it several times for one row, as when two ranges meet in a page. Each row has one value
    /// in the result all the same.
    ///
    /// ```
    /// # use std::borrow::Cow;
    /// # use table_orm::{Projection, ScanPermit, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "tracks", partition = "{album}", row = "{number:02}")]
    /// # struct Track { album: String, number: u8, title: String }
    /// #[derive(Projection)]
    /// #[projection(of = Track, borrow)]
    /// struct Title<'a> {
    ///     title: Cow<'a, str>,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tracks = Tables::in_memory()?.repo::<Track>();
    /// # tracks.create_table().await?;
    /// # for (album, title) in [("Blue", "All I Want"), ("Hejira", "Coyote")] {
    /// #     tracks.insert(&Track { album: album.into(), number: 1, title: title.into() }).await?;
    /// # }
    /// let scan = tracks.scan(ScanPermit::because("statistics")).ordered(true);
    /// let lengths = scan.map::<Title<'_>, _>(|row| row.title.len()).collect().await?;
    /// assert_eq!(lengths, [10, 6]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn map<P: BorrowedFrom<R>, U>(
        self,
        map: impl Fn(P::Of<'_>) -> U + Send + Sync + 'static,
    ) -> Scan<U, R> {
        self.read_by(RowReader::mapped::<R, P>(map), Metadata::None)
    }
}

impl Scan<DynamicEntity> {
    /// Reads only the rows whose RowKeys lie in a range of stored text, in each partition. The service
    /// reads the others too, except within one partition.
    pub fn row_range(mut self, rows: impl IntoSpan) -> Self {
        let span = rows.into_span();
        self.query = self.query.map(|mut query| {
            query.keys.row = span;
            query
        });
        self
    }

    /// Keeps the rows that match a condition. The service evaluates it on every row of the range, so a
    /// filter saves transfer, not reading. Rows must match every filter. All filters together may hold
    /// 12 comparisons.
    pub fn filter(self, filter: Filter) -> Self {
        let filter = Condition::from(filter).of(self.entity).map_err(InvalidEntity::from);
        self.keep(filter)
    }

    /// Reads only these properties, the keys and the timestamp.
    pub fn select<N: Into<Cow<'static, str>>>(
        mut self,
        properties: impl IntoIterator<Item = N>,
    ) -> Self {
        let system = SYSTEM_PROPERTIES.map(Cow::Borrowed);
        let names = system.into_iter().chain(properties.into_iter().map(Into::into)).collect();
        self.query = self.query.map(|mut query| {
            query.select = Some(names);
            query
        });
        self
    }
}
