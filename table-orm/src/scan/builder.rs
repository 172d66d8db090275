//! A scan as it is asked for.

use super::checkpoint::Checkpoint;
use super::key_model::splits;
use super::place::{bounds, max, min, span};
use super::splitter::Splitter;
use super::state::Rules;
use crate::entity::{
    DynamicEntity, FromRow, Invalid, ReadRow, Row, SkipUnreadable, TableEntity, canonical_rows,
};
use crate::error::{Error, Result, ScanError};
use crate::key::forbidden_in;
use crate::model::{
    MAX_COMPARISONS, MAX_PAGE_ROWS, PARTITION_KEY, ROW_KEY, SYSTEM_PROPERTIES, TableName, order,
};
use crate::plan::{Plan, Step};
use crate::property::PropertyError;
use crate::query::{Condition, Filter, IntoSpan, KeyRange, RowQuery, ScanPermit, Span};
use crate::store::Store;
use crate::sync::Random;
use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::Arc;

/// The requests a scan has under way, unless it is told otherwise.
pub const DEFAULT_CONCURRENCY: usize = 16;
/// The most requests that a scan can be told to have under way. Twenty full pages a second meet an
/// account's documented target of 20,000 entities a second (service documentation, "Scalability
/// and performance targets").
pub const MAX_CONCURRENCY: usize = 1000;

/// Names of properties.
pub(super) type Names = Vec<Cow<'static, str>>;

/// Rows of any shape.
#[derive(Debug, Clone, Copy)]
pub enum Untyped {}

/// A scan of a table: of rows of kind `R`, read as `T`. One of the last methods runs it, on the
/// tokio runtime it is awaited on: [`stream`], [`page_stream`], [`on_page`], [`collect`],
/// [`first`], [`one`], [`exists`], [`count`], [`partition_keys`] or [`pages`].
///
/// Each row that stands in the table throughout is delivered once. A scan is no snapshot: rows
/// written meanwhile may or may not be seen. Rows come in no order, unless [`ordered`] asks for it.
///
/// A slow consumer stops the workers: at most two pages for each wait in memory.
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
#[must_use = "nothing is sent until `stream`, `on_page`, `collect` or another last method"]
#[derive(Debug)]
pub struct Scan<T, R = Untyped> {
    pub(super) store: Arc<dyn Store>,
    table: TableName,
    pub(super) entity: &'static str,
    pub(super) row: usize,
    /// Its partition span is the range asked for, without the prefix.
    pub(super) query: Result<RowQuery, Invalid>,
    prefix: String,
    page_size: Option<usize>,
    pub(super) splitter: Splitter,
    rounds: (u32, u32),
    workers: usize,
    pub(super) handlers: usize,
    pub(super) ordered: bool,
    pub(super) limit: Option<usize>,
    pub(super) skip: Option<SkipUnreadable>,
    pub(super) checkpoint: Option<Checkpoint>,
    /// Of the waits; `None` draws them from the system.
    seed: Option<u64>,
    reason: String,
    read: PhantomData<fn() -> (T, R)>,
}

/// A scan as one query, with what it takes to send it and to read its rows.
pub(crate) struct Serial {
    pub store: Arc<dyn Store>,
    pub table: TableName,
    pub entity: &'static str,
    pub row: usize,
    pub query: Result<RowQuery>,
    pub limit: Option<usize>,
    pub skip: Option<SkipUnreadable>,
}

impl<T, R> Clone for Scan<T, R> {
    fn clone(&self) -> Self {
        Self {
            store: Arc::clone(&self.store),
            table: self.table.clone(),
            query: self.query.clone(),
            prefix: self.prefix.clone(),
            splitter: self.splitter.clone(),
            skip: self.skip.clone(),
            checkpoint: self.checkpoint.clone(),
            reason: self.reason.clone(),
            ..*self
        }
    }
}

impl<T: ReadRow, R> Scan<T, R> {
    fn with(
        store: Arc<dyn Store>,
        table: TableName,
        (entity, row): (&'static str, usize),
        rows: Span,
        permit: &ScanPermit,
    ) -> Self {
        Self {
            store,
            table: table.clone(),
            entity,
            row,
            query: Ok(RowQuery {
                metadata: T::METADATA,
                ..RowQuery::new(table, KeyRange { partition: Span::All, row: rows })
            }),
            prefix: String::new(),
            page_size: None,
            splitter: Splitter::default(),
            rounds: (1, 1),
            workers: DEFAULT_CONCURRENCY,
            handlers: 1,
            ordered: false,
            limit: None,
            skip: None,
            checkpoint: None,
            seed: None,
            reason: permit.reason().to_owned(),
            read: PhantomData,
        }
    }
}

impl<T, R> Scan<T, R> {
    /// Reads only the partitions whose keys start with `prefix`, as stored. A prefix that no key
    /// can start with is an error of the last method.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Reads only the partitions in a range of stored PartitionKeys. One that no key lies in, as
    /// where its ends are swapped, is an error of the last method.
    pub fn partition_range(mut self, partitions: impl IntoSpan) -> Self {
        let span = partitions.into_span();
        self.query = self.query.map(|mut query| {
            query.keys.partition = span;
            query
        });
        self
    }

    /// How the table is divided among the workers; [`Splitter::Adaptive`] unless given.
    pub fn split(mut self, splitter: Splitter) -> Self {
        self.splitter = splitter;
        self
    }

    /// The most requests under way, 1 to [`MAX_CONCURRENCY`]; [`DEFAULT_CONCURRENCY`] unless given.
    pub const fn concurrency(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// The most pages that [`on_page`](Self::on_page) handles at a time; 1 unless given, to which 0
    /// amounts too.
    pub const fn handlers(mut self, pages: usize) -> Self {
        self.handlers = if pages == 0 { 1 } else { pages };
        self
    }

    /// Whether rows come in key order: PartitionKey, then RowKey, by UTF-16 code unit. Up to five
    /// pages for each worker wait in memory for earlier ones, and the scan takes about twice as
    /// long.
    pub const fn ordered(mut self, ordered: bool) -> Self {
        self.ordered = ordered;
        self
    }

    /// Reads at most `rows` rows in all, of [`partition_keys`](Self::partition_keys) at most that
    /// many keys: with [`ordered`](Self::ordered) the first ones in key order, read one page after
    /// the other; else those found first. No further request is sent once they are found.
    ///
    /// Without a filter, no more workers read than it takes pages to hold them.
    pub fn take(mut self, rows: usize) -> Self {
        self.limit = Some(self.limit.map_or(rows, |limit| limit.min(rows)));
        self
    }

    /// Leaves out rows that cannot be read, and calls `told` with the key and the fault of each.
    /// Without it the first such row is an error, and the end.
    ///
    /// As [`List::skip_unreadable`](crate::repo::List::skip_unreadable): pages that read well cost
    /// nothing more, [`take`](Self::take), [`first`](Self::first) and [`one`](Self::one) mean rows that
    /// can be read, and [`count`](Self::count), [`exists`](Self::exists) and
    /// [`partition_keys`](Self::partition_keys), which read no properties, mean all. `told` is called by
    /// the workers, several at a time, in no order and ahead of the consumer.
    ///
    /// A page of which all rows were left out is handed out without rows, so that it is noted as
    /// done; for a [checkpoint](Self::checkpoint) and a [scan by many
    /// machines](Self::distributed), a row left out is done with its page, and told of again where
    /// the page comes again.
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
    pub fn skip_unreadable(self, told: impl Fn(&PropertyError) + Send + Sync + 'static) -> Self {
        Self { skip: Some(SkipUnreadable::new(told)), ..self }
    }

    /// Asks for pages of at most `rows` rows, 1 to 1000; for 1000 unless given.
    pub const fn page_size(mut self, rows: usize) -> Self {
        self.page_size = Some(rows);
        self
    }

    /// How many pages a query of [`Splitter::Prefix`] reads before it goes deeper: in its first
    /// round, and in each later one. One and one unless given.
    pub const fn pages_per_prefix(mut self, first: u32, later: u32) -> Self {
        self.rounds = (first, later);
        self
    }

    /// Keeps the progress in a file, or in a row of a table, and goes on where that says an earlier
    /// scan has ended. The checkpoint of a scan of another table, range, filter or selection is an
    /// error of the last method.
    pub fn checkpoint(mut self, checkpoint: impl Into<Checkpoint>) -> Self {
        self.checkpoint = Some(checkpoint.into());
        self
    }

    pub(super) fn keep(mut self, filter: Result<Filter, Invalid>) -> Self {
        self.query = self.query.and_then(|query| Ok(query.and(filter?)));
        self
    }

    pub(crate) fn cast<U>(self) -> Scan<U, R> {
        Scan {
            store: self.store,
            table: self.table,
            entity: self.entity,
            row: self.row,
            query: self.query,
            prefix: self.prefix,
            page_size: self.page_size,
            splitter: self.splitter,
            rounds: self.rounds,
            workers: self.workers,
            handlers: self.handlers,
            ordered: self.ordered,
            limit: self.limit,
            skip: self.skip,
            checkpoint: self.checkpoint,
            seed: self.seed,
            reason: self.reason,
            read: PhantomData,
        }
    }

    /// Lets the waits after 503s follow from a seed, so that a test or a benchmark on virtual time
    /// can be repeated.
    #[cfg(any(test, feature = "testing"))]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// What waits are drawn from, so that scans throttled at a time do not come back at a time.
    pub(super) fn random(&self) -> Random {
        self.seed.map_or_else(Random::from_system, Random::seeded)
    }

    /// The scan as its workers carry it out, once all of it was checked.
    pub(super) fn rules(self, select: Option<Names>, keys_only: bool) -> Result<Rules> {
        let mut query = self.query?;
        if self.workers == 0 {
            return Err(ScanError::NoWorkers.into());
        }
        if self.workers > MAX_CONCURRENCY {
            return Err(
                ScanError::TooManyWorkers { given: self.workers, most: MAX_CONCURRENCY }.into()
            );
        }
        if self.rounds.0 == 0 || self.rounds.1 == 0 {
            return Err(ScanError::NoPagesPerPrefix.into());
        }
        query.top = match self.page_size.map(u16::try_from) {
            None => None,
            Some(Ok(rows @ 1..=MAX_PAGE_ROWS)) => Some(rows),
            Some(_) => return Err(Error::PageSize(self.page_size.unwrap_or_default())),
        };
        let page = query.top.unwrap_or(MAX_PAGE_ROWS);
        // Not where rows are left out: they would be read by as few.
        if let Some(rows @ 1..) = self.limit.and_then(|limit| u16::try_from(limit).ok())
            && rows < page
            && self.skip.is_none()
        {
            query.top = Some(rows);
        }
        if let Some(character) = forbidden_in(&self.prefix) {
            return Err(ScanError::PrefixCharacter { prefix: self.prefix, character }.into());
        }
        if let Splitter::Keys(keys) = &self.splitter
            && let Some(key) = keys.iter().find(|key| !key.chars().all(splits))
        {
            return Err(ScanError::SplitKey(key.clone()).into());
        }
        let (lo, hi) = bounds(&query.keys.partition);
        let lo = max(lo, self.prefix.clone());
        let hi = min(hi, order::successor(&self.prefix));
        if hi.as_ref().is_some_and(|hi| order::compare(&lo, hi).is_ge()) {
            return Err(ScanError::EmptyRange { lower: lo, upper: hi }.into());
        }
        let rows = bounds(&query.keys.row);
        query.keys.partition = span(&lo, hi.as_deref());
        query.select = select;
        // A range of partitions takes two comparisons beside those of the rows, a range of rows in
        // one partition three in all.
        let of_rows = usize::from(!rows.0.is_empty()) + usize::from(rows.1.is_some());
        let comparisons = query.filter.as_ref().map_or(0, Filter::comparisons) + 3.max(2 + of_rows);
        if comparisons > MAX_COMPARISONS {
            return Err(Error::FilterTooLong(comparisons));
        }
        // The first rows in key order are found soonest one page after the other; so are a few of
        // any, where each page holds some.
        let in_turn = self.ordered && self.limit.is_some();
        let splitter = if in_turn { Splitter::Serial } else { self.splitter };
        let most = match self.limit {
            _ if splitter == Splitter::Serial => 1,
            Some(limit) if query.filter.is_none() => limit.div_ceil(page.into()).max(1),
            _ => usize::MAX,
        };
        Ok(Rules {
            query,
            partitions: (lo, hi),
            rows,
            prefix: self.prefix,
            splitter,
            rounds: self.rounds,
            workers: self.workers.min(most),
            ordered: self.ordered,
            keys_only,
            limit: self.limit,
        })
    }
}

impl<T: ReadRow, R> Scan<T, R> {
    /// The first request; those that follow depend on the keys it finds.
    ///
    /// # Errors
    /// [`Error::Scan`] for a scan that cannot be run as asked for.
    pub fn plan(&self) -> Result<Plan> {
        let query = self.clone().rules(self.selected(), false)?.query;
        let (limit, reason) = (self.limit, Some(self.reason.clone()));
        Ok(Plan { steps: vec![Step::Read { query, limit, reason }] })
    }

    /// The properties to ask for: those `T` is made of, or those selected, and the keys.
    pub(super) fn selected(&self) -> Option<Names> {
        // The error is reported with the others.
        let given = self.query.as_ref().ok().and_then(|query| query.select.clone());
        let of_type =
            || T::SELECT.map(|names| names.iter().copied().map(Cow::Borrowed).collect::<Vec<_>>());
        given.or_else(of_type).map(|mut names| {
            for key in [PARTITION_KEY, ROW_KEY] {
                if !names.iter().any(|name| name == key) {
                    names.push(Cow::Borrowed(key));
                }
            }
            names
        })
    }
}

impl<T: ReadRow, R> Scan<T, R> {
    /// The scan as one query.
    pub(crate) fn serial(self) -> Serial {
        let (store, table) = (Arc::clone(&self.store), self.table.clone());
        let (entity, row, limit, select) = (self.entity, self.row, self.limit, self.selected());
        let skip = self.skip.clone();
        let query = self.rules(select, false).map(|rules| rules.query);
        Serial { store, table, entity, row, query, limit, skip }
    }
}

impl<E: TableEntity> Scan<E, E::Canonical> {
    pub(crate) fn typed(store: Arc<dyn Store>, table: TableName, permit: &ScanPermit) -> Self {
        let row = (E::NAME, <E::Canonical as Row>::INDEX);
        Self::with(store, table, row, canonical_rows::<E>(), permit)
    }
}

impl<T, R: Row> Scan<T, R> {
    /// Keeps the rows that meet a condition on their properties. The service evaluates it on every
    /// row it passes, so a filter saves transfer, not reading. Two filters must both hold. It may
    /// hold 11 comparisons.
    ///
    /// A row that lacks a compared property does not match.
    pub fn filter(self, condition: impl FnOnce(R::Columns) -> Condition) -> Self {
        let entity = self.entity;
        let filter = condition(R::COLUMNS).0.map_err(|(property, fault)| {
            Invalid::Property(PropertyError {
                entity,
                property,
                partition_key: String::new(),
                row_key: String::new(),
                fault,
            })
        });
        self.keep(filter)
    }

    /// Reads only the fields of `P`, a struct with `#[derive(Projection)]`.
    pub fn project<P: FromRow<R>>(self) -> Scan<P, R> {
        let mut scan = self.cast();
        scan.query = scan.query.map(|query| RowQuery { metadata: P::METADATA, ..query });
        scan
    }
}

impl Scan<DynamicEntity> {
    pub(crate) fn untyped(store: Arc<dyn Store>, table: TableName, permit: &ScanPermit) -> Self {
        Self::with(store, table, (DynamicEntity::NAME, 0), Span::All, permit)
    }

    /// Keeps the rows that meet a condition. The service evaluates it on every row it passes, so a
    /// filter saves transfer, not reading. Two filters must both hold. It may hold 12 comparisons.
    pub fn filter(self, filter: Filter) -> Self {
        self.keep(Ok(filter))
    }

    /// Reads only these properties, beside the keys and the timestamp.
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
