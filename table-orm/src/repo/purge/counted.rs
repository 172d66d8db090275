//! A store that counts the requests of one call.

use crate::store::{Middleware, Store, StoreAnswer, StoreError, StoreRequest};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[derive(Debug)]
pub(super) struct Counted {
    inner: Arc<dyn Store>,
    requests: AtomicU64,
}

impl Counted {
    pub fn new(inner: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self { inner, requests: AtomicU64::new(0) })
    }

    pub fn requests(&self) -> u64 {
        self.requests.load(Relaxed)
    }
}

impl Middleware for Counted {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn call<T: StoreAnswer>(
        &self,
        _: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self.requests.fetch_add(1, Relaxed);
        next.await
    }
}
