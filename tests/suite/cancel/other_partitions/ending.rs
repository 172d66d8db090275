//! A store for a process that ends at a point that the test chooses.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use table_orm::store::{Middleware, Store, StoreAnswer, StoreError, StoreRequest};
use tokio::sync::Notify;

/// A process ends before one of its requests is sent, or before the answer comes. Nothing of it goes on then: no
/// task in the background either.
#[derive(Debug)]
pub struct Ending {
    store: Arc<dyn Store>,
    /// The points that it still passes.
    left: AtomicUsize,
    has_ended: AtomicBool,
    ended: Notify,
}

impl Ending {
    /// Ends after that many points: two for each request.
    pub fn after(points: usize, store: Arc<dyn Store>) -> Arc<Self> {
        let (left, has_ended) = (AtomicUsize::new(points), AtomicBool::new(false));
        Arc::new(Self { store, left, has_ended, ended: Notify::new() })
    }

    /// Runs a call until it returns, or until the process ends.
    pub async fn run<T>(&self, call: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.ended.notified() => None,
            returned = call => Some(returned),
        }
    }

    /// Whether the process has ended.
    pub fn has_ended(&self) -> bool {
        self.has_ended.load(SeqCst)
    }

    async fn pass(&self) {
        let passed = self.left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1));
        if passed.is_err() {
            self.has_ended.store(true, SeqCst);
            self.ended.notify_one();
            pending().await
        }
    }
}

impl Middleware for Ending {
    fn inner(&self) -> &dyn Store {
        &*self.store
    }

    async fn call<T: StoreAnswer>(
        &self,
        _: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self.pass().await;
        let answer = next.await;
        self.pass().await;
        answer
    }
}
