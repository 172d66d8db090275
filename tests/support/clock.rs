//! A store whose clock can be put forward.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use table_orm::model::DateTime;
use table_orm::store::{Middleware, Store};

#[derive(Debug)]
struct Ahead {
    inner: Arc<dyn Store>,
    clock: Clock,
}

/// How far the clock of a store is ahead. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Clock(Arc<AtomicI64>);

impl Clock {
    /// Puts it forward.
    pub fn forward(&self, seconds: i64) {
        self.0.fetch_add(seconds * 10_000_000, SeqCst);
    }
}

impl Middleware for Ahead {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    fn service_time(&self) -> Option<DateTime> {
        let now = self.inner.service_time().unwrap_or_else(DateTime::now);
        DateTime::from_ticks(now.ticks() + self.clock.0.load(SeqCst)).ok()
    }
}

/// The same store, with a clock that can be put forward.
pub fn with_clock(store: Arc<dyn Store>) -> (impl Store + 'static, Clock) {
    let clock = Clock::default();
    (Ahead { inner: store, clock: clock.clone() }, clock)
}
