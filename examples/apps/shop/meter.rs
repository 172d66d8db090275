//! A layer that counts requests, and kills the process in the middle of them on request.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use table_orm::layer::{Layer, LayerError};
use table_orm::store::{Middleware, Store, StoreAnswer, StoreError, StoreRequest};

/// Counts requests. Clones share the count.
#[derive(Debug, Clone)]
pub struct Meter {
    sent: Arc<AtomicU64>,
    /// The number of the request instead of which the process dies; 0 for none.
    last: Arc<AtomicU64>,
}

impl Meter {
    /// A meter that kills the process instead of the request of that number, if there is one.
    pub fn new(last: Option<u64>) -> Self {
        Self { sent: Arc::default(), last: Arc::new(AtomicU64::new(last.unwrap_or(0))) }
    }

    /// How many requests were sent.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Kills the process after so many more requests.
    pub fn die_after(&self, requests: u64) {
        self.last.store(self.sent() + requests + 1, Ordering::Relaxed);
    }
}

impl Layer for Meter {
    fn around(self, inner: Arc<dyn Store>) -> Result<Arc<dyn Store>, LayerError> {
        Ok(Arc::new(Metered { inner, meter: self }))
    }
}

#[derive(Debug)]
struct Metered {
    inner: Arc<dyn Store>,
    meter: Meter,
}

impl Middleware for Metered {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn call<T: StoreAnswer>(
        &self,
        _: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let number = self.meter.sent.fetch_add(1, Ordering::Relaxed) + 1;
        if number == self.meter.last.load(Ordering::Relaxed) {
            eprintln!("shop: killed after {} requests; run it again", number - 1);
            // Ends at once, as `kill -9` does: nothing is finished, and nothing is closed.
            std::process::abort();
        }
        next.await
    }
}
