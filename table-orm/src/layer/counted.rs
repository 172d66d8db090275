//! Counts requests.

use crate::store::{Middleware, Store, StoreAnswer, StoreError, StoreRequest};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A store around a store, which counts its requests.
#[derive(Debug)]
pub(crate) struct Counted {
    inner: Arc<dyn Store>,
    requests: AtomicUsize,
}

impl Counted {
    pub fn new(inner: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self { inner, requests: AtomicUsize::new(0) })
    }

    /// The requests since the last call.
    pub fn take(&self) -> usize {
        self.requests.swap(0, Relaxed)
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
