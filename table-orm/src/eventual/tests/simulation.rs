//! Clients and sweepers over a network that loses answers, delays writes and outlives its clients.
//!
//! Everything follows from the seed: what the clients do, when they end, which requests fail, when a late one
//! takes effect. The observer checks the invariants after each write. At the end one sweeper alone makes
//! everything clean.

use super::left_out::{LeftOut, Tampering};
use super::observer::Observer;
use super::world::{Change, HOME, KIND, Read, State, client, create, read};
use crate::dose::dose;
use crate::embedded::EmbeddedStore;
use crate::error::{Error, Result};
use crate::eventual::{SettleReport, Sweep, settle};
use crate::layer::{FaultStore, Faults};
use crate::plan::TableClient;
use crate::sync::Random;
use futures_util::future::{join, join_all};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// The longest time that a request, and one that its client has given up, is on its way.
const SLOWEST: Duration = Duration::from_millis(400);
const LATEST: Duration = Duration::from_secs(8);

/// What happens in one simulation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting {
    pub entities: u64,
    pub writers: u64,
    pub writes: u64,
    pub sweepers: u64,
    /// The probability of each fault.
    pub faults: f64,
    /// The probability that a client ends in the midst of a write or a sweep.
    pub deaths: f64,
}

pub(super) const BUSY: Setting =
    Setting { entities: 2, writers: 3, writes: 4, sweepers: 2, faults: 0.04, deaths: 0.2 };

/// Runs one simulation. Fails with the violation of an invariant.
pub(super) fn simulate(
    seed: u64,
    setting: Setting,
    left_out: Option<LeftOut>,
) -> Result<usize, String> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(run(seed, setting, left_out))
}

async fn run(seed: u64, setting: Setting, left_out: Option<LeftOut>) -> Result<usize, String> {
    let memory = Arc::new(EmbeddedStore::in_memory().unwrap());
    create(&*memory).await;
    let observer = Observer::new(memory);
    let faults = Faults::seeded(seed)
        .slow(1.0)
        .slowest(SLOWEST)
        .latest(LATEST)
        .lost_requests(setting.faults)
        .lost_replies(setting.faults)
        .late(setting.faults);
    let network = faults.store(Arc::new(observer.clone())).unwrap();
    let writers = (0..setting.writers).map(|writer| {
        let actor = Actor::new(seed, writer, &network, left_out);
        actor.write_all(setting)
    });
    let sweepers = (0..setting.sweepers).map(|sweeper| {
        let actor = Actor::new(seed, setting.writers + sweeper, &network, left_out);
        actor.sweep_some(setting)
    });
    join(join_all(writers), join_all(sweepers)).await;
    // What is still on its way arrives.
    sleep(LATEST).await;
    network.disable();
    let last = Actor::new(seed, 99, &network, left_out);
    let mut report = SettleReport::default();
    for _ in 0..3 {
        last.sweep().partition(HOME, &mut report).await.map_err(|error| error.to_string())?;
    }
    if let Some(violation) = observer.violation() {
        return Err(violation);
    }
    let end = observer.snapshot().await;
    if !end.intents.is_empty() || !report.failures.is_empty() {
        return Err(format!("a sweeper alone does not end: {end:?}, {report:?}"));
    }
    if end.foreign != end.wanted() {
        return Err(format!("wrong at the end: {end:?}"));
    }
    Ok(observer.writes())
}

/// A writer or a sweeper.
struct Actor {
    client: TableClient,
    random: Random,
    number: u64,
}

impl Actor {
    fn new(seed: u64, number: u64, network: &FaultStore, left_out: Option<LeftOut>) -> Self {
        let store = Tampering::new(Arc::new(network.clone()), left_out, number);
        let random = Random::seeded(seed.wrapping_mul(1000) + number);
        let client = client(Arc::new(store), random.next());
        Self { client, random, number }
    }

    fn happens(&self, probability: f64) -> bool {
        self.random.unit() < probability
    }

    /// Runs something, perhaps not to its end.
    async fn mortal(&self, setting: Setting, work: impl Future<Output = ()>) {
        if self.happens(setting.deaths) {
            let life = Duration::from_secs(3).mul_f64(self.random.unit());
            // The client ends at whatever it awaits.
            let _ended = timeout(life, work).await;
        } else {
            work.await;
        }
    }

    async fn write_all(self, setting: Setting) {
        for number in 0..setting.writes {
            sleep(Duration::from_secs(2).mul_f64(self.random.unit())).await;
            let write = async {
                // What fails is left to the sweepers.
                let _result = self.write(setting, number).await;
            };
            self.mortal(setting, write).await;
        }
    }

    /// Reads one entity, or all of them, and writes them in one transaction. Settles it.
    async fn write(&self, setting: Setting, number: u64) -> Result<()> {
        let all = self.happens(0.2);
        let first = self.random.below(setting.entities);
        let names = (0..setting.entities).filter(|entity| all || *entity == first);
        let names: Vec<_> = names.map(|entity| (entity, format!("E:{entity}"))).collect();
        let mut entities: Vec<(&str, Option<Read>, Option<State>)> = Vec::new();
        for (entity, name) in &names {
            let old = read(&self.client, name).await?;
            let new = self.next_state(*entity, old.is_some(), number);
            entities.push((name, old, new));
        }
        let change = Change::of(&self.client, &entities)?;
        if change.batch.operations.is_empty() {
            return Ok(());
        }
        let pending = match change.send(&self.client).await {
            // The network or the client sends it again as it is.
            Err(Error::Unavailable(_)) if self.happens(0.5) => change.send(&self.client).await?,
            sent => sent?,
        };
        if let Some(pending) = pending {
            // An error leaves the intent to the sweepers.
            let _settled = settle(&self.client, KIND, &pending).await;
        }
        Ok(())
    }

    fn next_state(&self, entity: u64, exists: bool, number: u64) -> Option<State> {
        if exists && self.happens(0.3) {
            return None;
        }
        const PLACES: [&str; 5] = [
            "copies p1 FULL:a",
            "copies p1 FULL:b",
            "copies p1 REF:a",
            "things p2 FULL:a",
            "copies p3 REF:b",
        ];
        let keys = PLACES.iter().filter(|_| self.happens(0.4));
        let keys: Vec<_> = keys.map(|place| format!("{place}:{entity}")).collect();
        Some(State::new(&keys.join(";"), format!("{}.{number}.{entity}", self.number)))
    }

    fn sweep(&self) -> Sweep {
        Sweep { home: self.client.clone(), kind: KIND, grace: Duration::ZERO }
    }

    async fn sweep_some(self, setting: Setting) {
        for _ in 0..setting.writes {
            sleep(Duration::from_secs(3).mul_f64(self.random.unit())).await;
            let sweep = async {
                let mut report = SettleReport::default();
                let _result = self.sweep().partition(HOME, &mut report).await;
            };
            self.mortal(setting, sweep).await;
        }
    }
}

#[test]
fn rows_elsewhere_follow_whatever_is_lost_or_late_or_ends() {
    let seeds = dose(200, 2_000);
    let mut writes = 0;
    for seed in 0..seeds {
        match simulate(seed, BUSY, None) {
            Ok(more) => writes += more,
            Err(violation) => panic!("seed {seed}: {violation}"),
        }
    }
    assert!(writes > 20 * seeds as usize, "{writes} writes took effect");
}
