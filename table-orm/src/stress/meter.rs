//! Counts the requests that pass, and what became of them.

use crate::layer::rate::{units, units_read};
use crate::store::{Middleware, Store, StoreAnswer, StoreError, StoreRequest};
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;

/// A store whose requests are counted, those of rows only. Clones count together.
#[derive(Debug, Clone)]
pub(super) struct Meter {
    inner: Arc<dyn Store>,
    counts: Arc<Mutex<Counts>>,
}

/// Requests and their answers.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub requests: u64,
    /// Entities of up to 1 KiB in the requests that succeeded.
    pub entities: u64,
    /// Answered with 429 or 503.
    pub throttled: u64,
    pub first_throttled: Option<Instant>,
    /// All other errors, by code.
    pub errors: BTreeMap<String, u64>,
    /// Those of them that are no answer to what was sent: of the store or the network.
    pub faults: u64,
    pub bytes_up: u64,
    pub bytes_down: u64,
}

impl Meter {
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self { inner, counts: Arc::default() }
    }

    /// Takes what was counted since the last call.
    pub fn take(&self) -> Counts {
        std::mem::take(&mut *self.counts())
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wide(number: usize) -> u64 {
    number.try_into().unwrap_or(u64::MAX)
}

impl Middleware for Meter {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn call<T: StoreAnswer>(
        &self,
        request: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        if request.entities == 0 {
            return next.await;
        }
        let sent = units(request.entities, request.bytes);
        let answer = next.await;
        let mut counts = self.counts();
        counts.requests += 1;
        counts.bytes_up += wide(request.bytes);
        match &answer {
            Ok(answer) => {
                counts.entities += wide(sent.max(units_read(answer)));
                counts.bytes_down += wide(answer.bytes());
            }
            Err(error) if error.is_throttling() => {
                counts.throttled += 1;
                counts.first_throttled.get_or_insert_with(Instant::now);
            }
            Err(error) => {
                // With such a status the service rejects what was sent, except after a time of waiting.
                let is_of_request = (400..500).contains(&error.status) && error.status != 408;
                counts.faults += u64::from(!is_of_request);
                *counts.errors.entry(error.code.to_string()).or_default() += 1;
            }
        }
        drop(counts);
        answer
    }
}
