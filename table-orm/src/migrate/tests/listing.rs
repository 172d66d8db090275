//! Lists in parts, by clients of both versions, while entities are written, deleted and moved: in key order and in the
//! order of an index row, with filters and limits, by tokens and as streams.

use super::history::{Rows, put, remove};
use super::listed::{Asked, Listed, NAMES, Shards, Sorted, Unsorted};
use crate::TableEntity;
use crate::Tables;
use crate::dose::dose;
use crate::embedded::EmbeddedStore;
use crate::entity::{DynamicEntity, EntityRows, Marker, canonical};
use crate::error::Result;
use crate::eventual::tests::chaos::{
    Dice, Invariants, LATEST, Observer, all_hold, at_once, network, on_virtual_time,
};
use crate::layer::{FaultStore, Faults};
use crate::migrate::canonical::canonical_key;
use crate::migrate::{Migrates, Migrating, StoredForm};
use crate::model::{Edm, MOVED_TO, TableName, order};
use crate::plan::CanonicalKey;
use crate::query::ScanPermit;
use crate::store::Store;
use futures_util::future::join3;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::sleep;

const STATES: [&str; 3] = ["new", "sent", "\u{FFFD}"];
const FAULTS: f64 = 0.03;
const DEATHS: f64 = 0.1;

/// State and stamp.
type Content = (String, String);

/// What each entity was, one after the other.
type Truths = Arc<Mutex<BTreeMap<u64, Vec<Option<Content>>>>>;

#[derive(Debug)]
struct Watch<E> {
    truths: Truths,
    entity: PhantomData<fn() -> E>,
}

impl<E> Default for Watch<E> {
    fn default() -> Self {
        Self { truths: Arc::default(), entity: PhantomData }
    }
}

impl<E: Listed> Invariants for Watch<E> {
    const TABLES: &'static [&'static str] = E::TABLES;

    type Snapshot = Rows;

    fn put(snapshot: &mut Rows, table: &TableName, json: &str) {
        put(snapshot, table, json);
    }

    fn remove(snapshot: &mut Rows, table: &TableName, partition_key: &str, row_key: &str) {
        remove(snapshot, table, partition_key, row_key);
    }

    fn check(&mut self, now: &Rows) -> std::result::Result<(), String> {
        let mut truths = self.truths.lock().unwrap();
        for n in 0..NAMES.len() as u64 {
            let truth = truth::<E>(now, n);
            let of = truths.entry(n).or_insert_with(|| vec![None]);
            if *of.last().unwrap() != truth {
                of.push(truth);
            }
        }
        Ok(())
    }
}

fn truth<E: Listed>(rows: &Rows, n: u64) -> Option<Content> {
    let row = |table: &str, CanonicalKey { partition_key, row_key }: CanonicalKey| {
        rows.get(&(table.to_owned(), partition_key, row_key))
    };
    let text = |row: &DynamicEntity, name| match row.properties.get(name) {
        Some(Edm::String(text)) => Some(text.clone()),
        _ => None,
    };
    let content = |row: &DynamicEntity| text(row, "State").zip(text(row, "Stamp"));
    let entity = E::of(n, "new", "");
    let new = canonical_key(&EntityRows::of(&entity).unwrap());
    let old = canonical_key(&EntityRows::of(&E::Old::from(entity)).unwrap());
    let new = row(E::TABLE, new).and_then(content);
    let old = row(<E::Old as TableEntity>::TABLE, old);
    let marker = || Marker::parse(&text(old?, MOVED_TO)?);
    let parcel = || {
        let Marker { partition_key, parcel, .. } = marker()?;
        row(E::TABLE, CanonicalKey { partition_key, row_key: parcel? }).and_then(content)
    };
    new.or_else(|| old.and_then(content)).or_else(parcel)
}

struct Client<E: Migrates> {
    migrating: Migrating<E>,
    number: u64,
    dice: Dice,
    truths: Truths,
}

impl<E: Listed> Client<E> {
    fn start(seed: u64, number: u64, network: &FaultStore, truths: &Truths) -> Self {
        let dice = Dice::of(seed, number);
        let form = if number.is_multiple_of(2) { StoredForm::New } else { StoredForm::Old };
        let tables = Tables::new(Arc::new(network.clone())).on_virtual_time(dice.seed());
        let migrating = tables.migrating::<E>().unwrap().inserting(form);
        Self { migrating, number, dice, truths: Arc::clone(truths) }
    }

    fn n(&self) -> u64 {
        self.dice.below(NAMES.len() as u64)
    }

    fn state(&self) -> &'static str {
        STATES[self.dice.below(STATES.len() as u64) as usize]
    }

    async fn writes(self) {
        for call in 0..30 {
            sleep(self.dice.time(Duration::from_secs(2))).await;
            let stamp = format!("{}.{call}", self.number);
            let _ended = self.dice.mortal(DEATHS, Duration::from_secs(2), self.write(&stamp)).await;
        }
    }

    async fn write(&self, stamp: &str) -> Result<()> {
        let (n, state, client) = (self.n(), self.state(), &self.migrating);
        let key = canonical_key(&EntityRows::of(&E::of(n, "new", ""))?);
        match self.dice.below(8) {
            0..2 => client.insert(&E::of(n, state, stamp)).await,
            2 => {
                let all = (0..NAMES.len() as u64).map(|n| E::of(n, self.state(), stamp));
                let all: Vec<_> = all.collect();
                client.insert_many(all).await.all().map(drop)
            }
            what => {
                let Some(mut held) = client.hold(&key).await? else { return Ok(()) };
                let (own_state, own_stamp) = held.content();
                *own_stamp = stamp.to_owned();
                match what {
                    3 => return client.delete(held).await,
                    4..6 => *own_state = state.to_owned(),
                    _ => {}
                }
                client.save(&mut held).await
            }
        }
    }

    async fn moves(self) {
        for _ in 0..4 {
            sleep(self.dice.time(Duration::from_secs(10))).await;
            let mover = self.migrating.migrate(&ScanPermit::because("simulation"));
            let mover = if self.dice.happens(0.5) { mover.in_bulk() } else { mover };
            let _ended = self.dice.mortal(0.5, Duration::from_secs(6), mover.into_future()).await;
        }
    }

    async fn lists(self, wrong: &Mutex<Option<String>>) {
        for _ in 0..15 {
            sleep(self.dice.time(Duration::from_secs(2))).await;
            let size = self.dice.happens(0.6).then(|| 1 + self.dice.below(3) as usize);
            let asked = Asked {
                of: self.n(),
                by_state: self.dice.happens(0.4),
                state: self.dice.happens(0.5).then(|| self.state()),
                size,
                take: self.dice.happens(0.5).then(|| self.dice.below(4) as usize),
            };
            if let Err(untrue) = self.list(&asked).await {
                wrong.lock().unwrap().get_or_insert(format!("{asked:?}: {untrue}"));
            }
        }
    }

    async fn list(&self, asked: &Asked) -> std::result::Result<(), String> {
        let since: BTreeMap<_, _> = {
            let truths = self.truths.lock().unwrap();
            truths.iter().map(|(n, of)| (*n, of.len() - 1)).collect()
        };
        let Ok(found) = E::list(&self.migrating, asked, &self.dice).await else { return Ok(()) };
        let truths = self.truths.lock().unwrap();
        let was = |n: u64| {
            let of = truths.get(&n).map_or(&[None][..], |of| &of[..]);
            &of[since.get(&n).copied().unwrap_or(0)..]
        };
        let index = if asked.by_state { 1 } else { canonical::<E>() };
        let rows = |entity: &E| EntityRows::of(entity).unwrap();
        let partition = rows(&E::of(asked.of, "new", "")).partition_key;
        let key = |entity: &E| {
            let rows = rows(entity).rows;
            rows.into_iter().find(|row| row.index == index).unwrap().row_key
        };
        let keys: Vec<_> = found.iter().map(key).collect();
        if !keys.is_sorted_by(|one, next| order::compare(one, next) == Ordering::Less) {
            return Err(format!("{keys:?} are not in order"));
        }
        let is_asked = |state: &str| {
            asked.state.is_none_or(|asked_state| (asked_state == state) == asked.by_state)
        };
        let mut times = BTreeMap::<u64, usize>::new();
        for mut entity in found {
            let n = entity.n();
            let (state, stamp) = entity.content();
            let content = (state.clone(), stamp.clone());
            if !is_asked(&content.0) || rows(&entity).partition_key != partition {
                return Err(format!("{entity:?} is not asked for"));
            }
            if !was(n).contains(&Some(content)) {
                return Err(format!("{entity:?} was not so: {:?}", was(n)));
            }
            *times.entry(n).or_default() += 1;
        }
        let is_full = asked.size.is_none() && asked.take == Some(keys.len());
        for n in 0..NAMES.len() as u64 {
            let truths = was(n);
            let mut states: Vec<_> = truths.iter().flatten().map(|(state, _)| state).collect();
            states.dedup();
            let keeps_key = !asked.by_state || states.len() <= 1;
            let times = times.get(&n).copied().unwrap_or(0);
            if times > 1 && keeps_key {
                return Err(format!("entity {n} is given {times} times: {truths:?}"));
            }
            let Some(state) = states.first() else { continue };
            let entity = E::of(n, state, "");
            let is_behind = || {
                is_full
                    && keys
                        .last()
                        .is_none_or(|last| order::compare(&key(&entity), last) == Ordering::Greater)
            };
            let is_there = truths.iter().all(Option::is_some)
                && states.iter().all(|state| is_asked(state))
                && rows(&entity).partition_key == partition;
            if times == 0 && keeps_key && is_there && !is_behind() {
                return Err(format!("entity {n} is missed: {truths:?}"));
            }
        }
        Ok(())
    }
}

async fn run<E: Listed>(seed: u64) -> std::result::Result<usize, String> {
    let memory = EmbeddedStore::in_memory().unwrap();
    for table in E::TABLES {
        memory.create_table(&TableName::new(table).unwrap()).await.unwrap();
    }
    let watch = Watch::<E>::default();
    let truths = Arc::clone(&watch.truths);
    let observer = Observer::of(watch, Arc::new(memory));
    let short_pages = Faults::seeded(seed).short_pages(0.5).store(observer.clone()).unwrap();
    let network = network(seed, FAULTS, FAULTS, Arc::new(short_pages));
    let wrong = Mutex::new(None);
    let client = |number| Client::<E>::start(seed, number, &network, &truths);
    // Most are in their old form at first.
    for n in 0..NAMES.len() as u64 {
        let client = if n % 3 == 0 { client(0) } else { client(1) };
        let _inserted = client.migrating.insert(&E::of(n, client.state(), "first")).await;
    }
    let writers = at_once((2..6).map(|number| client(number).writes()));
    let movers = at_once([6, 8].into_iter().map(|number| client(number).moves()));
    let listers = at_once((10..14).map(|number| client(number).lists(&wrong)));
    join3(writers, movers, listers).await;
    sleep(LATEST).await;
    wrong.lock().unwrap().take().map_or_else(|| observer.result(), Err)
}

#[test]
fn lists_that_are_sorted_alike_give_each_entity_once_and_in_order() {
    all_hold(dose(10, 1_000), |seed| on_virtual_time(run::<Sorted>(seed)));
}

#[test]
fn lists_that_are_sorted_otherwise_give_each_entity_once_and_in_order() {
    all_hold(dose(10, 1_000), |seed| on_virtual_time(run::<Unsorted>(seed)));
}

#[test]
fn lists_of_more_shards_give_each_entity_once_and_in_order() {
    all_hold(dose(10, 1_000), |seed| on_virtual_time(run::<Shards>(seed)));
}
