//! What simulations share: clients that end at any time and whose clocks are wrong, a network that loses answers
//! and delays writes, and a store that checks the invariants after each write that took effect.
//!
//! The seed of a simulation decides what the clients do, when they end, what their clocks say, which requests fail,
//! and when a late one takes effect.

use crate::entity::split_page;
use crate::layer::{FaultStore, Faults};
use crate::model::{DateTime, ETag, Metadata, TableName};
use crate::query::{KeyRange, RowQuery, Span};
use crate::store::{Batch, Middleware, Operation, Store, StoreError};
use crate::sync::{Random, WallClock};
use futures_util::FutureExt as _;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{fmt, thread};
use tokio::time::timeout;

/// The longest time that a request, and one that its client has given up, is on its way.
const SLOWEST: Duration = Duration::from_millis(400);
pub(crate) const LATEST: Duration = Duration::from_secs(8);

/// A network whose every request takes time. `faults` is the probability that a request is lost, and that its
/// reply is; `late` that a write takes effect after its client gave it up.
pub(crate) fn network(seed: u64, faults: f64, late: f64, store: Arc<dyn Store>) -> FaultStore {
    let settings = Faults::seeded(seed)
        .slow(1.0)
        .slowest(SLOWEST)
        .latest(LATEST)
        .lost_requests(faults)
        .lost_replies(faults)
        .late(late);
    settings.store(store).unwrap()
}

/// Runs one simulation, without any real wait.
pub(crate) fn on_virtual_time<T>(simulation: impl Future<Output = T>) -> T {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    // Built once for all simulations.
    let simulation: Pin<&mut dyn Future<Output = T>> = pin!(simulation);
    runtime.unwrap().block_on(simulation)
}

/// Runs clients at once. Polls those only that go on.
pub(crate) async fn at_once(clients: impl Iterator<Item = impl Future<Output = ()>>) {
    let clients = clients.map(|client| client.boxed_local());
    clients.collect::<FuturesUnordered<_>>().collect().await
}

/// The decisions of one actor.
#[derive(Debug)]
pub(crate) struct Dice(Random);

impl Dice {
    /// Each actor of each simulation has its own.
    pub fn of(seed: u64, actor: u64) -> Self {
        Self(Random::seeded(seed.wrapping_mul(1000) + actor))
    }

    pub fn happens(&self, probability: f64) -> bool {
        self.0.unit() < probability
    }

    pub fn below(&self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    pub fn time(&self, longest: Duration) -> Duration {
        longest.mul_f64(self.0.unit())
    }

    /// The seed of something that draws for itself.
    pub fn seed(&self) -> u64 {
        self.0.next()
    }

    /// Runs something, perhaps not to its end: with the probability `deaths` it ends within the time `longest`,
    /// at whatever it awaits. Returns nothing then.
    pub async fn mortal<T>(
        &self,
        deaths: f64,
        longest: Duration,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        if self.happens(deaths) {
            timeout(self.time(longest), work).await.ok()
        } else {
            Some(work.await)
        }
    }
}

/// A store whose service has a wrong clock, so that what it wrote seems to be of long ago, or of a time to come.
#[derive(Debug)]
pub(crate) struct WrongClock {
    store: Arc<dyn Store>,
    clock: WallClock,
}

impl WrongClock {
    pub fn around(store: Arc<dyn Store>, seed: u64) -> Arc<Self> {
        Arc::new(Self { store, clock: WallClock::wrong(DateTime::now(), seed) })
    }
}

impl Middleware for WrongClock {
    fn inner(&self) -> &dyn Store {
        &*self.store
    }

    fn service_time(&self) -> Option<DateTime> {
        Some(self.clock.now())
    }
}

/// The version in the answer to a write that a store leaves out.
pub(crate) fn version_of_nothing() -> ETag {
    ETag::new("W/\"datetime'2000-01-01T00%3A00%3A00Z'\"")
}

/// The age from which on a sweeper settles an intent: any, or up to 6 hours, as the clocks are wrong by hours.
pub(crate) const fn grace(seed: u64) -> Duration {
    Duration::from_secs((seed % 4).saturating_sub(1) * 3 * 3600)
}

/// What holds after each write, whoever wrote.
pub(crate) trait Invariants: fmt::Debug + Default + Send + 'static {
    const TABLES: &'static [&'static str];

    /// All rows of the tables.
    type Snapshot: fmt::Debug + Default + PartialEq + Send;

    /// Adds a row, or replaces it.
    fn put(snapshot: &mut Self::Snapshot, table: &TableName, json: &str);

    /// Removes a row if it is there.
    fn remove(snapshot: &mut Self::Snapshot, table: &TableName, partition_key: &str, row_key: &str);

    /// Is called after each write, also after a violation.
    fn check(&mut self, now: &Self::Snapshot) -> Result<(), String>;
}

/// A store that checks the invariants. It carries out one write at a time, and reads back the rows of each.
#[derive(Debug)]
pub(crate) struct Observer<I: Invariants> {
    store: Arc<dyn Store>,
    writing: tokio::sync::Mutex<()>,
    seen: Mutex<Seen<I>>,
}

#[derive(Debug)]
struct Seen<I: Invariants> {
    invariants: I,
    rows: I::Snapshot,
    violation: Option<String>,
    writes: usize,
}

impl<I: Invariants> Observer<I> {
    /// Of a store without rows.
    pub fn new(store: Arc<dyn Store>) -> Arc<Self> {
        Self::of(I::default(), store)
    }

    /// Of a store without rows, with these invariants.
    pub fn of(invariants: I, store: Arc<dyn Store>) -> Arc<Self> {
        let rows = I::Snapshot::default();
        let seen = Mutex::new(Seen { invariants, rows, violation: None, writes: 0 });
        Arc::new(Self { store, writing: tokio::sync::Mutex::default(), seen })
    }

    /// The first violation, or how many writes took effect.
    pub fn result(&self) -> Result<usize, String> {
        let seen = self.seen.lock().unwrap();
        seen.violation.clone().map_or(Ok(seen.writes), Err)
    }

    pub fn violation(&self) -> Option<String> {
        self.result().err()
    }

    /// Reads all rows. They are those that were seen to be written.
    pub async fn snapshot(&self) -> I::Snapshot {
        let _writing = self.writing.lock().await;
        let mut snapshot = I::Snapshot::default();
        for name in I::TABLES {
            let table = TableName::new(name).unwrap();
            let keys = KeyRange { partition: Span::All, row: Span::All };
            let query = RowQuery::new(table.clone(), keys);
            let query = RowQuery { metadata: Metadata::Minimal, ..query };
            let page = self.store.query(&query).await.unwrap();
            assert!(page.continuation.is_none());
            for json in split_page(&page.body).unwrap() {
                I::put(&mut snapshot, &table, json.get());
            }
        }
        assert_eq!(self.seen.lock().unwrap().rows, snapshot);
        snapshot
    }

    async fn check(&self, table: &TableName, partition_key: &str, row_keys: &[String]) {
        let mut rows = Vec::with_capacity(row_keys.len());
        let is_seen = I::TABLES.contains(&table.as_str());
        for row_key in row_keys.iter().filter(|_| is_seen) {
            let row = self.store.get(table, partition_key, row_key, None, Metadata::Minimal).await;
            rows.push(row.unwrap());
        }
        let mut seen = self.seen.lock().unwrap();
        let Seen { invariants, rows: now, violation, writes } = &mut *seen;
        for (row_key, row) in row_keys.iter().zip(rows) {
            match row {
                Some(row) => I::put(now, table, std::str::from_utf8(&row.body).unwrap()),
                None => I::remove(now, table, partition_key, row_key),
            }
        }
        *writes += 1;
        let checked = invariants.check(now);
        if violation.is_none() {
            *violation = checked.err();
        }
    }
}

impl<I: Invariants> Middleware for Observer<I> {
    fn inner(&self) -> &dyn Store {
        &*self.store
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        let _writing = self.writing.lock().await;
        let row_keys = [operation.row_key.clone()];
        let written = self.store.write(table, partition_key, operation).await?;
        self.check(table, partition_key, &row_keys).await;
        Ok(written)
    }

    async fn commit(
        &self,
        table: &TableName,
        batch: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let _writing = self.writing.lock().await;
        let row_keys: Vec<_> = batch.operations.iter().map(|row| row.row_key.clone()).collect();
        let partition_key = batch.partition_key.clone();
        let written = self.store.commit(table, batch).await?;
        self.check(table, &partition_key, &row_keys).await;
        Ok(written)
    }
}

/// No simulation of the first seeds ends with a violation. More than 20 writes take effect in each, on
/// average.
#[track_caller]
pub(crate) fn all_hold(seeds: u64, simulate: impl Fn(u64) -> Result<usize, String> + Sync) {
    let next = AtomicU64::new(0);
    let work = || {
        let mut writes = 0;
        loop {
            let seed = next.fetch_add(1, Relaxed);
            if seed >= seeds {
                return Ok(writes);
            }
            writes += simulate(seed).map_err(|violation| {
                next.store(seeds, Relaxed);
                format!("seed {seed}: {violation}")
            })?;
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let writes: Result<Vec<usize>, String> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    match writes {
        Ok(writes) => assert!(writes.iter().sum::<usize>() > 20 * seeds as usize, "{writes:?}"),
        Err(violation) => panic!("{violation}"),
    }
}

/// Some simulation without a part of the protocol finds a violation.
#[track_caller]
pub(crate) fn is_needed<T>(
    part: impl fmt::Debug + Copy,
    seeds: impl Iterator<Item = u64>,
    simulate: impl Fn(u64) -> Result<T, String>,
) {
    let violation = first_violation(part, seeds, simulate);
    assert!(violation.is_some(), "the simulations without {part:?} find nothing");
}

/// The violation that the simulations without a part of the protocol find first.
pub(crate) fn first_violation<T>(
    part: impl fmt::Debug,
    mut seeds: impl Iterator<Item = u64>,
    simulate: impl Fn(u64) -> Result<T, String>,
) -> Option<String> {
    let (seed, violation) =
        seeds.find_map(|seed| simulate(seed).err().map(|violation| (seed, violation)))?;
    println!("{part:?}: seed {seed}: {violation}");
    Some(violation)
}
