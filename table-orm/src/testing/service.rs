//! The fake service: pages, latencies, partition servers, targets.

use super::bucket::EntityBucket;
use super::figures::ServiceFigures;
use super::generated_row::{matches, page, write_row};
use super::keys::KeySet;
use super::random::Random;
use super::settings::ServiceSettings;
use crate::model::{
    Continuation, ETag, MAX_COMPARISONS, MAX_PAGE_ROWS, Metadata, PARTITION_KEY, ROW_KEY,
    TIMESTAMP, TableName,
};
use crate::query::{RowQuery, Span};
use crate::store::{Batch, ErrorCode, Operation, Page, Store, StoreError, StoredRow};
use async_trait::async_trait;
use std::collections::HashMap;
use std::fmt;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The most rows one request looks at, however few it returns.
const MAX_SCANNED: usize = 10_000;
/// The partition of every n-th row of a page is looked up.
const SAMPLE: usize = 50;
/// A page counts against a partition's target if it holds this many of its rows.
const NOTICED: f64 = 200.0;

/// A read-only [`Store`] of generated rows. Clones are the same service.
///
/// Every table has the same rows: their keys, a timestamp, and `N`, the row's number as `Int32`.
/// Filters may compare `N`.
#[derive(Clone)]
pub struct FakeService {
    inner: Arc<Inner>,
}

struct Inner {
    keys: KeySet,
    settings: ServiceSettings,
    state: Mutex<ServiceState>,
}

struct ServiceState {
    started: Option<Instant>,
    random: Random,
    account: Option<EntityBucket>,
    partitions: HashMap<usize, EntityBucket>,
    figures: ServiceFigures,
    under_way: u64,
    queries: Vec<RowQuery>,
}

impl fmt::Debug for FakeService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeService").field("rows", &self.inner.keys.len()).finish_non_exhaustive()
    }
}

impl FakeService {
    /// Creates a service whose tables hold these rows.
    #[must_use]
    pub fn new(keys: KeySet, settings: ServiceSettings) -> Self {
        let state = ServiceState {
            started: None,
            random: Random::new(settings.seed),
            account: settings.account_target.map(EntityBucket::new),
            partitions: HashMap::new(),
            figures: ServiceFigures::default(),
            under_way: 0,
            queries: Vec::new(),
        };
        Self { inner: Arc::new(Inner { keys, settings, state: Mutex::new(state) }) }
    }

    /// Returns the keys of its rows.
    #[must_use]
    pub fn keys(&self) -> &KeySet {
        &self.inner.keys
    }

    /// Counts what it has done so far.
    #[must_use]
    pub fn figures(&self) -> ServiceFigures {
        self.state().figures
    }

    /// Returns the queries so far, in order, if they are recorded.
    #[must_use]
    pub fn queries(&self) -> Vec<RowQuery> {
        self.state().queries.clone()
    }

    fn state(&self) -> MutexGuard<'_, ServiceState> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer to a query, and how long it takes.
    fn answer(&self, query: &RowQuery) -> (Result<Page, StoreError>, Duration) {
        let settings = &self.inner.settings;
        let mut state = self.state();
        let started = *state.started.get_or_insert_with(Instant::now);
        let now = started.elapsed().as_secs_f64();
        state.figures.requests += 1;
        if settings.recorded {
            state.queries.push(query.clone());
        }
        let latency = self.latency(&mut state);
        if query.comparisons() > MAX_COMPARISONS {
            let error = StoreError::new(ErrorCode::INVALID_INPUT, "too many comparisons");
            return (Err(error), latency);
        }
        let requests = state.figures.requests;
        if settings.most_requests.is_some_and(|most| requests > most) {
            let error = StoreError::new(ErrorCode::INVALID_INPUT, "too many requests in all");
            return (Err(error), latency);
        }
        let every = |count: Option<u64>| count.is_some_and(|count| requests.is_multiple_of(count));
        let mut most = settings.page_rows.min(query.top.unwrap_or(MAX_PAGE_ROWS).into());
        if every(settings.short_every) {
            most = most.div_ceil(2);
        }
        let (from, to) = self.bounds(query);
        if every(settings.empty_every) && from < to {
            state.figures.empty += 1;
            return (Ok(page(Vec::new(), Some(self.token(from)), 0)), latency);
        }
        let walk = self.walk(query, from, to, most);
        let scanned = (walk.next - from).max(1) as f64;
        let hot = self.partitions(from, walk.next);
        let mut granted = state.account.as_mut().is_none_or(|account| account.holds(now, scanned));
        if let Some(target) = settings.partition_target {
            for (partition, rows) in &hot {
                let bucket =
                    state.partitions.entry(*partition).or_insert_with(|| EntityBucket::new(target));
                granted = granted && bucket.holds(now, *rows);
            }
        }
        if !granted {
            state.figures.throttled += 1;
            let busy = "The server is busy.";
            return (Err(StoreError::new(ErrorCode::SERVER_BUSY, busy)), latency);
        }
        if let Some(account) = &mut state.account {
            account.take(scanned);
        }
        for (partition, rows) in &hot {
            if let Some(bucket) = state.partitions.get_mut(partition) {
                bucket.take(*rows);
            }
        }
        state.figures.rows += walk.rows.len() as u64;
        state.figures.empty += u64::from(walk.rows.is_empty());
        drop(state);
        let latency =
            latency + settings.latency_per_row * u32::try_from(walk.rows.len()).unwrap_or(0);
        let token = (walk.next < to).then(|| self.token(walk.next));
        (Ok(self.page(query, &walk, from, token)), latency)
    }

    /// How long a request takes without its rows.
    fn latency(&self, state: &mut ServiceState) -> Duration {
        let (least, most) = self.inner.settings.latency;
        least + most.saturating_sub(least).mul_f64(state.random.fraction())
    }

    /// The rows a query has to look at.
    fn bounds(&self, query: &RowQuery) -> (usize, usize) {
        let keys = &self.inner.keys;
        let (mut from, to) = match (&query.keys.partition, &query.keys.row) {
            (Span::All, _) => (0, keys.len()),
            (Span::Exact(pk), row) => {
                let whole = (keys.seek_partition(pk, false), keys.seek_partition(pk, true));
                match row {
                    Span::All => whole,
                    Span::Exact(rk) => (keys.seek(pk, rk, false), keys.seek(pk, rk, true)),
                    Span::Between(lower, upper) => (
                        bound(lower).map_or(whole.0, |(rk, included)| keys.seek(pk, rk, !included)),
                        bound(upper).map_or(whole.1, |(rk, included)| keys.seek(pk, rk, included)),
                    ),
                }
            }
            (Span::Between(lower, upper), _) => (
                bound(lower).map_or(0, |(pk, included)| keys.seek_partition(pk, !included)),
                bound(upper).map_or(keys.len(), |(pk, included)| keys.seek_partition(pk, included)),
            ),
        };
        if let Some(token) = &query.continuation {
            let part = |text: &Option<String>| text.clone().unwrap_or_default();
            let next =
                keys.seek(&part(&token.next_partition_key), &part(&token.next_row_key), false);
            from = from.max(next);
        }
        (from, to.max(from))
    }

    fn walk(&self, query: &RowQuery, from: usize, to: usize, most: usize) -> Walk {
        let Inner { keys, settings, .. } = &*self.inner;
        // Where the rows of the server that holds the first one end.
        let servers = settings.servers.max(1);
        let server = (1..=servers).map(|server| keys.len() * server / servers);
        let wall = server.into_iter().find(|end| *end > from).unwrap_or(to).min(to);
        let plain = query.filter.is_none()
            && query.limits.is_none()
            && (query.keys.row == Span::All || matches!(query.keys.partition, Span::Exact(_)));
        if plain {
            let next = wall.min(from + most);
            return Walk { rows: (from..next).collect(), next };
        }
        let mut walk = Walk { rows: Vec::new(), next: from };
        while walk.next < wall && walk.rows.len() < most && walk.next - from < MAX_SCANNED {
            let row = walk.next;
            let (partition_key, row_key) = keys.row(row);
            let limits = query.limits.as_ref();
            let named = query.keys.row.contains(&row_key)
                && limits.is_none_or(|limits| limits.contain(&partition_key, &row_key));
            if named && query.filter.as_ref().is_none_or(|filter| matches(filter, row)) {
                walk.rows.push(row);
            }
            walk.next += 1;
        }
        walk
    }

    /// The partitions that a page reads much of.
    fn partitions(&self, from: usize, to: usize) -> Vec<(usize, f64)> {
        if self.inner.settings.partition_target.is_none() {
            return Vec::new();
        }
        let mut found: Vec<(usize, f64)> = Vec::new();
        for row in (from..to).step_by(SAMPLE) {
            let partition = self.inner.keys.partition_of(row);
            let rows = SAMPLE.min(to - row) as f64;
            match found.last_mut() {
                Some((last, sum)) if *last == partition => *sum += rows,
                _ => found.push((partition, rows)),
            }
        }
        found.retain(|(_, rows)| *rows >= NOTICED);
        found
    }

    fn token(&self, row: usize) -> Continuation {
        let (partition_key, row_key) = self.inner.keys.row(row);
        Continuation {
            next_partition_key: Some(partition_key.into_owned()),
            next_row_key: Some(row_key.into_owned()),
        }
    }

    fn page(
        &self,
        query: &RowQuery,
        walk: &Walk,
        from: usize,
        token: Option<Continuation>,
    ) -> Page {
        let rows = &walk.rows;
        let keys = &self.inner.keys;
        let select = query.select.as_deref();
        let selected = |name: &str| select.is_none_or(|names| names.iter().any(|n| n == name));
        let names = [PARTITION_KEY, ROW_KEY, TIMESTAMP, "N"].map(selected);
        let mut body = Vec::with_capacity(rows.len() * 64);
        let mut partition = rows.first().map_or(0, |row| keys.partition_of(*row));
        for row in rows {
            while keys.partition_end(partition) <= *row {
                partition += 1;
            }
            if !body.is_empty() {
                body.push(b',');
            }
            write_row(&mut body, &keys.partition_key(partition), &keys.row_key(*row), *row, names);
        }
        page(body, token, u32::try_from(walk.next - from).unwrap_or(u32::MAX))
    }
}

struct Walk {
    rows: Vec<usize>,
    next: usize,
}

fn bound(bound: &Bound<String>) -> Option<(&str, bool)> {
    match bound {
        Bound::Included(key) => Some((key, true)),
        Bound::Excluded(key) => Some((key, false)),
        Bound::Unbounded => None,
    }
}

fn read_only() -> StoreError {
    StoreError::new(ErrorCode::INVALID_INPUT, "A fake service is only read.")
}

/// A request in flight.
struct UnderWay<'a> {
    service: &'a FakeService,
    /// How many there were before it.
    others: u64,
}

impl<'a> UnderWay<'a> {
    fn new(service: &'a FakeService) -> Self {
        let mut state = service.state();
        let others = state.under_way;
        state.under_way += 1;
        state.figures.busiest = state.figures.busiest.max(state.under_way);
        Self { service, others }
    }

    async fn wait(&self, latency: Duration) {
        let others = u32::try_from(self.others).unwrap_or(u32::MAX);
        let time = latency + self.service.inner.settings.latency_in_flight.saturating_mul(others);
        if !time.is_zero() {
            sleep(time).await;
        }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.service.state().under_way -= 1;
    }
}

#[async_trait]
impl Store for FakeService {
    fn hidden_property(&self) -> Option<&str> {
        None
    }

    async fn create_table(&self, _table: &TableName) -> Result<(), StoreError> {
        Err(read_only())
    }

    async fn delete_table(&self, _table: &TableName) -> Result<(), StoreError> {
        Err(read_only())
    }

    async fn list_tables(&self) -> Result<Vec<TableName>, StoreError> {
        Ok(Vec::new())
    }

    async fn get(
        &self,
        _table: &TableName,
        partition_key: &str,
        row_key: &str,
        _select: Option<&[&str]>,
        _metadata: Metadata,
    ) -> Result<Option<StoredRow>, StoreError> {
        let under_way = UnderWay::new(self);
        let latency = self.latency(&mut self.state());
        under_way.wait(latency).await;
        let keys = &self.inner.keys;
        let row = keys.seek(partition_key, row_key, false);
        let (found, named) = keys.row(row);
        if row == keys.len() || (&*found, &*named) != (partition_key, row_key) {
            return Ok(None);
        }
        let mut body = Vec::new();
        write_row(&mut body, partition_key, row_key, row, [true; 4]);
        Ok(Some(StoredRow { body: body.into(), header: None }))
    }

    async fn query(&self, query: &RowQuery) -> Result<Page, StoreError> {
        let under_way = UnderWay::new(self);
        let (answer, latency) = self.answer(query);
        under_way.wait(latency).await;
        answer
    }

    async fn write(
        &self,
        _table: &TableName,
        _partition_key: &str,
        _operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        Err(read_only())
    }

    async fn commit(
        &self,
        _table: &TableName,
        _transaction: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        Err(read_only())
    }
}
