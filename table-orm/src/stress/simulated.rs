//! A service that throttles, in memory and on virtual time.

use crate::embedded::EmbeddedStore;
use crate::error::Error;
use crate::layer::{Faults, Layer as _, Throttle};
use crate::model::{ACCOUNT_TARGET, PARTITION_TARGET};
use crate::store::{Backend, Middleware, Store};
use std::sync::Arc;
use std::time::Duration;

/// A service that rejects what exceeds its rates, as the Table service documents it: by default 2,000
/// entities a second in a partition and 20,000 in all, with latencies of 0 to 20 ms. An idle partition
/// takes one second's worth at once.
///
/// Rows are kept in memory. Its clock is tokio's: under a paused clock, hours take seconds.
///
/// ```
/// use table_orm::Tables;
/// use table_orm::stress::SimulatedService;
///
/// # fn main() -> table_orm::Result<()> {
/// let tables = Tables::new(SimulatedService::default().per_partition(500).store()?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "settings do nothing until `store`"]
pub struct SimulatedService {
    partition: u32,
    account: u32,
    latency: Duration,
    seed: u64,
}

impl Default for SimulatedService {
    fn default() -> Self {
        let latency = Duration::from_millis(20);
        Self { partition: PARTITION_TARGET, account: ACCOUNT_TARGET, latency, seed: 1 }
    }
}

impl SimulatedService {
    /// Sets the entities a second of each partition, 1 to a million.
    pub const fn per_partition(mut self, entities: u32) -> Self {
        self.partition = entities;
        self
    }

    /// Sets the entities a second of all partitions, 1 to a million.
    pub const fn per_account(mut self, entities: u32) -> Self {
        self.account = entities;
        self
    }

    /// Sets the longest latency, more than 0 and a day at most. The shortest is 0, the mean half of it.
    pub const fn latency(mut self, longest: Duration) -> Self {
        self.latency = longest;
        self
    }

    /// Sets the seed of the latencies.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Makes the service.
    ///
    /// # Errors
    /// A rate or the latency is outside its limits.
    pub fn store(self) -> Result<Arc<dyn Store>, Error> {
        let rows = Arc::new(EmbeddedStore::in_memory()?);
        let throttle = Throttle::new().per_partition(self.partition).per_account(self.account);
        // A slow fault waits up to that time before the request, and once more after it.
        let latency = Faults::seeded(self.seed).slow(1.0).slowest(self.latency / 2);
        Ok(Arc::new(Simulated(latency.around(throttle.around(rows)?)?)))
    }
}

/// A store that reports name as what it is.
#[derive(Debug)]
struct Simulated(Arc<dyn Store>);

impl Middleware for Simulated {
    fn inner(&self) -> &dyn Store {
        &*self.0
    }

    fn backend(&self) -> Backend {
        Backend { system: "simulated".into(), ..self.0.backend() }
    }
}
