//! A store that records its requests.

use std::sync::{Arc, Mutex};
use table_orm::embedded::EmbeddedStore;
use table_orm::model::Metadata;
use table_orm::query::RowQuery;
use table_orm::store::Middleware;
use table_orm::store::{Batch, Operation, Page, Store, StoreError, StoredRow};
use table_orm::{ETag, TableName, Tables};

/// Point queries by number, other queries, and writes by the number of their operations.
#[derive(Debug, Default)]
pub struct Requests {
    pub gets: usize,
    pub queries: Vec<RowQuery>,
    pub writes: Vec<usize>,
}

#[derive(Debug)]
struct Recorder {
    inner: Arc<dyn Store>,
    requests: Arc<Mutex<Requests>>,
}

/// Returns the requests so far, and forgets them.
pub struct Record(Arc<Mutex<Requests>>);

impl Record {
    pub fn take(&self) -> Requests {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// Tables in memory that record their requests.
pub fn recorded() -> (Tables, Record) {
    recorded_in(EmbeddedStore::in_memory().unwrap())
}

/// Tables of that store that record their requests.
pub fn recorded_in(store: EmbeddedStore) -> (Tables, Record) {
    recorded_around(store)
}

/// Tables of any store that record their requests.
pub fn recorded_around(store: impl Store + 'static) -> (Tables, Record) {
    let requests = Arc::<Mutex<Requests>>::default();
    let store = Recorder { inner: Arc::new(store), requests: Arc::clone(&requests) };
    (Tables::new(store), Record(requests))
}

impl Middleware for Recorder {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn get(
        &self,
        table: &TableName,
        partition_key: &str,
        row_key: &str,
        select: Option<&[&str]>,
        metadata: Metadata,
    ) -> Result<Option<StoredRow>, StoreError> {
        self.requests.lock().unwrap().gets += 1;
        self.inner.get(table, partition_key, row_key, select, metadata).await
    }

    async fn query(&self, query: &RowQuery) -> Result<Page, StoreError> {
        self.requests.lock().unwrap().queries.push(query.clone());
        self.inner.query(query).await
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        self.requests.lock().unwrap().writes.push(1);
        self.inner.write(table, partition_key, operation).await
    }

    async fn commit(
        &self,
        table: &TableName,
        transaction: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        self.requests.lock().unwrap().writes.push(transaction.operations.len());
        self.inner.commit(table, transaction).await
    }
}
