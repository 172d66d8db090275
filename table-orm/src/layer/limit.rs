//! Limits how many requests run at once.
//!
//! Requests over the limit wait in the order they came. A call that is dropped releases its permit.
//! Below [`Retry`](super::Retry), a call that waits for its next attempt holds no permit. A
//! [scan](crate::scan) limits its requests by itself, so they take no permits.

use super::{Layer, LayerError, error};
use crate::store::{Middleware, Store, StoreAnswer, StoreError, StoreRequest};
use crate::sync::{KeyedLock, held};
use std::future::Future;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// The highest limit of requests at once.
pub const MAX_IN_FLIGHT: usize = 10_000;
/// The default limit of requests at once: 64.
pub const DEFAULT_IN_FLIGHT: usize = 64;

/// Settings of the concurrency limit; 64 requests at once by default.
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
    /// Limits the requests that run at once, 1 to [`MAX_IN_FLIGHT`].
    pub const fn in_flight(requests: usize) -> Self {
        Self { in_flight: requests, per_partition: None }
    }

    /// Limits those of one partition, 1 to [`MAX_IN_FLIGHT`], so that a slow partition leaves room for
    /// others. Queries over several partitions do not count.
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
        let limited = Limited {
            inner: store,
            all: Semaphore::new(self.in_flight),
            partitions: self.per_partition.map(KeyedLock::new),
        };
        Ok(Arc::new(limited))
    }
}

#[derive(Debug)]
struct Limited {
    inner: Arc<dyn Store>,
    all: Semaphore,
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
        // The semaphore is never closed.
        let permits = async {
            let in_partition = match self.partitions.as_ref().zip(request.partition()) {
                Some((partitions, partition)) => Some(partitions.acquire(partition).await),
                None => None,
            };
            (in_partition, self.all.acquire().await.ok())
        };
        let _permits = held(permits).await;
        next.await
    }
}
