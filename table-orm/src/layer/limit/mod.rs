//! Limits how many requests run at once.
//!
//! Requests over the limit wait in the order they came. A call that is dropped releases its permit.
//! Below [`Retry`](super::Retry), a call that waits for its next attempt holds no permit. A
//! [scan](crate::scan) limits its requests by itself, so they take no permits.
//!
//! [`adaptive`](ConcurrencyLimit::adaptive) finds the number by how long requests take.
//!
//! A task may stop polling a call that has a permit, in order to await another call: for example, it takes an
//! item from `buffer_unordered` and writes it. If no permit comes back for a second, and nobody polls some of
//! the calls that have one, the next call goes on without a permit. The time in which nobody polls a call does
//! not count as time of the service. A limit of a partition has no such exception.

mod gate;
mod gradient;
mod watch;

use super::retry::is_ambiguous;
use super::{Layer, LayerError, error};
use crate::store::{Middleware, Store, StoreAnswer, StoreError, StoreRequest};
use crate::sync::{KeyedLock, held};
use gate::{Entry, Gate};
use gradient::{Ending, Gradient, Kind};
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::time::Instant;

/// The highest limit of requests at once.
pub const MAX_IN_FLIGHT: usize = 10_000;
/// The default limit of requests at once: 64.
pub const DEFAULT_IN_FLIGHT: usize = 64;

/// Settings of the concurrency limit; 64 requests at once by default.
///
/// ```
/// use table_orm::Tables;
/// use table_orm::layer::ConcurrencyLimit;
///
/// # fn run() -> table_orm::Result<()> {
/// let tables = Tables::in_memory()?.layer(ConcurrencyLimit::in_flight(16).per_partition(4))?;
/// # Ok(())
/// # }
/// # run().unwrap();
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "settings do nothing until `Tables::layer` or `around`"]
pub struct ConcurrencyLimit {
    in_flight: usize,
    per_partition: Option<usize>,
    is_adaptive: bool,
}

impl Default for ConcurrencyLimit {
    fn default() -> Self {
        Self::in_flight(DEFAULT_IN_FLIGHT)
    }
}

impl ConcurrencyLimit {
    /// Limits the requests that run at once, 1 to [`MAX_IN_FLIGHT`].
    pub const fn in_flight(requests: usize) -> Self {
        Self { in_flight: requests, per_partition: None, is_adaptive: false }
    }

    /// Adapts the limit to the service: fewer requests run at once while the service takes longer or rejects
    /// requests, but at least 1, and at most the set limit. It begins with two, and learns within some requests how
    /// many the service takes at once. It follows the gradient limits of Netflix's `concurrency-limits`.
    ///
    /// So a slow server works at its full speed, whatever that is, and answers in time.
    pub const fn adaptive(mut self) -> Self {
        self.is_adaptive = true;
        self
    }

    /// Limits those of one partition, 1 to [`MAX_IN_FLIGHT`], so that a slow partition leaves room for
    /// others. Queries over several partitions do not count.
    pub const fn per_partition(mut self, requests: usize) -> Self {
        self.per_partition = Some(requests);
        self
    }
}

impl Layer for ConcurrencyLimit {
    fn around(self, store: Arc<dyn Store>) -> Result<Arc<dyn Store>, LayerError> {
        Ok(Arc::new(self.limited(store)?))
    }
}

impl ConcurrencyLimit {
    fn limited(self, store: Arc<dyn Store>) -> Result<Limited, LayerError> {
        error::number("the number of requests at once", self.in_flight, MAX_IN_FLIGHT)?;
        if let Some(requests) = self.per_partition {
            error::number("the number of requests to a partition", requests, MAX_IN_FLIGHT)?;
        }
        let learned = self.is_adaptive.then(|| Gradient::new(self.in_flight, Instant::now()));
        let first = learned.as_ref().map_or(self.in_flight, Gradient::limit);
        Ok(Limited {
            inner: store,
            all: Gate::new(first),
            learned: learned.map(Mutex::new),
            partitions: self.per_partition.map(KeyedLock::new),
        })
    }
}

#[derive(Debug)]
struct Limited {
    inner: Arc<dyn Store>,
    all: Gate,
    learned: Option<Mutex<Gradient>>,
    partitions: Option<KeyedLock<(String, String)>>,
}

impl Middleware for Limited {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn call<T: StoreAnswer>(
        &self,
        request: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        if request.self_paced {
            return next.await;
        }
        // The partition first: a request that waits for it takes no permit from other partitions.
        let permits = async {
            let in_partition = match self.partitions.as_ref().zip(request.partition()) {
                Some((partitions, partition)) => Some(partitions.acquire(partition).await),
                None => None,
            };
            (in_partition, self.all.enter().await)
        };
        let (_in_partition, entry) = held(permits).await;
        let watch = Arc::clone(&entry.watch);
        let next = watch.over(next);
        let Some(learned) = &self.learned else { return next.await };
        let size = if request.is_write() { request.entities } else { 0 };
        let kind = Kind { operation: request.operation, class: request.class, size: log2(size) };
        let mut measured = Measured {
            gate: &self.all,
            learned,
            entry,
            kind,
            start: Instant::now(),
            ending: Ending::GivenUp,
        };
        let answer = next.await;
        measured.ending = match &answer {
            Ok(answer) => {
                if !request.is_write() {
                    measured.kind.size = log2(answer.bytes() / 1024);
                }
                Ending::Answered
            }
            Err(error) if error.status == 0 || error.is_throttling() || is_ambiguous(error) => {
                Ending::Rejected
            }
            Err(_) => Ending::Answered,
        };
        answer
    }
}

/// The logarithm of a size, 0 for none.
fn log2(size: usize) -> u32 {
    (size + 1).ilog2()
}

/// A request in flight. Its end, which may be that it is dropped, changes the limit.
struct Measured<'l> {
    gate: &'l Gate,
    learned: &'l Mutex<Gradient>,
    entry: Entry<'l>,
    kind: Kind,
    start: Instant,
    ending: Ending,
}

impl Drop for Measured<'_> {
    fn drop(&mut self) {
        let now = Instant::now();
        let time = (now - self.start).saturating_sub(self.entry.watch.was_left_for());
        let mut learned = self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        learned.ended(self.kind, self.entry.inside, time, self.ending, now);
        // Under the same lock, so that no older limit comes after a newer one.
        self.gate.resize(learned.limit());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Metadata, TableName};
    use crate::testing::{FakeService, KeySet, ServiceSettings};
    use futures_util::FutureExt as _;
    use std::time::Duration;
    use tokio::time::sleep;

    #[tokio::test(start_paused = true)]
    async fn time_in_which_a_call_is_not_polled_is_not_taken_for_the_services() {
        let keys = KeySet::new([("p".to_owned(), "r".to_owned())]);
        let latency = (Duration::from_millis(10), Duration::from_millis(20));
        let service = FakeService::new(keys, ServiceSettings { latency, ..Default::default() });
        let limited = ConcurrencyLimit::default().adaptive().limited(Arc::new(service)).unwrap();
        let table = TableName::new("People").unwrap();
        for _ in 0..5 {
            let get = Store::get(&limited, &table, "p", "r", None, Metadata::None);
            let mut get = Box::pin(get);
            assert!(get.as_mut().now_or_never().is_none());
            sleep(Duration::from_secs(20)).await;
            get.await.unwrap();
        }
        let at_rest = limited.learned.unwrap().into_inner().unwrap().at_rest();
        assert!((0.01..0.03).contains(&at_rest[0]), "{at_rest:?}");
    }
}
