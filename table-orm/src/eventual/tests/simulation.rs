//! Clients and sweepers over a network that loses answers, delays writes and outlives its clients.
//!
//! The observer checks the invariants after each write. At the end one sweeper alone makes everything clean.

use super::chaos::{Dice, LATEST, WrongClock, all_hold, at_once, grace, network, on_virtual_time};
use super::observer::Observer;
use super::tampering::{LeftOut, Tampering};
use super::world::{Change, HOME, KIND, Read, State, Thing, client, create, read};
use crate::dose::dose;
use crate::embedded::EmbeddedStore;
use crate::error::{Error, Result};
use crate::eventual::{Pending, SettleReport, Sweep, settle, settle_together};
use crate::layer::FaultStore;
use crate::plan::TableClient;
use futures_util::future::join3;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// The longest time that a client works on a write or a sweep before it ends.
const LONGEST_LIFE: Duration = Duration::from_secs(3);

/// What happens in one simulation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting {
    pub entities: u64,
    pub writers: u64,
    pub writes: u64,
    pub sweepers: u64,
    /// Writers that settle several transactions together.
    pub bulk_writers: u64,
    /// The probability of each fault.
    pub faults: f64,
    /// The probability that a client ends in the midst of a write or a sweep.
    pub deaths: f64,
    /// Whether writers make their tickets before their transactions.
    pub tickets_first: bool,
}

pub(super) const BUSY: Setting = Setting {
    entities: 2,
    writers: 3,
    writes: 4,
    sweepers: 2,
    bulk_writers: 0,
    faults: 0.04,
    deaths: 0.2,
    tickets_first: false,
};

/// Transactions that count as the reading, beside sweepers that read.
pub(super) const TICKETS_FIRST: Setting = Setting { tickets_first: true, ..BUSY };

/// Bulk writes beside a writer and a sweeper. More entities than are read one by one.
pub(super) const BULK: Setting =
    Setting { entities: 5, writers: 1, writes: 3, sweepers: 1, bulk_writers: 2, ..BUSY };

/// Runs one simulation. Fails with the violation of an invariant.
pub(super) fn simulate(
    seed: u64,
    setting: Setting,
    left_out: Option<LeftOut>,
) -> Result<usize, String> {
    on_virtual_time(run(seed, setting, left_out))
}

async fn run(seed: u64, setting: Setting, left_out: Option<LeftOut>) -> Result<usize, String> {
    let memory = Arc::new(EmbeddedStore::in_memory().unwrap());
    create(&*memory).await;
    let observer = Observer::<Thing>::new(memory);
    let network = network(seed, setting.faults, setting.faults, observer.clone());
    let writers = (0..setting.writers).map(|writer| {
        let actor = Actor::new(seed, writer, &network, left_out);
        actor.write_all(setting)
    });
    let sweepers = (0..setting.sweepers).map(|sweeper| {
        let actor = Actor::new(seed, setting.writers + sweeper, &network, left_out);
        actor.sweep_some(setting)
    });
    let bulk_writers = (0..setting.bulk_writers).map(|writer| {
        let actor = Actor::new(seed, 50 + writer, &network, left_out);
        actor.write_in_bulk(setting)
    });
    join3(at_once(writers), at_once(sweepers), at_once(bulk_writers)).await;
    // What is still on its way arrives.
    sleep(LATEST).await;
    network.disable();
    let last = Actor::new(seed, 99, &network, left_out);
    let mut report = SettleReport::default();
    for _ in 0..3 {
        last.sweep(Duration::ZERO)
            .partition(HOME, &mut report)
            .await
            .map_err(|error| error.to_string())?;
    }
    observer.result()?;
    observer.snapshot().await.check_settled(&report)?;
    observer.result()
}

/// A writer or a sweeper.
struct Actor {
    client: TableClient,
    dice: Dice,
    number: u64,
    /// Its sweeps leave younger intents.
    grace: Duration,
    left_out: Option<LeftOut>,
}

impl Actor {
    fn new(seed: u64, number: u64, network: &FaultStore, left_out: Option<LeftOut>) -> Self {
        let store = Tampering::of::<Thing>(Arc::new(network.clone()), left_out, number);
        let dice = Dice::of(seed, number);
        let client_seed = dice.seed();
        let client = client(WrongClock::around(Arc::new(store), client_seed), client_seed);
        let grace = left_out.map_or_else(|| grace(client_seed), |_| Duration::ZERO);
        Self { client, dice, number, grace, left_out }
    }

    async fn write_all(self, setting: Setting) {
        for number in 0..setting.writes {
            sleep(self.dice.time(Duration::from_secs(2))).await;
            let write = async {
                // What fails is left to the sweepers.
                let _result = self.write(setting, number).await;
            };
            self.dice.mortal(setting.deaths, LONGEST_LIFE, write).await;
        }
    }

    /// Reads one entity, or all of them, and writes them in one transaction. Settles it.
    async fn write(&self, setting: Setting, number: u64) -> Result<()> {
        let all = self.dice.happens(0.2);
        let first = self.dice.below(setting.entities);
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
        let first = setting.tickets_first && self.left_out != Some(LeftOut::TicketsFirst);
        let mut prepared = if first { change.prepare(&self.client).await } else { None };
        let sent = change.send(&self.client).await;
        if let (Err(error), Some(prepared)) = (&sent, &prepared)
            && !error.is_unanswered()
        {
            prepared.give_up(&self.client).await;
        }
        let pending = match sent {
            // The network or the client sends it again as it is.
            Err(Error::Unavailable(_)) if self.dice.happens(0.5) => {
                change.send(&self.client).await?
            }
            sent => sent?,
        };
        if let Some(mut pending) = pending {
            if setting.tickets_first && !first {
                prepared = change.prepare(&self.client).await;
            }
            pending.prepared = prepared.map(Box::new);
            // An error leaves the intent to the sweepers.
            let _settled = settle(&self.client, KIND, &pending).await;
        }
        Ok(())
    }

    async fn write_in_bulk(self, setting: Setting) {
        for number in 0..setting.writes {
            sleep(self.dice.time(Duration::from_secs(2))).await;
            let write = async {
                let mut pending = Vec::new();
                for entity in 0..setting.entities {
                    // What fails is left to the sweepers.
                    pending.extend(self.write_one(entity, number).await.ok().flatten());
                }
                let _settled = settle_together(&self.client, KIND, &pending).await;
            };
            self.dice.mortal(setting.deaths, 2 * LONGEST_LIFE, write).await;
        }
    }

    /// Reads one entity, and writes it in a transaction of its own.
    async fn write_one(&self, entity: u64, number: u64) -> Result<Option<Pending>> {
        let name = format!("E:{entity}");
        let old = read(&self.client, &name).await?;
        let new = self.next_state(entity, old.is_some(), number);
        let change = Change::of(&self.client, &[(&name, old, new)])?;
        if change.batch.operations.is_empty() {
            return Ok(None);
        }
        change.send(&self.client).await
    }

    fn next_state(&self, entity: u64, exists: bool, number: u64) -> Option<State> {
        if exists && self.dice.happens(0.3) {
            return None;
        }
        const PLACES: [&str; 5] = [
            "copies p1 FULL:a",
            "copies p1 FULL:b",
            "copies p1 REF:a",
            "things p2 FULL:a",
            "copies p3 REF:b",
        ];
        let keys = PLACES.iter().filter(|_| self.dice.happens(0.4));
        let keys: Vec<_> = keys.map(|place| format!("{place}:{entity}")).collect();
        Some(State::new(&keys.join(";"), format!("{}.{number}.{entity}", self.number)))
    }

    fn sweep(&self, grace: Duration) -> Sweep {
        Sweep { home: self.client.clone(), kind: KIND, grace }
    }

    async fn sweep_some(self, setting: Setting) {
        for _ in 0..setting.writes {
            sleep(self.dice.time(Duration::from_secs(3))).await;
            let sweep = async {
                let mut report = SettleReport::default();
                let _result = self.sweep(self.grace).partition(HOME, &mut report).await;
            };
            self.dice.mortal(setting.deaths, LONGEST_LIFE, sweep).await;
        }
    }
}

#[test]
fn eventual_rows_follow_whatever_is_lost_or_late_or_ends() {
    all_hold(dose(50, 10_000), |seed| simulate(seed, BUSY, None));
}

#[test]
fn eventual_rows_follow_writers_that_make_their_tickets_first() {
    all_hold(dose(50, 10_000), |seed| simulate(seed, TICKETS_FIRST, None));
}

#[test]
fn eventual_rows_follow_bulk_writes_that_settle_together() {
    all_hold(dose(15, 1_200), |seed| simulate(seed, BULK, None));
}
