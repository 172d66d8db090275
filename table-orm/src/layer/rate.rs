//! Limits how many entities a second are read and written, and slows down when throttled.
//!
//! One bucket for all requests and one for each partition pass entities at their rates, with a burst
//! of 0.1 s. Entities are counted as the service counts them: a transaction counts its operations, and
//! a query the rows it looks at, or the rows it returns if the store does not report those. A page's
//! count is known only afterwards, so the next request waits for it.
//!
//! A 429 or 503 halves the rate of its partition, or of all requests if they span partitions: at most
//! once a second, and not below a 64th. Every 10 s without another one then raise it by half, up to
//! the full rate: the service moves a hot partition within minutes, not seconds, and throttles again
//! what comes back at full speed. The layer must see every request, so add it below
//! [`Retry`](super::Retry).
//!
//! A [scan](crate::scan) finds its own rate, so its requests neither wait nor count here.

use super::retry::MAX_WAIT;
use super::{Layer, LayerError, error};
use crate::store::{Middleware, Store, StoreAnswer, StoreError, StoreRequest};
use crate::sync::{TokenBucket, held};
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Entities a second of one account, 1 KiB each (service documentation, "Scalability and
/// performance targets for Table storage").
pub const ACCOUNT_TARGET: u32 = 20_000;
/// Entities a second of one partition (the same).
pub const PARTITION_TARGET: u32 = 2_000;
/// Entities a second of one partition in the older literature.
pub const OLDER_PARTITION_TARGET: u32 = 500;
/// The highest rate: a million entities a second.
pub const MAX_RATE: u32 = 1_000_000;

/// What an idle bucket passes at once, as time at its rate.
const BURST: Duration = Duration::from_millis(100);
/// The shortest time between two cuts: requests that run at once are throttled together.
const CUT_EVERY: Duration = Duration::from_secs(1);
/// How long a rate stays before it is raised, and by which factor.
const RAISE_EVERY: Duration = Duration::from_secs(10);
const RAISE_BY: f64 = 1.5;
/// The smallest part of its full rate that a bucket is cut to.
const LEAST_PART: f64 = 1.0 / 64.0;
/// How many partitions are kept, at least, before idle ones are removed.
const KEPT_PARTITIONS: usize = 1024;

/// Settings of the rate limit; by default 20,000 entities a second in all and 2,000 in one
/// partition.
///
/// ```
/// use table_orm::Tables;
/// use table_orm::layer::{Rate, Retry};
///
/// # fn run() -> table_orm::Result<()> {
/// let rate = Rate::default().per_account(5_000); // one of four writers
/// let tables = Tables::in_memory()?.layer(rate)?.layer(Retry::interactive())?;
/// # Ok(())
/// # }
/// # run().unwrap();
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "settings do nothing until `Tables::layer` or `around`"]
pub struct Rate {
    account: u32,
    partition: u32,
}

impl Default for Rate {
    fn default() -> Self {
        Self { account: ACCOUNT_TARGET, partition: PARTITION_TARGET }
    }
}

impl Rate {
    /// Limits by the older targets: 500 entities a second in one partition.
    pub const fn older() -> Self {
        Self { account: ACCOUNT_TARGET, partition: OLDER_PARTITION_TARGET }
    }

    /// Limits the entities a second in all, 1 to [`MAX_RATE`].
    pub const fn per_account(mut self, entities: u32) -> Self {
        self.account = entities;
        self
    }

    /// Limits the entities a second in each partition, 1 to [`MAX_RATE`].
    pub const fn per_partition(mut self, entities: u32) -> Self {
        self.partition = entities;
        self
    }
}

impl Layer for Rate {
    fn around(self, store: Arc<dyn Store>) -> Result<Arc<dyn Store>, LayerError> {
        let number = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        let most = number(MAX_RATE);
        error::number("the rate of all requests", number(self.account), most)?;
        error::number("the rate of a partition", number(self.partition), most)?;
        let buckets = Buckets {
            all: Bucket::new(self.account, Instant::now()),
            per_partition: self.partition,
            partitions: BTreeMap::new(),
            kept: KEPT_PARTITIONS,
        };
        Ok(Arc::new(Paced { inner: store, buckets: Mutex::new(buckets) }))
    }
}

/// What a request takes from a bucket.
#[derive(Debug, Clone, Copy)]
struct Taken {
    wait: Duration,
    time: Duration,
}

/// A token bucket whose rate falls when the service throttles, and rises again by time.
#[derive(Debug)]
struct Bucket {
    most: f64,
    rate: f64,
    tokens: TokenBucket<Instant>,
    cut: Option<Instant>,
    raised: Instant,
}

impl Bucket {
    fn new(rate: u32, now: Instant) -> Self {
        Self {
            most: rate.into(),
            rate: rate.into(),
            tokens: TokenBucket::new(now),
            cut: None,
            raised: now,
        }
    }

    /// Takes entities. Returns how long to wait for them, and the time that they take.
    fn take(&mut self, entities: usize, now: Instant) -> Taken {
        self.raise(now);
        // No request has more than some thousand entities, which a double holds.
        let time = Duration::try_from_secs_f64(entities as f64 / self.rate).unwrap_or_default();
        let start = self.tokens.take(now, time);
        Taken { wait: start.saturating_duration_since(now + BURST), time }
    }

    fn raise(&mut self, now: Instant) {
        while self.rate < self.most && now >= self.raised + RAISE_EVERY {
            self.rate = (self.rate * RAISE_BY).min(self.most);
            self.raised += RAISE_EVERY;
        }
    }

    fn cut(&mut self, retry_after: Option<Duration>, now: Instant) {
        self.raise(now);
        if self.cut.is_none_or(|cut| now >= cut + CUT_EVERY) {
            self.rate = (self.rate / 2.0).max(self.most * LEAST_PART);
            self.cut = Some(now);
        }
        self.raised = now;
        if let Some(time) = retry_after {
            self.tokens.hold_until(now + BURST + time.min(MAX_WAIT));
        }
    }

    fn is_idle(&self, now: Instant) -> bool {
        self.tokens.is_full(now) && self.rate >= self.most
    }
}

/// A partition of a table.
type Partition = (String, String);

#[derive(Debug)]
struct Buckets {
    all: Bucket,
    per_partition: u32,
    partitions: BTreeMap<Partition, Bucket>,
    /// How many partitions there may be before idle ones are removed.
    kept: usize,
}

impl Buckets {
    fn partition(&mut self, partition: Partition, now: Instant) -> &mut Bucket {
        if self.partitions.len() >= self.kept {
            self.partitions.retain(|_, bucket| {
                bucket.raise(now);
                !bucket.is_idle(now)
            });
            // Twice what is left, so that the cost of looking through them, spread over requests,
            // stays constant.
            self.kept = KEPT_PARTITIONS.max(2 * self.partitions.len());
        }
        let rate = self.per_partition;
        self.partitions.entry(partition).or_insert_with(|| Bucket::new(rate, now))
    }

    fn take(&mut self, entities: usize, partition: Option<Partition>) -> Share {
        let now = Instant::now();
        let of_all = self.all.take(entities, now);
        let of_partition = partition.map(|partition| {
            let taken = self.partition(partition.clone(), now).take(entities, now);
            (partition, taken)
        });
        Share { of_all, of_partition }
    }

    fn give_back(&mut self, share: &Share) {
        self.all.tokens.give_back(share.of_all.time);
        if let Some((partition, taken)) = &share.of_partition
            && let Some(bucket) = self.partitions.get_mut(partition)
        {
            bucket.tokens.give_back(taken.time);
        }
    }

    fn cut(&mut self, retry_after: Option<Duration>, partition: Option<Partition>) {
        let now = Instant::now();
        match partition {
            Some(partition) => self.partition(partition, now).cut(retry_after, now),
            None => self.all.cut(retry_after, now),
        }
    }
}

/// What a request takes from the bucket of all requests and from its partition's.
#[derive(Debug)]
struct Share {
    of_all: Taken,
    of_partition: Option<(Partition, Taken)>,
}

impl Share {
    fn wait(&self) -> Duration {
        let of_partition = self.of_partition.as_ref().map(|(_, taken)| taken.wait);
        self.of_all.wait.max(of_partition.unwrap_or_default())
    }
}

/// What a waiting request has reserved. Dropped while it waits, it returns its share.
struct Reservation<'p> {
    paced: &'p Paced,
    /// `None` once it is spent.
    share: Option<Share>,
}

impl Reservation<'_> {
    async fn wait(mut self) {
        let wait = self.share.as_ref().map(Share::wait).unwrap_or_default();
        if !wait.is_zero() {
            held(sleep(wait)).await;
        }
        self.share = None;
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if let Some(share) = &self.share {
            self.paced.buckets().give_back(share);
        }
    }
}

/// A store whose requests wait for their buckets.
#[derive(Debug)]
struct Paced {
    inner: Arc<dyn Store>,
    buckets: Mutex<Buckets>,
}

impl Paced {
    fn buckets(&self) -> MutexGuard<'_, Buckets> {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Middleware for Paced {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn call<T: StoreAnswer>(
        &self,
        request: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        if request.entities == 0 || request.self_paced {
            return next.await;
        }
        let share = self.buckets().take(request.entities, request.partition());
        Reservation { paced: self, share: Some(share) }.wait().await;
        let answer = next.await;
        match &answer {
            Ok(answer) => {
                let entities = answer.rows_scanned().or_else(|| answer.rows_returned());
                let entities = entities.unwrap_or_default();
                let more = entities.saturating_sub(request.entities);
                if more > 0 {
                    self.buckets().take(more, request.partition());
                }
            }
            Err(error) if error.is_throttling() => {
                self.buckets().cut(error.retry_after, request.partition());
            }
            Err(_) => {}
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// How many entities, one a request, pass in a time.
    fn entities(bucket: &mut Bucket, from: Instant, time: Duration) -> usize {
        let mut now = from;
        let mut entities = 0;
        loop {
            now += bucket.take(1, now).wait;
            if now >= from + time {
                return entities;
            }
            entities += 1;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_bucket_passes_its_rate() {
        let now = Instant::now();
        let mut bucket = Bucket::new(500, now);
        let first = entities(&mut bucket, now, SECOND);
        assert!((549..=551).contains(&first), "{first}: a second, and the burst");
    }

    #[tokio::test(start_paused = true)]
    async fn throttling_halves_the_rate_once_a_second_and_it_comes_back_slowly() {
        let start = Instant::now();
        let mut bucket = Bucket::new(1000, start);
        let mut cut = |seconds: f64, rate: f64| {
            bucket.cut(None, start + Duration::from_secs_f64(seconds));
            assert!((bucket.rate - rate).abs() < 0.01, "{} at {seconds}", bucket.rate);
        };
        cut(0.0, 500.0);
        cut(0.5, 500.0);
        cut(1.0, 250.0);
        for (seconds, rate) in [(10.0, 250.0), (11.0, 375.0), (21.0, 562.5), (31.0, 843.75)] {
            bucket.raise(start + Duration::from_secs_f64(seconds));
            assert!((bucket.rate - rate).abs() < 0.01, "{} at {seconds}", bucket.rate);
        }
        bucket.raise(start + 100 * SECOND);
        assert!((bucket.rate - 1000.0).abs() < 0.01);
        for second in 100..200 {
            bucket.cut(None, start + second * SECOND);
        }
        assert!((bucket.rate - 1000.0 / 64.0).abs() < 0.01, "{}", bucket.rate);
    }

    #[tokio::test(start_paused = true)]
    async fn a_retry_after_holds_all_back() {
        let now = Instant::now();
        let mut bucket = Bucket::new(1000, now);
        bucket.cut(Some(7 * SECOND), now);
        assert_eq!(bucket.take(1, now).wait, 7 * SECOND);
    }
}
