//! A store that records its requests.

use std::sync::{Arc, Mutex};
use table_orm::Tables;
use table_orm::embedded::EmbeddedStore;
use table_orm::query::RowQuery;
use table_orm::store::{Middleware, Store, StoreAnswer, StoreError, StoreRequest};

/// Point queries by number, other queries, and writes by the number of their operations.
#[derive(Debug, Default)]
pub struct Requests {
    pub gets: usize,
    pub queries: Vec<RowQuery>,
    pub writes: Vec<usize>,
}

impl Requests {
    fn add(&mut self, request: &StoreRequest<'_>) {
        match request.query {
            Some(query) => self.queries.push(query.clone()),
            None if request.operation == "get" => self.gets += 1,
            None if request.partition_key.is_some() => self.writes.push(request.entities),
            // It is about a table.
            None => {}
        }
    }
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

    async fn call<T: StoreAnswer>(
        &self,
        request: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self.requests.lock().unwrap().add(&request);
        next.await
    }
}
