//! Clients that read and write, and movers, over a network that loses answers, delays requests and writes for
//! minutes, and over processes that end anywhere. The seed decides all of it.
//!
//! Checked: what was acknowledged is there and is read by everybody from then on; what was deleted does not come
//! back; a conditional write takes effect over the version that it names only; each list and scan has each row
//! once, in order; and at the end each row is in the account of its slot, and nowhere else.

use super::client::{Client, value};
use super::tampering::{LeftOut, Tampering};
use super::{memory, name};
use crate::accounts::{Accounts, GrowReport};
use crate::layer::Faults;
use crate::model::{Metadata, TableName};
use crate::query::{KeyRange, RowQuery};
use crate::store::Store;
use crate::sync::Random;
use futures_util::future::join_all;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// The longest time that a request may be under way, and that a write may take effect after its answer was lost.
const SLOWEST: Duration = Duration::from_secs(150);
const LATEST: Duration = Duration::from_secs(400);
const CLIENTS: u64 = 3;
const LENGTH: Duration = Duration::from_secs(1500);

/// The stores of all accounts, and what is known of their rows.
#[derive(Debug)]
pub(super) struct World {
    pub seed: u64,
    pub stores: Vec<Arc<dyn Store>>,
    pub table: TableName,
    pub map: TableName,
    pub left_out: Option<LeftOut>,
    pub ends: Instant,
    pub counters: Mutex<BTreeMap<String, Counter>>,
    pub rows: Mutex<Vec<Possible>>,
    pub violation: Mutex<Option<String>>,
    pub tally: Mutex<Tally>,
}

/// A row whose client has ended or has given it up, and the values that it may have.
type Possible = (String, String, Vec<Option<i64>>);

/// A row that all clients raise.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Counter {
    pub acknowledged: i64,
    pub unknown: i64,
}

/// What a simulation has done.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Tally {
    pub acknowledged: u64,
    pub unknown: u64,
    pub refused: u64,
    pub reads: u64,
    pub grown: GrowReport,
}

impl World {
    pub fn fail(&self, text: String) {
        self.violation.lock().unwrap().get_or_insert(text);
    }

    pub fn has_ended(&self) -> bool {
        Instant::now() >= self.ends || self.violation.lock().unwrap().is_some()
    }

    /// The accounts as one process reaches them.
    pub fn accounts(&self, count: usize, seed: u64, far_away: f64) -> Accounts {
        let stores = self.stores[..count].iter().zip(1..).map(|(store, number)| {
            let store = Tampering::around(Arc::clone(store), self.left_out, self.table.clone());
            let near = Faults::seeded(seed ^ number).slow(1.0).slowest(Duration::from_millis(300));
            let far = Faults::seeded(seed.rotate_left(7) ^ number)
                .slow(far_away)
                .slowest(SLOWEST)
                .lost_requests(far_away / 2.0)
                .lost_replies(far_away)
                .late(far_away * 2.0)
                .latest(LATEST)
                .short_pages(0.2)
                .empty_pages(0.1);
            let near = Arc::new(near.store(store).unwrap());
            Arc::new(far.store(near).unwrap()) as Arc<dyn Store>
        });
        Accounts::growing(stores, self.map.clone()).unwrap()
    }
}

/// Grows the accounts by one, then by another, in processes that end anywhere.
async fn moves(world: &World, number: u64) {
    let random = Random::seeded(world.seed.wrapping_mul(1000) + 500 + number);
    for count in 2..=world.stores.len() {
        sleep(Duration::from_secs(100).mul_f64(random.unit())).await;
        while !world.has_ended() {
            let accounts = world.accounts(count, random.next(), 0.0006);
            let time = Duration::from_secs(400).mul_f64(random.unit());
            match timeout(time, accounts.grow()).await {
                Ok(Ok(growth)) => {
                    let mut tally = world.tally.lock().unwrap();
                    tally.grown.partitions += growth.partitions;
                    tally.grown.rows += growth.rows;
                    break;
                }
                // Another mover has the longer list already.
                Ok(Err(_)) if random.unit() < 0.05 => break,
                _ => {}
            }
        }
    }
}

/// What holds when all is done.
async fn check_end(world: &World) -> Result<(), String> {
    let count = world.stores.len();
    let accounts = Accounts::growing(world.stores.clone(), world.map.clone()).unwrap();
    accounts.grow().await.map_err(|error| error.to_string())?;
    let table = &world.table;
    let get = async |partition_key: &str, row_key: &str| {
        let row = accounts.get(table, partition_key, row_key, None, Metadata::Minimal).await;
        row.unwrap().map(|row| value(&row.body))
    };
    let rows = world.rows.lock().unwrap().clone();
    for (partition_key, row_key, possible) in rows {
        let found = get(&partition_key, &row_key).await;
        if !possible.contains(&found) {
            return Err(format!("{partition_key}, {row_key} is {found:?}, not of {possible:?}"));
        }
    }
    let counters = world.counters.lock().unwrap().clone();
    for (partition_key, counter) in counters {
        let found = get(&partition_key, "counter").await.unwrap_or_default();
        let possible = counter.acknowledged..=counter.acknowledged + counter.unknown;
        if !possible.contains(&found) {
            return Err(format!("{partition_key} counts {found}, not of {possible:?}"));
        }
    }
    for (account, store) in world.stores.iter().enumerate() {
        for (partition_key, row_key) in
            super::pages(&**store, RowQuery::new(table.clone(), KeyRange::ALL)).await.concat()
        {
            let slot = crate::accounts::route::slot_of(&partition_key);
            let place = crate::accounts::route::account_of(slot, count);
            if account != place && !row_key.starts_with("ACC:") {
                return Err(format!(
                    "{partition_key}, {row_key} is in account {account}, not {place}"
                ));
            }
        }
    }
    Ok(())
}

/// Runs one simulation, without any real wait.
pub(super) fn simulate(seed: u64, left_out: Option<LeftOut>) -> Result<Tally, String> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(async {
        let world = World {
            seed,
            stores: (0..2 + seed % 2).map(|_| memory()).collect(),
            table: name("rows"),
            map: name("accounts"),
            left_out,
            ends: Instant::now() + LENGTH,
            counters: Mutex::default(),
            rows: Mutex::default(),
            violation: Mutex::default(),
            tally: Mutex::default(),
        };
        for store in &world.stores {
            store.create_table(&world.table).await.unwrap();
        }
        let clients = async {
            join_all((0..CLIENTS).map(|number| Client::new(&world, number).run())).await;
        };
        let movers = join_all((0..2).map(|number| moves(&world, number)));
        futures_util::future::join(clients, movers).await;
        if let Some(violation) = world.violation.lock().unwrap().take() {
            return Err(format!("seed {seed}: {violation}"));
        }
        sleep(LATEST + SLOWEST * 4).await;
        check_end(&world).await.map_err(|violation| format!("seed {seed}: {violation}"))?;
        let tally = *world.tally.lock().unwrap();
        Ok(tally)
    })
}

#[test]
fn nothing_is_lost_doubled_or_brought_back_while_accounts_grow() {
    let (mut all, seeds) = (Tally::default(), crate::dose::dose(8, 400));
    for seed in 0..seeds {
        let tally = simulate(seed, None).unwrap();
        all.acknowledged += tally.acknowledged;
        all.unknown += tally.unknown;
        all.reads += tally.reads;
        all.grown.partitions += tally.grown.partitions;
    }
    assert!(all.acknowledged > 100 * seeds && all.reads > 30 * seeds, "{all:?}");
    assert!(all.unknown > 5 * seeds && all.grown.partitions > seeds / 2, "{all:?}");
}
