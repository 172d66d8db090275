//! What simulations share: clients that end at any time, a network that loses answers and delays writes, and a
//! store that checks the invariants after each write that took effect.
//!
//! The seed of a simulation decides what the clients do, when they end, which requests fail, and when a late one
//! takes effect. Only the names of intents begin with the real time.

use crate::entity::split_page;
use crate::layer::{FaultStore, Faults};
use crate::model::{ETag, Metadata, TableName};
use crate::query::{KeyRange, RowQuery, Span};
use crate::store::{Batch, Middleware, Operation, Store, StoreError};
use crate::sync::Random;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::timeout;

/// The longest time that a request, and one that its client has given up, is on its way.
const SLOWEST: Duration = Duration::from_millis(400);
pub(in crate::eventual) const LATEST: Duration = Duration::from_secs(8);

/// A network whose every request takes time. `faults` is the probability that a request is lost, and that its
/// reply is; `late` that a write takes effect after its client gave it up.
pub(in crate::eventual) fn network(
    seed: u64,
    faults: f64,
    late: f64,
    store: Arc<dyn Store>,
) -> FaultStore {
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
pub(in crate::eventual) fn on_virtual_time<T>(simulation: impl Future<Output = T>) -> T {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(simulation)
}

/// The decisions of one actor.
#[derive(Debug)]
pub(in crate::eventual) struct Dice(Random);

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

/// What holds after each write, whoever wrote.
pub(in crate::eventual) trait Invariants:
    fmt::Debug + Default + Send + 'static
{
    const TABLES: [&'static str; 2];

    /// All rows of the tables.
    type Snapshot: fmt::Debug + Default + Send;

    fn add(snapshot: &mut Self::Snapshot, table: &TableName, json: &str);

    /// Is called after each write, also after a violation.
    fn check(&mut self, now: &Self::Snapshot) -> Result<(), String>;
}

/// A store that checks the invariants.
#[derive(Debug)]
pub(in crate::eventual) struct Observer<I> {
    store: Arc<dyn Store>,
    seen: Mutex<Seen<I>>,
}

#[derive(Debug, Default)]
struct Seen<I> {
    invariants: I,
    violation: Option<String>,
    writes: usize,
}

impl<I: Invariants> Observer<I> {
    pub fn new(store: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self { store, seen: Mutex::default() })
    }

    /// The first violation, or how many writes took effect.
    pub fn result(&self) -> Result<usize, String> {
        let seen = self.seen.lock().unwrap();
        seen.violation.clone().map_or(Ok(seen.writes), Err)
    }

    pub fn violation(&self) -> Option<String> {
        self.result().err()
    }

    pub async fn snapshot(&self) -> I::Snapshot {
        let mut snapshot = I::Snapshot::default();
        for table in I::TABLES.map(|name| TableName::new(name).unwrap()) {
            let keys = KeyRange { partition: Span::All, row: Span::All };
            let query = RowQuery::new(table.clone(), keys);
            let query = RowQuery { metadata: Metadata::Minimal, ..query };
            let page = self.store.query(&query).await.unwrap();
            assert!(page.continuation.is_none());
            for json in split_page(&page.body).unwrap() {
                I::add(&mut snapshot, &table, json.get());
            }
        }
        snapshot
    }

    async fn check(&self) {
        let snapshot = self.snapshot().await;
        let mut seen = self.seen.lock().unwrap();
        seen.writes += 1;
        let checked = seen.invariants.check(&snapshot);
        if seen.violation.is_none() {
            seen.violation = checked.err();
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
        let written = self.store.write(table, partition_key, operation).await?;
        self.check().await;
        Ok(written)
    }

    async fn commit(
        &self,
        table: &TableName,
        batch: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let written = self.store.commit(table, batch).await?;
        self.check().await;
        Ok(written)
    }
}

/// No simulation of the first seeds ends with a violation. More than 20 writes take effect in each, on
/// average.
#[track_caller]
pub(in crate::eventual) fn all_hold(seeds: u64, simulate: impl Fn(u64) -> Result<usize, String>) {
    let mut writes = 0;
    for seed in 0..seeds {
        match simulate(seed) {
            Ok(more) => writes += more,
            Err(violation) => panic!("seed {seed}: {violation}"),
        }
    }
    assert!(writes > 20 * seeds as usize, "{writes} writes took effect");
}

/// The violation that the simulations without a part of the protocol find first.
pub(in crate::eventual) fn first_violation(
    part: impl fmt::Debug,
    mut seeds: impl Iterator<Item = u64>,
    simulate: impl Fn(u64) -> Result<usize, String>,
) -> Option<String> {
    let (seed, violation) =
        seeds.find_map(|seed| simulate(seed).err().map(|violation| (seed, violation)))?;
    println!("{part:?}: seed {seed}: {violation}");
    Some(violation)
}
