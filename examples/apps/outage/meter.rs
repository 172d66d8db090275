//! A store around a store that records when each request is sent and how it ends.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use table_orm::store::{Middleware, Store, StoreAnswer, StoreError, StoreRequest};
use tokio::time::Instant;

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// The app has made a call.
    Called,
    /// The call has returned.
    Returned,
    /// A request was sent.
    Sent,
    /// It was answered.
    Answered,
    /// It was throttled: 429 or 503.
    Throttled,
    /// It failed otherwise, or no answer came.
    Failed,
}

/// An event and its time since the start.
#[derive(Debug, Clone, Copy)]
pub struct Event {
    /// When.
    pub at: Duration,
    /// What.
    pub what: What,
}

/// Records events. Clones share the record.
#[derive(Debug, Clone)]
pub struct Meter {
    inner: Arc<dyn Store>,
    log: Arc<Mutex<Log>>,
}

#[derive(Debug)]
struct Log {
    start: Instant,
    events: Vec<Event>,
}

impl Meter {
    /// Around a store.
    pub fn around(inner: Arc<dyn Store>) -> Self {
        let log = Log { start: Instant::now(), events: Vec::new() };
        Self { inner, log: Arc::new(Mutex::new(log)) }
    }

    fn with_log<T>(&self, change: impl FnOnce(&mut Log) -> T) -> T {
        change(&mut self.log.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Forgets all events, and starts now.
    pub fn start(&self) {
        self.with_log(|log| *log = Log { start: Instant::now(), events: Vec::new() });
    }

    /// Records an event now.
    pub fn record(&self, what: What) {
        self.with_log(|log| log.events.push(Event { at: log.start.elapsed(), what }));
    }

    /// All events so far, in order.
    pub fn events(&self) -> Vec<Event> {
        self.with_log(|log| log.events.clone())
    }
}

impl Middleware for Meter {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn call<T: StoreAnswer>(
        &self,
        _: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self.record(What::Sent);
        let answer = next.await;
        self.record(match &answer {
            Err(error) if matches!(error.status, 429 | 503) => What::Throttled,
            Err(error) if matches!(error.status, 0 | 408 | 500..) => What::Failed,
            _ => What::Answered,
        });
        answer
    }
}
