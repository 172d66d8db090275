//! The store that fails on purpose.

use super::fault::InjectedFault;
use super::injector::Injector;
use super::pages;
use super::settings::{Faults, MAX_TIME};
use crate::layer::{Layer, LayerError};
use crate::model::{ETag, TableName};
use crate::query::RowQuery;
use crate::store::{
    Batch, Middleware, Operation, Page, Store, StoreAnswer, StoreError, StoreRequest,
};
use std::collections::BTreeMap;
use std::convert::identity;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep};

impl Faults {
    /// A store with these faults. A clone of it controls the faults while a test runs.
    ///
    /// # Errors
    /// A probability is outside 0 to 1, or those of the faults that exclude each other add up to more
    /// than 1; or a time is zero or longer than a day.
    pub fn store(self, inner: impl Store + 'static) -> Result<FaultStore, LayerError> {
        let inner = Arc::new(inner);
        let (injector, closed) = (Injector::new(self)?, Mutex::default());
        Ok(FaultStore { shared: Arc::new(Shared { inner, injector, closed }) })
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
    injector: Injector,
    closed: Mutex<Closed>,
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
        self.shared.injector.disable(true);
    }

    /// Starts faults again, as the settings say.
    pub fn enable(&self) {
        self.shared.injector.disable(false);
    }

    /// Returns how many requests got a fault so far; slow replies and short or empty pages do not count.
    #[must_use]
    pub fn injected(&self) -> u64 {
        self.shared.injector.injected()
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

    fn take_offline(&self, partition: Option<(String, String)>, time: Duration) {
        if let Some(partition) = partition {
            self.closed().partitions.insert(partition, Instant::now() + time);
        }
    }

    /// Chooses the fault of a request.
    fn sample(&self, request: &StoreRequest<'_>) -> Option<InjectedFault> {
        let injector = &self.injector;
        let fault = injector.sample();
        if injector.happens(injector.faults.offline) {
            self.take_offline(request.partition(), injector.faults.offline_time);
        }
        if injector.is_disabled() {
            return None;
        }
        if let Some(scripted) = injector.scripted(request.operation) {
            return Some(scripted);
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
        let shared = &self.shared;
        shared.injector.apply(shared.sample(&request), identity, next).await
    }

    async fn delete_table(&self, table: &TableName) -> Result<(), StoreError> {
        let shared = &self.shared;
        let delete = async {
            self.inner().delete_table(table).await?;
            let until = Instant::now() + shared.injector.faults.deletion_time;
            shared.closed().tables.insert(lower_case(table), until);
            Ok(())
        };
        self.call(StoreRequest::delete_table(table), delete).await
    }

    async fn query(&self, asked: &RowQuery) -> Result<Page, StoreError> {
        let Shared { injector, .. } = &*self.shared;
        let fault = self.shared.sample(&StoreRequest::query(asked));
        let empty = injector.happens(injector.faults.empty_pages);
        let short = injector.happens(injector.faults.short_pages);
        // A setting that came later: the numbers of older seeds stay.
        let cut = injector.faults.cut_pages > 0.0 && injector.happens(injector.faults.cut_pages);
        let query = pages::ask(asked, (short || cut).then_some(&injector.random));
        let page = async {
            if cut {
                sleep(pages::QUERY_TIME).await;
            }
            if empty { Ok(pages::empty(asked)) } else { self.inner().query(&query).await }
        };
        injector.apply(fault, identity, page).await
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
        shared.injector.apply_to_write(fault, identity, write).await
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
        let answer = shared.injector.apply_to_write(fault, identity, commit).await;
        answer.map_err(|error| if is_rejected { error.at(0) } else { error })
    }
}
