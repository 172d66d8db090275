//! A store that fails on purpose, for tests of what an app does then.
//!
//! All it does follows from a seed and from the order of the requests, so a failing test replays.
//! Times are tokio's: under a paused clock nothing takes time. Next to the store, below
//! [`Retry`](super::Retry), it stands for the network and the service.

mod fate;
mod pages;

use super::error::probability;
use super::{Layer, LayerError, error};
use crate::model::{ETag, Metadata, TableName};
use crate::query::{RowQuery, Span};
use crate::store::{Batch, ErrorCode, Operation, Page, Store, StoreError, StoredRow};
use crate::sync::Random;
use async_trait::async_trait;
use fate::Fate;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The longest of any time that can be asked for: 1 day.
const MAX_TIME: Duration = Duration::from_secs(24 * 3600);

/// Which faults happen, and how often: each setting is a probability for each request, 0 to 1.
///
/// ```
/// use std::sync::Arc;
/// use table_orm::layer::{Faults, Retry};
/// use table_orm::embedded::EmbeddedStore;
/// use table_orm::{TableName, Tables};
///
/// #[tokio::main(flavor = "current_thread")]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let store = Arc::new(EmbeddedStore::in_memory()?);
///     let flaky = Faults::seeded(7).throttled(0.5).store(store)?;
///     let tables = Tables::new(flaky.clone()).layer(Retry::interactive())?;
///     # tokio::time::pause();
///     tables.create(&TableName::new("readings")?).await?; // throttled, perhaps; tried again
///     assert!(flaky.injected() <= 5);
///     Ok(())
/// }
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use = "settings do nothing until `Tables::layer` or `store`"]
pub struct Faults {
    seed: u64,
    throttled: f64,
    errors_before: f64,
    errors_after: f64,
    lost_requests: f64,
    lost_replies: f64,
    late: f64,
    slow: f64,
    slowest: Duration,
    empty_pages: f64,
    short_pages: f64,
    offline: f64,
    offline_time: Duration,
    deletion_time: Duration,
}

macro_rules! probabilities {
    ($($(#[$doc:meta])* $name:ident,)*) => {$(
        $(#[$doc])*
        pub const fn $name(mut self, probability: f64) -> Self {
            self.$name = probability;
            self
        }
    )*};
}

impl Faults {
    /// No faults yet.
    pub const fn seeded(seed: u64) -> Self {
        Self {
            seed,
            throttled: 0.0,
            errors_before: 0.0,
            errors_after: 0.0,
            lost_requests: 0.0,
            lost_replies: 0.0,
            late: 0.0,
            slow: 0.0,
            slowest: Duration::from_secs(2),
            empty_pages: 0.0,
            short_pages: 0.0,
            offline: 0.0,
            offline_time: Duration::from_secs(10),
            deletion_time: Duration::from_secs(40),
        }
    }

    /// A bad day: a third of all requests fail, in every way but [`late`](Self::late); replies are
    /// slow, pages short or empty, and partitions go off-line for 10 s.
    pub const fn storm(seed: u64) -> Self {
        Self::seeded(seed)
            .throttled(0.1)
            .errors_before(0.05)
            .errors_after(0.05)
            .lost_requests(0.05)
            .lost_replies(0.1)
            .slow(0.2)
            .empty_pages(0.2)
            .short_pages(0.5)
            .offline(0.005)
    }

    probabilities! {
        /// 503 `ServerBusy`, half of them with a `Retry-After` of 1 to 3 s. Nothing takes effect.
        throttled,
        /// 500 without effect.
        errors_before,
        /// 500 although the request took effect.
        errors_after,
        /// The request does not arrive.
        lost_requests,
        /// The request takes effect, and no answer comes.
        lost_replies,
        /// No answer comes, and a write takes effect later, within the time of
        /// [`slowest`](Self::slowest): a request that the network still carried. No client can
        /// make unguarded writes safe from it.
        late,
        /// A slow request or reply, independent of the other faults.
        slow,
        /// A page without rows, with a continuation.
        empty_pages,
        /// A page cut short, with a continuation.
        short_pages,
        /// The request's partition goes off-line.
        offline,
    }

    /// The slowest request or reply; 2 s unless told.
    pub const fn slowest(mut self, time: Duration) -> Self {
        self.slowest = time;
        self
    }

    /// How long a partition stays off-line; 10 s unless told. Its requests meet 503 and 500.
    pub const fn offline_time(mut self, time: Duration) -> Self {
        self.offline_time = time;
        self
    }

    /// How long a deleted table answers 409 `TableBeingDeleted`; 40 s unless told, the least that
    /// the service takes (service documentation, "Delete Table").
    pub const fn deletion_time(mut self, time: Duration) -> Self {
        self.deletion_time = time;
        self
    }

    /// A store with these faults. Keep a clone to steer it while a test runs.
    ///
    /// # Errors
    /// A probability that is none, or faults of one request whose sum exceeds 1; a time of zero or
    /// of more than a day.
    pub fn store(self, inner: Arc<dyn Store>) -> Result<FaultStore, LayerError> {
        probability("slow", self.slow)?;
        probability("empty_pages", self.empty_pages)?;
        probability("short_pages", self.short_pages)?;
        probability("offline", self.offline)?;
        let mut sum = 0.0;
        for (name, given) in [
            ("throttled", self.throttled),
            ("errors_before", self.errors_before),
            ("errors_after", self.errors_after),
            ("lost_requests", self.lost_requests),
            ("lost_replies", self.lost_replies),
            ("late", self.late),
        ] {
            probability(name, given)?;
            sum += given;
            probability(name, sum).map_err(|_| LayerError::Probability { name, given })?;
        }
        error::time("the slowest reply", self.slowest, MAX_TIME)?;
        error::time("the time off-line", self.offline_time, MAX_TIME)?;
        error::time("the time of a table's deletion", self.deletion_time, MAX_TIME)?;
        let random = Random::seeded(self.seed);
        Ok(FaultStore {
            shared: Arc::new(Shared {
                inner,
                faults: self,
                random,
                calm: AtomicBool::new(false),
                injected: AtomicU64::new(0),
                closed: Mutex::default(),
            }),
        })
    }
}

impl Layer for Faults {
    fn around(self, store: Arc<dyn Store>) -> Result<Arc<dyn Store>, LayerError> {
        Ok(Arc::new(self.store(store)?))
    }
}

/// A store that fails on purpose. Clones are the same store. See [`Faults`].
#[derive(Debug, Clone)]
pub struct FaultStore {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    inner: Arc<dyn Store>,
    faults: Faults,
    random: Random,
    calm: AtomicBool,
    injected: AtomicU64,
    closed: Mutex<Closed>,
}

/// What does not answer for a while, and until when.
#[derive(Debug, Default)]
struct Closed {
    partitions: BTreeMap<(String, String), Instant>,
    tables: BTreeMap<String, Instant>,
}

impl FaultStore {
    /// No more faults of any kind, until [`storm`](Self::storm).
    pub fn calm(&self) {
        self.shared.calm.store(true, Ordering::Relaxed);
    }

    /// Faults again, as the settings say.
    pub fn storm(&self) {
        self.shared.calm.store(false, Ordering::Relaxed);
    }

    /// How many requests have met a fault so far; slow replies and pages do not count.
    #[must_use]
    pub fn injected(&self) -> u64 {
        self.shared.injected.load(Ordering::Relaxed)
    }

    /// Takes a partition off-line from now on, for that time.
    pub fn take_offline(&self, table: &TableName, partition_key: &str, time: Duration) {
        self.shared.take_offline(table, partition_key, time);
    }
}

impl Shared {
    fn closed(&self) -> MutexGuard<'_, Closed> {
        self.closed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_calm(&self) -> bool {
        self.calm.load(Ordering::Relaxed)
    }

    fn happens(&self, probability: f64) -> bool {
        self.random.unit() < probability && !self.is_calm()
    }

    fn time(&self, most: Duration) -> Duration {
        most.mul_f64(self.random.unit())
    }

    fn take_offline(&self, table: &TableName, partition_key: &str, time: Duration) {
        let partition = (lower_case(table), partition_key.to_owned());
        self.closed().partitions.insert(partition, Instant::now() + time);
    }

    /// What becomes of a request to a table, or to one partition of it.
    fn fate(&self, table: Option<&TableName>, partition_key: Option<&str>) -> Fate {
        let fate = Fate::drawn(&self.faults, &self.random);
        let goes_offline = self.happens(self.faults.offline);
        if let (Some(table), Some(partition_key)) = (table, partition_key)
            && goes_offline
        {
            self.take_offline(table, partition_key, self.faults.offline_time);
        }
        if self.is_calm() {
            return Fate::Answered;
        }
        let now = Instant::now();
        let closed = self.closed();
        let is_closed = |until: Option<&Instant>| until.is_some_and(|&until| now < until);
        match (table, partition_key) {
            (Some(table), _) if is_closed(closed.tables.get(&lower_case(table))) => {
                Fate::TableBeingDeleted
            }
            (Some(table), Some(partition_key))
                if is_closed(
                    closed.partitions.get(&(lower_case(table), partition_key.to_owned())),
                ) =>
            {
                Fate::Offline
            }
            _ => fate,
        }
    }

    /// Carries out a request as its fate has it.
    async fn meet<T>(
        &self,
        fate: Fate,
        request: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        if fate != Fate::Answered {
            self.injected.fetch_add(1, Ordering::Relaxed);
        }
        if self.happens(self.faults.slow) {
            sleep(self.time(self.faults.slowest)).await;
        }
        if let Some(error) = fate.error_before(&self.random) {
            return Err(error);
        }
        let answer = request.await;
        if self.happens(self.faults.slow) {
            sleep(self.time(self.faults.slowest)).await;
        }
        match fate.error_after() {
            Some(error) => Err(error),
            None => answer,
        }
    }

    /// As [`meet`](Self::meet), for a write, which may also come late.
    async fn meet_write<T: Send + 'static>(
        &self,
        fate: Fate,
        request: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        if fate != Fate::Late {
            return self.meet(fate, request).await;
        }
        self.injected.fetch_add(1, Ordering::Relaxed);
        let delay = self.time(self.faults.slowest);
        tokio::spawn(async move {
            sleep(delay).await;
            request.await
        });
        Err(fate::no_answer())
    }
}

fn lower_case(table: &TableName) -> String {
    table.as_str().to_ascii_lowercase()
}

#[async_trait]
impl Store for FaultStore {
    fn hidden_property(&self) -> Option<&str> {
        self.shared.inner.hidden_property()
    }

    async fn create_table(&self, table: &TableName) -> Result<(), StoreError> {
        let shared = &self.shared;
        shared.meet(shared.fate(Some(table), None), shared.inner.create_table(table)).await
    }

    async fn delete_table(&self, table: &TableName) -> Result<(), StoreError> {
        let shared = &self.shared;
        let delete = async {
            shared.inner.delete_table(table).await?;
            let until = Instant::now() + shared.faults.deletion_time;
            shared.closed().tables.insert(lower_case(table), until);
            Ok(())
        };
        shared.meet(shared.fate(Some(table), None), delete).await
    }

    async fn list_tables(&self) -> Result<Vec<TableName>, StoreError> {
        let shared = &self.shared;
        shared.meet(shared.fate(None, None), shared.inner.list_tables()).await
    }

    async fn get(
        &self,
        table: &TableName,
        partition_key: &str,
        row_key: &str,
        select: Option<&[&str]>,
        metadata: Metadata,
    ) -> Result<Option<StoredRow>, StoreError> {
        let shared = &self.shared;
        let get = shared.inner.get(table, partition_key, row_key, select, metadata);
        shared.meet(shared.fate(Some(table), Some(partition_key)), get).await
    }

    async fn query(&self, query: &RowQuery) -> Result<Page, StoreError> {
        let shared = &self.shared;
        let partition_key = match &query.keys.partition {
            Span::Exact(partition_key) => Some(partition_key.as_str()),
            _ => None,
        };
        let fate = shared.fate(Some(&query.table), partition_key);
        let empty = shared.happens(shared.faults.empty_pages);
        let short = shared.happens(shared.faults.short_pages);
        let query = pages::ask(query, short.then_some(&shared.random));
        let page = async {
            if empty { Ok(pages::empty(&query)) } else { shared.inner.query(&query).await }
        };
        shared.meet(fate, page).await
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        let shared = &self.shared;
        let fate = shared.fate(Some(table), Some(partition_key));
        let inner = Arc::clone(&shared.inner);
        let (table, partition_key) = (table.clone(), partition_key.to_owned());
        let write = async move { inner.write(&table, &partition_key, operation).await };
        shared.meet_write(fate, write).await
    }

    async fn commit(
        &self,
        table: &TableName,
        transaction: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let shared = &self.shared;
        let fate = shared.fate(Some(table), Some(&transaction.partition_key));
        let inner = Arc::clone(&shared.inner);
        let table = table.clone();
        let commit = async move { inner.commit(&table, transaction).await };
        shared.meet_write(fate, commit).await
    }
}

/// An error of the service with a code whose status it knows.
fn service_error(code: ErrorCode) -> StoreError {
    StoreError::new(code, "A fault injected on purpose.")
}
