//! Bounds how many requests are under way at once.
//!
//! Requests over the limit wait in the order they came. A dropped call gives its place back.
//! Below [`Retry`](super::Retry), a call that waits for its next attempt takes no place.

use super::through::{Around, Partition, Request, Through};
use super::{Layer, LayerError, error};
use crate::store::{Store, StoreError};
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;

/// The most requests under way that can be asked for.
pub const MAX_IN_FLIGHT: usize = 10_000;
/// Requests under way at once, unless told: 64.
pub const DEFAULT_IN_FLIGHT: usize = 64;

/// The concurrency limit's settings; 64 requests at once, unless told.
///
/// ```
/// use table_orm::Tables;
/// use table_orm::layer::Limit;
///
/// # fn run() -> table_orm::Result<()> {
/// let tables = Tables::in_memory()?.layer(Limit::in_flight(16).per_partition(4))?;
/// # Ok(())
/// # }
/// # run().unwrap();
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "settings do nothing until `Tables::layer` or `around`"]
pub struct Limit {
    in_flight: usize,
    per_partition: Option<usize>,
}

impl Default for Limit {
    fn default() -> Self {
        Self::in_flight(DEFAULT_IN_FLIGHT)
    }
}

impl Limit {
    /// At most so many requests at once, 1 to [`MAX_IN_FLIGHT`].
    pub const fn in_flight(requests: usize) -> Self {
        Self { in_flight: requests, per_partition: None }
    }

    /// At most so many of them in one partition, 1 to [`MAX_IN_FLIGHT`], so that a slow partition
    /// leaves room for others. Scans over several partitions do not count.
    pub const fn per_partition(mut self, requests: usize) -> Self {
        self.per_partition = Some(requests);
        self
    }
}

impl Layer for Limit {
    fn around(self, store: Arc<dyn Store>) -> Result<Arc<dyn Store>, LayerError> {
        error::number("the number of requests at once", self.in_flight, MAX_IN_FLIGHT)?;
        if let Some(requests) = self.per_partition {
            error::number("the number of requests to a partition", requests, MAX_IN_FLIGHT)?;
        }
        let places = Places {
            all: Semaphore::new(self.in_flight),
            per_partition: self.per_partition,
            partitions: Mutex::default(),
        };
        Ok(Arc::new(Through { inner: store, around: places }))
    }
}

#[derive(Debug)]
struct Places {
    all: Semaphore,
    per_partition: Option<usize>,
    /// The partitions that have requests.
    partitions: Mutex<Partitions>,
}

type Partitions = BTreeMap<Partition, Arc<Semaphore>>;

impl Places {
    fn partitions(&self) -> MutexGuard<'_, Partitions> {
        self.partitions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, request: &Request<'_>) -> Option<Queue<'_>> {
        let (places, partition) = (self.per_partition?, request.partition()?);
        let mut partitions = self.partitions();
        let semaphore =
            partitions.entry(partition.clone()).or_insert_with(|| Arc::new(Semaphore::new(places)));
        Some(Queue { places: self, partition, semaphore: Some(Arc::clone(semaphore)) })
    }
}

/// A request's stay at its partition.
struct Queue<'p> {
    places: &'p Places,
    partition: Partition,
    /// There until it is dropped.
    semaphore: Option<Arc<Semaphore>>,
}

/// The last one out forgets the partition.
impl Drop for Queue<'_> {
    fn drop(&mut self) {
        let mut partitions = self.places.partitions();
        // Under the lock, so that of two that leave together one is the last.
        self.semaphore = None;
        let last = partitions.get(&self.partition).is_some_and(|it| Arc::strong_count(it) == 1);
        if last {
            partitions.remove(&self.partition);
        }
    }
}

impl Around for Places {
    async fn pass<T: Send>(
        &self,
        request: Request<'_>,
        answer: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        // The partition's place first, so that who waits for it takes none from others. The
        // semaphores are never closed.
        let queue = self.enter(&request);
        let _at_partition = match queue.as_ref().and_then(|queue| queue.semaphore.as_ref()) {
            Some(semaphore) => semaphore.acquire().await.ok(),
            None => None,
        };
        let _place = self.all.acquire().await.ok();
        answer.await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::TableName;
    use crate::layer::through::on_table;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    #[test]
    fn a_partition_without_requests_is_forgotten_whoever_leaves_last() {
        let places =
            Places { all: Semaphore::new(2), per_partition: Some(2), partitions: Mutex::default() };
        let table = TableName::new("orders").unwrap();
        let arrived = AtomicUsize::new(0);
        let stay = || {
            for round in 1..=100_000 {
                let key = round.to_string();
                let request =
                    Request { partition_key: Some(&key), ..on_table("get", Some(&table)) };
                let queue = places.enter(&request);
                arrived.fetch_add(1, Ordering::SeqCst);
                // Both leave at the same time, which waiting for each other asleep would not do.
                while arrived.load(Ordering::SeqCst) < 2 * round {
                    thread::yield_now();
                }
                drop(queue);
            }
        };
        thread::scope(|scope| {
            scope.spawn(stay);
            scope.spawn(stay);
        });
        assert_eq!(places.partitions().len(), 0);
    }
}
