//! A layer that counts requests, and kills the process in the middle of them on request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use table_orm::layer::{Layer, LayerError};
use table_orm::store::{Middleware, Store, StoreAnswer, StoreError, StoreRequest};

/// Counts requests. Clones share the count.
#[derive(Debug, Clone)]
pub struct Meter {
    sent: Arc<AtomicU64>,
    /// The number of the request instead of which the process dies; 0 for none.
    last: u64,
    dies_after_transaction: Arc<AtomicBool>,
}

impl Meter {
    /// A meter that kills the process instead of the request of that number, if there is one.
    pub fn new(last: Option<u64>) -> Self {
        let dies_after_transaction = Arc::default();
        Self { sent: Arc::default(), last: last.unwrap_or(0), dies_after_transaction }
    }

    /// How many requests were sent.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Kills the process after the answer to the next transaction.
    pub fn die_after_transaction(&self) {
        self.dies_after_transaction.store(true, Ordering::Relaxed);
    }

    /// Ends the process at once, as `kill -9` does: nothing is finished, and nothing is closed.
    fn die(requests: u64) -> ! {
        eprintln!("shop: killed after {requests} requests; run it again");
        std::process::abort();
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
        request: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let is_transaction = request.operation == "commit";
        let number = self.meter.sent.fetch_add(1, Ordering::Relaxed) + 1;
        if number == self.meter.last {
            Meter::die(number - 1);
        }
        let answer = next.await;
        if is_transaction && self.meter.dies_after_transaction.load(Ordering::Relaxed) {
            Meter::die(number);
        }
        answer
    }
}
