//! Clients and sweepers over a network that loses answers, delays writes and outlives its clients.
//!
//! The observer checks the invariants after each write. At the end one sweeper alone cleans up, and a client
//! alone takes each value that no entity has.

use super::left_out::{LeftOut, Tampering};
use super::observer::{Observer, OneHolder};
use super::{Person, client, memory, person};
use crate::dose::dose;
use crate::entity::EntityKey;
use crate::eventual::UniqueValue;
use crate::eventual::tests::chaos::{
    Dice, LATEST, WrongClock, all_hold, at_once, grace, network, on_virtual_time,
};
use crate::eventual::tests::mortal::Mortal;
use crate::layer::{FaultStore, Layer as _, Retry};
use crate::store::Store;
use crate::{EntityKeys as _, Error, Repo, Result, ScanPermit, TableEntity};
use futures_util::future::join;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

const ENTITIES: u64 = 3;
const NAMES: [&str; 2] = ["x", "y"];
const BADGES: u64 = 2;
const WRITERS: u64 = 3;
const ROUNDS: u64 = 4;
/// The longest time that a client works on a write or a sweep before it ends.
const LONGEST_LIFE: Duration = Duration::from_secs(5);

/// What goes wrong in a simulation, as probabilities.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting {
    pub faults: f64,
    pub late: f64,
    pub deaths: f64,
    /// Those that sweep while others write.
    pub sweepers: u64,
}

pub(super) const BUSY: Setting = Setting { faults: 0.04, late: 0.04, deaths: 0.2, sweepers: 2 };
/// Nobody sweeps before the end, and what comes late comes before that.
pub(super) const UNSWEPT: Setting = Setting { faults: 0.04, late: 0.2, deaths: 0.1, sweepers: 0 };

/// Runs one simulation. Returns the writes that took effect, or the violation of an invariant.
pub(super) fn simulate(
    seed: u64,
    setting: Setting,
    left_out: Option<LeftOut>,
) -> std::result::Result<usize, String> {
    on_virtual_time(run(seed, setting, left_out))
}

async fn run(
    seed: u64,
    setting: Setting,
    left_out: Option<LeftOut>,
) -> std::result::Result<usize, String> {
    let invariants = OneHolder::new(setting.sweepers == 0);
    let observer = Observer::of(invariants, memory().await);
    let network = network(seed, setting.faults, setting.late, observer.clone());
    // A client that sends again by itself does not learn of a request that may come late.
    let retries = left_out.is_none() && setting.sweepers > 0;
    let actor = |number| Actor::new(seed, number, &network, (left_out, retries));
    let write = |number| actor(number).run(setting.deaths, Duration::from_secs(2), Actor::write);
    let sweep =
        |number| actor(number).run(setting.deaths, Duration::from_secs(3), Actor::sweep_some);
    let writers = (0..WRITERS).map(write);
    let sweepers = (WRITERS..WRITERS + setting.sweepers).map(sweep);
    join(at_once(writers), at_once(sweepers)).await;
    // What is still on its way arrives.
    sleep(LATEST).await;
    network.disable();
    let last = actor(99);
    for _ in 0..3 {
        last.sweep(Duration::ZERO).await.map_err(|error| error.to_string())?;
    }
    observer.result()?;
    let end = observer.snapshot().await;
    if !(end.intents.is_empty() && end.tickets.is_empty()) {
        return Err(format!("a sweeper alone does not clean up: {end:?}"));
    }
    let permit = ScanPermit::because("test");
    let found = last.client.people.verify_guards(permit).await.unwrap().findings;
    if found.len() != end.left_guards().count() {
        return Err(format!("{found:?} are not all guards that are left: {end:?}"));
    }
    for name in NAMES {
        let value = UniqueValue { name: "name".to_owned(), value: name.to_owned() };
        if end.holder(&value).is_none()
            && let Err(error) =
                last.client.people.insert(&person(&format!("new {name}"), name)).await
        {
            return Err(format!("nobody has {name}, and it cannot be taken: {error}, {end:?}"));
        }
    }
    observer.result()
}

/// What clients leave out, and whether they may send again by themselves.
type Kind = (Option<LeftOut>, bool);

/// A client with a connection of its own, which ends as a whole.
struct Client {
    people: Repo<Person>,
    network: Arc<Mortal>,
    /// Its sweeps leave younger intents and tickets.
    grace: Duration,
}

impl Client {
    fn new(dice: &Dice, network: &FaultStore, (left_out, retries): Kind) -> Self {
        let network = Mortal::new(Arc::new(network.clone()));
        let store: Arc<dyn Store> = Arc::new(Tampering::new(network.clone(), left_out));
        // Half of the clients send again by themselves what was not answered.
        let store = if retries && dice.below(2) == 0 {
            let retry = Retry::interactive().write_id("WriteId").seed(dice.seed());
            retry.around(store).unwrap()
        } else {
            store
        };
        let seed = dice.seed();
        let people = client(WrongClock::around(store, seed), seed);
        let grace = left_out.map_or_else(|| grace(seed), |_| Duration::ZERO);
        Self { people, network, grace }
    }
}

/// A writer or a sweeper: one client after the other.
struct Actor<'a> {
    client: Client,
    dice: Dice,
    network: &'a FaultStore,
    kind: Kind,
}

impl<'a> Actor<'a> {
    fn new(seed: u64, number: u64, network: &'a FaultStore, kind: Kind) -> Self {
        let dice = Dice::of(seed, number);
        Self { client: Client::new(&dice, network, kind), dice, network, kind }
    }

    /// Does something in each round. What fails is left to the sweepers.
    async fn run(
        mut self,
        deaths: f64,
        longest_pause: Duration,
        work: impl AsyncFn(&Self) -> Result<()>,
    ) {
        for _ in 0..ROUNDS {
            sleep(self.dice.time(longest_pause)).await;
            if self.dice.mortal(deaths, LONGEST_LIFE, work(&self)).await.is_none() {
                self.client.network.end();
                self.client = Client::new(&self.dice, self.network, self.kind);
            }
        }
    }

    /// Gives an entity another name and badge, or none, or deletes it.
    async fn write(&self) -> Result<()> {
        let id = self.dice.below(ENTITIES).to_string();
        let at = usize::try_from(self.dice.below(NAMES.len() as u64 + 1)).unwrap();
        let badge = self.dice.below(BADGES + 2).checked_sub(2).map(|badge| badge as u32);
        let next = Person { badge, ..person(&id, NAMES.get(at).unwrap_or(&"")) };
        match self.dice.below(4) {
            0 => self.client.people.upsert(&next).await.map(drop),
            1 => {
                let change = |person: &mut Person| {
                    (person.name, person.badge) = (next.name.clone(), next.badge);
                };
                self.client.people.update(key(&id), change).await.map(drop)
            }
            _ => {
                let Some(mut loaded) = self.client.people.load(key(&id)).await?.optional()? else {
                    return self.client.people.insert(&next).await.map(drop);
                };
                if self.dice.happens(0.3) {
                    return self.client.people.delete(loaded).await;
                }
                (loaded.name, loaded.badge) = (next.name, next.badge);
                self.client.people.save(&mut loaded).await.map(drop)
            }
        }
    }

    async fn sweep(&self, grace: Duration) -> Result<()> {
        for id in 0..ENTITIES {
            let partition = Person::partition(id.to_string());
            let report = self.client.people.settle(partition).grace(grace).await;
            report.ended.map_or(Ok(()), Err)?;
            if let Some(failure) = report.failures.into_iter().next() {
                return match failure.error {
                    crate::eventual::SettleError::Store(error) => Err(error),
                    other => panic!("{other}"),
                };
            }
        }
        Ok(())
    }

    async fn sweep_some(&self) -> Result<()> {
        self.sweep(self.client.grace).await
    }
}

fn key(id: &str) -> EntityKey<<Person as TableEntity>::Canonical> {
    person(id, "").key()
}

#[test]
fn no_two_entities_have_one_value_whatever_is_lost_or_late_or_ends() {
    all_hold(dose(50, 10_000), |seed| simulate(seed, BUSY, None));
}

#[test]
fn whatever_guard_is_left_before_a_sweep_that_sweep_finds_it() {
    all_hold(dose(50, 10_000), |seed| simulate(seed, UNSWEPT, None));
}

#[tokio::test(start_paused = true)]
async fn a_key_with_a_unique_value_cannot_be_given_up() -> Result<()> {
    let people = client(memory().await, 1);
    people.insert(&person("1", "x")).await?;
    let taken = people.upsert(&person("2", "x")).await;
    assert!(matches!(taken, Err(Error::UniqueViolation { .. })), "{taken:?}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_releases_its_value_and_a_client_that_ends_does_not() -> Result<()> {
    for (ends, left) in [(false, 0), (true, 1)] {
        let observer = Observer::new(memory().await);
        let network = network(1, 0.0, 0.0, observer.clone());
        let client = Client::new(&Dice::of(1, 0), &network, (None, true));
        let ann = client.people.insert_loaded(&person("1", "x")).await?;
        timeout(Duration::from_secs(1), client.people.delete(ann)).await.unwrap_err();
        assert_eq!(observer.snapshot().await.guards.len(), 1, "it is being released");
        if ends {
            client.network.end();
        }
        sleep(LATEST).await;
        let end = observer.snapshot().await;
        assert_eq!((end.entities.len(), end.guards.len(), end.intents.len()), (0, left, left));
    }
    Ok(())
}
