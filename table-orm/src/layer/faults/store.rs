//! The store that fails on purpose.
//!
//! Invariant: each kind of request samples its random numbers in a fixed order, even while faults
//! are disabled, so that a seed replays.

use super::fault::{self, InjectedFault};
use super::pages;
use super::script::RequestCounts;
use super::settings::{Faults, MAX_TIME};
use crate::layer::{Layer, LayerError};
use crate::model::{ETag, TableName};
use crate::query::RowQuery;
use crate::store::{
    Batch, Middleware, Operation, Page, Store, StoreAnswer, StoreError, StoreRequest,
};
use crate::sync::Random;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep};

impl Faults {
    /// A store with these faults. A clone of it controls the faults while a test runs.
    ///
    /// # Errors
    /// A probability is outside 0 to 1, or those of the faults that exclude each other add up to more
    /// than 1; or a time is zero or longer than a day.
    pub fn store(self, inner: Arc<dyn Store>) -> Result<FaultStore, LayerError> {
        self.check()?;
        Ok(FaultStore {
            shared: Arc::new(Shared {
                inner,
                random: Random::seeded(self.seed),
                faults: self,
                disabled: AtomicBool::new(false),
                injected: AtomicU64::new(0),
                closed: Mutex::default(),
                counts: Mutex::default(),
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
    disabled: AtomicBool,
    injected: AtomicU64,
    closed: Mutex<Closed>,
    counts: Mutex<RequestCounts>,
}

/// What is offline, and until when.
#[derive(Debug, Default)]
struct Closed {
    partitions: BTreeMap<(String, String), Instant>,
    tables: BTreeMap<String, Instant>,
}

impl FaultStore {
    /// Stops all faults, until [`enable`](Self::enable).
    pub fn disable(&self) {
        self.shared.disabled.store(true, Ordering::Relaxed);
    }

    /// Starts faults again, as the settings say.
    pub fn enable(&self) {
        self.shared.disabled.store(false, Ordering::Relaxed);
    }

    /// How many requests got a fault so far; slow replies and short or empty pages do not count.
    #[must_use]
    pub fn injected(&self) -> u64 {
        self.shared.injected.load(Ordering::Relaxed)
    }

    /// Takes a partition offline now, for that time, a day at most.
    pub fn take_offline(&self, table: &TableName, partition_key: &str, time: Duration) {
        let request = StoreRequest::get(table, partition_key);
        self.shared.take_offline(request.partition(), time.min(MAX_TIME));
    }
}

impl Shared {
    fn closed(&self) -> MutexGuard<'_, Closed> {
        self.closed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_disabled(&self) -> bool {
        self.disabled.load(Ordering::Relaxed)
    }

    fn happens(&self, probability: f64) -> bool {
        self.random.unit() < probability && !self.is_disabled()
    }

    fn time(&self, most: Duration) -> Duration {
        most.mul_f64(self.random.unit())
    }

    fn take_offline(&self, partition: Option<(String, String)>, time: Duration) {
        if let Some(partition) = partition {
            self.closed().partitions.insert(partition, Instant::now() + time);
        }
    }

    /// Chooses the fault of a request.
    fn sample(&self, request: &StoreRequest<'_>) -> Option<InjectedFault> {
        let fault = InjectedFault::sample(&self.faults, &self.random);
        if self.happens(self.faults.offline) {
            self.take_offline(request.partition(), self.faults.offline_time);
        }
        if self.is_disabled() {
            return None;
        }
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(scripted) = counts.next(request.operation, &self.faults.script) {
            return Some(scripted.into());
        }
        let (now, closed) = (Instant::now(), self.closed());
        let is_closed = |until: Option<&Instant>| until.is_some_and(|&until| now < until);
        if request.table.is_some_and(|table| is_closed(closed.tables.get(&lower_case(table)))) {
            return Some(InjectedFault::TableBeingDeleted);
        }
        if request.partition().is_some_and(|partition| is_closed(closed.partitions.get(&partition)))
        {
            return Some(InjectedFault::Offline);
        }
        fault
    }

    /// Carries out a request with its fault.
    async fn apply<T>(
        &self,
        fault: Option<InjectedFault>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self.injected.fetch_add(fault.is_some().into(), Ordering::Relaxed);
        if self.happens(self.faults.slow) {
            sleep(self.time(self.faults.slowest)).await;
        }
        if let Some(error) = fault.as_ref().and_then(|fault| fault.error_before(&self.random)) {
            return Err(error);
        }
        let answer = next.await;
        if self.happens(self.faults.slow) {
            sleep(self.time(self.faults.slowest)).await;
        }
        match fault.as_ref().and_then(InjectedFault::error_after) {
            Some(error) => Err(error),
            None => answer,
        }
    }

    /// As [`apply`](Self::apply), for a write, which may also be late.
    async fn apply_to_write<T: Send + 'static>(
        &self,
        fault: Option<InjectedFault>,
        next: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        if fault != Some(InjectedFault::Late) {
            return self.apply(fault, next).await;
        }
        self.injected.fetch_add(1, Ordering::Relaxed);
        let delay = self.time(self.faults.latest.unwrap_or(self.faults.slowest));
        tokio::spawn(async move {
            sleep(delay).await;
            next.await
        });
        Err(fault::no_answer())
    }
}

fn lower_case(table: &TableName) -> String {
    table.as_str().to_ascii_lowercase()
}

impl Middleware for FaultStore {
    fn inner(&self) -> &dyn Store {
        &*self.shared.inner
    }

    async fn call<T: StoreAnswer>(
        &self,
        request: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self.shared.apply(self.shared.sample(&request), next).await
    }

    async fn delete_table(&self, table: &TableName) -> Result<(), StoreError> {
        let shared = &self.shared;
        let delete = async {
            self.inner().delete_table(table).await?;
            let until = Instant::now() + shared.faults.deletion_time;
            shared.closed().tables.insert(lower_case(table), until);
            Ok(())
        };
        self.call(StoreRequest::delete_table(table), delete).await
    }

    async fn query(&self, asked: &RowQuery) -> Result<Page, StoreError> {
        let shared = &self.shared;
        let fault = shared.sample(&StoreRequest::query(asked));
        let empty = shared.happens(shared.faults.empty_pages);
        let short = shared.happens(shared.faults.short_pages);
        // A setting that came later: the numbers of older seeds stay.
        let cut = shared.faults.cut_pages > 0.0 && shared.happens(shared.faults.cut_pages);
        let query = pages::ask(asked, (short || cut).then_some(&shared.random));
        let page = async {
            if cut {
                sleep(pages::QUERY_TIME).await;
            }
            if empty { Ok(pages::empty(asked)) } else { self.inner().query(&query).await }
        };
        shared.apply(fault, page).await
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        let shared = &self.shared;
        let fault = shared.sample(&StoreRequest::write(table, partition_key, &operation));
        let inner = Arc::clone(&shared.inner);
        let (table, partition_key) = (table.clone(), partition_key.to_owned());
        let write = async move { inner.write(&table, &partition_key, operation).await };
        shared.apply_to_write(fault, write).await
    }

    async fn commit(
        &self,
        table: &TableName,
        transaction: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let shared = &self.shared;
        let Batch { partition_key, operations } = &transaction;
        let fault = shared.sample(&StoreRequest::commit(table, partition_key, operations));
        let inner = Arc::clone(&shared.inner);
        let table = table.clone();
        let is_rejected = matches!(fault, Some(InjectedFault::Rejected(_)));
        let commit = async move { inner.commit(&table, transaction).await };
        let answer = shared.apply_to_write(fault, commit).await;
        answer.map_err(|error| if is_rejected { error.at(0) } else { error })
    }
}
