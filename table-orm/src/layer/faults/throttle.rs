//! Rejects requests above a rate, as the service does.
//!
//! Entities are counted as [`RateLimit`](crate::layer::RateLimit) counts them: a transaction counts its operations, a
//! query the rows that it looks at, and each request at least one for each KiB of its rows. A page's count
//! is known only afterwards, so later requests pay for it. Unlike `RateLimit`, which waits, this layer plays the
//! service: it answers 503 `ServerBusy`, and the request has no effect.

use crate::layer::rate::{MAX_RATE, units, units_read};
use crate::layer::{Layer, LayerError, error};
use crate::store::{ErrorCode, Middleware, Store, StoreAnswer, StoreError, StoreRequest};
use crate::sync::TokenBucket;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// What an idle bucket passes at once, as time at its rate.
const BURST: Duration = Duration::from_secs(1);
/// How many partitions are kept before idle ones are removed.
const KEPT_PARTITIONS: usize = 1024;

/// Settings of a store that throttles: rows a second in all and in each partition, without a limit
/// by default.
///
/// ```
/// use table_orm::layer::Throttle;
/// use table_orm::{DynamicEntity, Error, TableName, Tables};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// let throttle = Throttle::new().per_partition(10);
/// let tables = Tables::in_memory()?.layer(throttle)?;
/// let readings = TableName::new("readings")?;
/// tables.create(&readings).await?;
/// let table = tables.table(readings);
/// let mut throttled = 0;
/// for n in 0..30 {
///     let reading = DynamicEntity::new("roof", n.to_string());
///     throttled += usize::from(matches!(table.insert(&reading).await, Err(Error::Throttled(_))));
/// }
/// assert!(throttled > 10);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[must_use = "settings do nothing until `Tables::layer` or `around`"]
pub struct Throttle {
    account: Option<u32>,
    partition: Option<u32>,
}

impl Throttle {
    /// No limits yet.
    pub const fn new() -> Self {
        Self { account: None, partition: None }
    }

    /// Passes at most this number of rows a second in all, 1 to [`MAX_RATE`].
    pub const fn per_account(mut self, entities: u32) -> Self {
        self.account = Some(entities);
        self
    }

    /// Passes at most this number of rows a second in each partition, 1 to [`MAX_RATE`].
    pub const fn per_partition(mut self, entities: u32) -> Self {
        self.partition = Some(entities);
        self
    }
}

impl Layer for Throttle {
    fn around(self, store: Arc<dyn Store>) -> Result<Arc<dyn Store>, LayerError> {
        let number = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        let rates = [
            ("the rate of the account", self.account),
            ("the rate of a partition", self.partition),
        ];
        for (name, rate) in rates {
            error::number(name, number(rate.unwrap_or(1)), number(MAX_RATE))?;
        }
        let buckets = Buckets {
            settings: self,
            account: TokenBucket::new(Instant::now()),
            partitions: BTreeMap::new(),
        };
        Ok(Arc::new(ThrottlingStore { inner: store, buckets: Mutex::new(buckets) }))
    }
}

type Partition = (String, String);

#[derive(Debug)]
struct Buckets {
    settings: Throttle,
    account: TokenBucket<Instant>,
    partitions: BTreeMap<Partition, TokenBucket<Instant>>,
}

impl Buckets {
    /// Takes entities from the account and a partition. Returns whether both had them.
    fn take(&mut self, entities: usize, partition: Option<&Partition>) -> bool {
        let now = Instant::now();
        let (account, rate) = (self.settings.account, self.settings.partition);
        let fits = |start: Instant| start <= now + BURST;
        let all = account.map(|rate| time(entities, rate));
        if all.is_some_and(|time| !fits(self.account.take(now, time))) {
            self.account.give_back(all.unwrap_or_default());
            return false;
        }
        let (Some(rate), Some(partition)) = (rate, partition) else { return true };
        if self.partitions.len() >= KEPT_PARTITIONS {
            self.partitions.retain(|_, bucket| !bucket.is_full(now));
        }
        let bucket = self.partitions.entry(partition.clone());
        let bucket = bucket.or_insert_with(|| TokenBucket::new(now));
        let time = time(entities, rate);
        if fits(bucket.take(now, time)) {
            return true;
        }
        bucket.give_back(time);
        if let Some(time) = all {
            self.account.give_back(time);
        }
        false
    }

    /// Takes entities that were read, whether the buckets have them or not.
    fn charge(&mut self, entities: usize, partition: Option<&Partition>) {
        let now = Instant::now();
        if let Some(rate) = self.settings.account {
            self.account.take(now, time(entities, rate));
        }
        if let (Some(rate), Some(bucket)) = (
            self.settings.partition,
            partition.and_then(|partition| self.partitions.get_mut(partition)),
        ) {
            bucket.take(now, time(entities, rate));
        }
    }
}

/// The time that entities take at a rate. No request has more than some thousand of them.
fn time(entities: usize, rate: u32) -> Duration {
    Duration::from_secs_f64(entities as f64 / f64::from(rate))
}

#[derive(Debug)]
struct ThrottlingStore {
    inner: Arc<dyn Store>,
    buckets: Mutex<Buckets>,
}

impl Middleware for ThrottlingStore {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn call<T: StoreAnswer>(
        &self,
        request: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let partition = request.partition();
        let buckets = || self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = units(request.entities, request.bytes);
        if taken > 0 && !buckets().take(taken, partition.as_ref()) {
            let message = "The rate of the account or of the partition is exceeded.";
            return Err(StoreError::new(ErrorCode::SERVER_BUSY, message).injected());
        }
        let answer = next.await?;
        let more = units_read(&answer).saturating_sub(taken);
        if more > 0 {
            buckets().charge(more, partition.as_ref());
        }
        Ok(answer)
    }
}
