//! A store whose answers take time, and what it notes.

use super::order::DAY;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use table_orm::embedded::EmbeddedStore;
use table_orm::store::{Middleware, Store, StoreAnswer, StoreError, StoreRequest};
use tokio::time::sleep;

/// A client's way to a store.
#[derive(Debug, Clone)]
pub struct Distant {
    inner: Arc<EmbeddedStore>,
    /// How long a request takes besides the store's work: half of it on its way there.
    latency: Duration,
    notes: Arc<Mutex<Notes>>,
}

/// What the client has seen.
#[derive(Debug, Default, Clone)]
pub struct Notes {
    pub requests: u64,
    /// How long each request took.
    pub times: Vec<Duration>,
    /// When the last transaction of an order was answered, and when that of its row by day.
    pub written: Option<Instant>,
    pub followed: Option<Instant>,
}

impl Distant {
    pub fn new(inner: Arc<EmbeddedStore>, latency: Duration) -> Self {
        Self { inner, latency, notes: Arc::default() }
    }

    /// What it has noted since the last call.
    pub fn take(&self) -> Notes {
        std::mem::take(&mut self.notes.lock().unwrap())
    }

    async fn travel(&self) {
        if !self.latency.is_zero() {
            sleep(self.latency / 2).await;
        }
    }
}

impl Middleware for Distant {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn call<T: StoreAnswer>(
        &self,
        request: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let (is_transaction, by_day) =
            (request.operation == "commit", request.partition_key == Some(DAY));
        let sent = Instant::now();
        self.travel().await;
        let answer = next.await;
        self.travel().await;
        let mut notes = self.notes.lock().unwrap();
        notes.requests += 1;
        notes.times.push(sent.elapsed());
        if is_transaction && answer.is_ok() {
            let now = Some(Instant::now());
            if by_day {
                notes.followed = now;
            } else {
                notes.written = now;
            }
        }
        answer
    }
}
