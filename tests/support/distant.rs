//! A store that is far away: requests and answers take their time.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use table_orm::store::{Middleware, Store, StoreAnswer, StoreError, StoreRequest};
use tokio::time::sleep;

type Time = dyn Fn(usize, &'static str) -> Duration + Send + Sync;

/// The same store, and the way to it. Clones are the same way.
#[derive(Clone)]
pub struct Distant {
    inner: Arc<dyn Store>,
    time: Arc<Time>,
    requests: Arc<AtomicUsize>,
}

impl Distant {
    /// `time` returns how long a way takes. It is given the number of the request, counted from 0, and `there` or
    /// `back`.
    pub fn new(
        inner: Arc<dyn Store>,
        time: impl Fn(usize, &'static str) -> Duration + Send + Sync + 'static,
    ) -> Self {
        Self { inner, time: Arc::new(time), requests: Arc::default() }
    }

    /// How many requests were sent.
    pub fn requests(&self) -> usize {
        self.requests.load(Relaxed)
    }
}

impl fmt::Debug for Distant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Distant")
    }
}

impl Middleware for Distant {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn call<T: StoreAnswer>(
        &self,
        _: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let request = self.requests.fetch_add(1, Relaxed);
        sleep((self.time)(request, "there")).await;
        let answer = next.await;
        sleep((self.time)(request, "back")).await;
        answer
    }
}
