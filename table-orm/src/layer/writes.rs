//! A count of the writes that a store is asked for, for tests of what calls cost.

use crate::store::{Middleware, Store, StoreAnswer, StoreError, StoreRequest};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Clones are the same count.
#[derive(Debug, Clone, Default)]
pub(crate) struct Writes(Arc<AtomicU64>);

impl Writes {
    pub(crate) fn around(&self, inner: Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::new(Counted { inner, writes: self.clone() })
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug)]
struct Counted {
    inner: Arc<dyn Store>,
    writes: Writes,
}

impl Middleware for Counted {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn call<T: StoreAnswer>(
        &self,
        request: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self.writes.0.fetch_add(request.is_write().into(), Ordering::Relaxed);
        next.await
    }
}
