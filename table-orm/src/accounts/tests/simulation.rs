//! Clients that read and write, and movers, over a network that loses answers, delays requests and writes for
//! minutes, and over processes that end anywhere. The seed decides all of it.
//!
//! Checked: what was acknowledged is there and is read by everybody from then on; what was deleted does not come
//! back; a conditional write takes effect over the version that it names only; each list and scan has each row
//! once, in order; and at the end each row is in the account of its slot, and nowhere else.

use super::tampering::{LeftOut, Tampering};
use super::{memory, name};
use crate::accounts::{Accounts, Growth};
use crate::entity::{DynamicEntity, RowHead, read_row, split_page};
use crate::layer::Faults;
use crate::model::{ETag, Edm, Metadata, TableName};
use crate::query::{KeyRange, RowQuery, Span};
use crate::store::{Action, Batch, ErrorCode, IfMatch, Operation, Store, StoreError};
use crate::sync::Random;
use futures_util::future::join_all;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// The longest time that a request may be under way, and that a write may take effect after its answer was lost.
const SLOWEST: Duration = Duration::from_secs(150);
const LATEST: Duration = Duration::from_secs(400);
const PARTITIONS: u64 = 10;
const CLIENTS: u64 = 3;
const LENGTH: Duration = Duration::from_secs(1500);

/// The stores of all accounts, and what is known of their rows.
#[derive(Debug)]
struct World {
    seed: u64,
    stores: Vec<Arc<dyn Store>>,
    table: TableName,
    map: TableName,
    left_out: Option<LeftOut>,
    ends: Instant,
    counters: Mutex<BTreeMap<String, Counter>>,
    rows: Mutex<Vec<(String, String, Vec<Option<i64>>)>>,
    violation: Mutex<Option<String>>,
    tally: Mutex<Tally>,
}

/// A row that all clients raise.
#[derive(Debug, Default, Clone, Copy)]
struct Counter {
    acknowledged: i64,
    unknown: i64,
}

/// What a simulation has done.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Tally {
    pub acknowledged: u64,
    pub unknown: u64,
    pub refused: u64,
    pub reads: u64,
    pub grown: Growth,
}

impl World {
    fn fail(&self, text: String) {
        self.violation.lock().unwrap().get_or_insert(text);
    }

    fn has_ended(&self) -> bool {
        Instant::now() >= self.ends || self.violation.lock().unwrap().is_some()
    }

    /// The accounts as one process reaches them.
    fn accounts(&self, count: usize, seed: u64, far_away: f64) -> Accounts {
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

/// What became of a request.
enum Outcome<T> {
    Done(T),
    Refused(StoreError),
    Unknown,
}

/// A row of one client.
#[derive(Debug, Clone)]
struct Own {
    partition_key: String,
    row_key: String,
    value: Option<i64>,
    etag: Option<ETag>,
}

struct Client<'w> {
    world: &'w World,
    number: u64,
    random: Random,
    accounts: Accounts,
    count: usize,
    own: Vec<Own>,
    next: i64,
}

fn entity(partition_key: &str, row_key: &str, value: i64) -> DynamicEntity {
    DynamicEntity::new(partition_key, row_key).with("Value", value)
}

fn body(partition_key: &str, row_key: &str, value: i64) -> bytes::Bytes {
    entity(partition_key, row_key, value).body().unwrap()
}

fn value(body: &[u8]) -> i64 {
    match read_row::<DynamicEntity>(0, body).unwrap().properties.get("Value") {
        Some(Edm::Int64(value)) => *value,
        other => panic!("the row has {other:?}"),
    }
}

impl<'w> Client<'w> {
    fn new(world: &'w World, number: u64) -> Self {
        let random = Random::seeded(world.seed.wrapping_mul(1000) + number);
        let accounts = world.accounts(1, random.next(), 0.02);
        Self { world, number, random, accounts, count: 1, own: Vec::new(), next: 0 }
    }

    fn happens(&self, probability: f64) -> bool {
        self.random.unit() < probability
    }

    /// Another process, perhaps with the longer list of accounts.
    fn starts_again(&mut self) {
        if self.count < self.world.stores.len() && self.happens(0.7) {
            self.count += 1;
        }
        self.accounts = self.world.accounts(self.count, self.random.next(), 0.02);
    }

    /// Sends a request from a process that may end before its answer.
    async fn call<T>(
        &mut self,
        call: impl AsyncFnOnce(&Accounts) -> Result<T, StoreError>,
    ) -> Outcome<T> {
        let accounts = self.accounts.clone();
        let answer = if self.happens(0.02) {
            let time = Duration::from_secs(3).mul_f64(self.random.unit());
            timeout(time, call(&accounts)).await.ok()
        } else {
            Some(call(&accounts).await)
        };
        match answer {
            None => {
                self.starts_again();
                Outcome::Unknown
            }
            Some(Ok(answer)) => Outcome::Done(answer),
            Some(Err(error)) if error.status == 0 || error.status == 500 => Outcome::Unknown,
            Some(Err(error)) => {
                if error.code == ErrorCode::INVALID_INPUT {
                    // The list is too short.
                    self.count += 1;
                    self.accounts = self.world.accounts(self.count, self.random.next(), 0.02);
                }
                Outcome::Refused(error)
            }
        }
    }

    async fn run(mut self) {
        while !self.world.has_ended() {
            sleep(Duration::from_secs(2).mul_f64(self.random.unit())).await;
            match self.random.below(12) {
                0..=2 => self.inserts().await,
                3..=5 => self.changes().await,
                6 => self.deletes().await,
                7 | 8 => self.raises().await,
                9 => self.gets().await,
                10 => self.lists().await,
                _ if self.happens(0.3) => self.scans().await,
                _ => self.gets().await,
            }
        }
        let mut rows = self.world.rows.lock().unwrap();
        rows.extend(
            self.own.into_iter().map(|own| (own.partition_key, own.row_key, vec![own.value])),
        );
    }

    fn partition(&self) -> String {
        format!("p{}", self.random.below(PARTITIONS))
    }

    fn counts(&self, outcome: &Outcome<impl Sized>) {
        let mut tally = self.world.tally.lock().unwrap();
        match outcome {
            Outcome::Done(_) => tally.acknowledged += 1,
            Outcome::Unknown => tally.unknown += 1,
            Outcome::Refused(_) => tally.refused += 1,
        }
    }

    /// A transaction of new rows.
    async fn inserts(&mut self) {
        let partition_key = self.partition();
        let rows: Vec<_> = (0..=self.random.below(3))
            .map(|_| {
                self.next += 1;
                (format!("c{}-{:05}", self.number, self.next), self.next)
            })
            .collect();
        let operations = rows.iter().map(|(row_key, value)| {
            let action = Action::Insert(body(&partition_key, row_key, *value));
            Operation { row_key: row_key.clone(), action }
        });
        let batch =
            Batch { partition_key: partition_key.clone(), operations: operations.collect() };
        let table = self.world.table.clone();
        let outcome = self.call(async |accounts| accounts.commit(&table, batch).await).await;
        self.counts(&outcome);
        match outcome {
            Outcome::Done(etags) => {
                for ((row_key, value), etag) in rows.into_iter().zip(etags) {
                    let partition_key = partition_key.clone();
                    self.own.push(Own { partition_key, row_key, value: Some(value), etag });
                }
            }
            Outcome::Unknown => self.unknown(&partition_key, rows, None),
            Outcome::Refused(error) if error.code == ErrorCode::ENTITY_ALREADY_EXISTS => {
                self.world.fail(format!("{rows:?} of {partition_key} were there before: {error}"));
            }
            Outcome::Refused(error) => self.check_refusal(&error),
        }
    }

    /// Gives up rows of which nobody knows whether they were written.
    fn unknown(&self, partition_key: &str, rows: Vec<(String, i64)>, before: Option<i64>) {
        let mut all = self.world.rows.lock().unwrap();
        for (row_key, value) in rows {
            all.push((partition_key.to_owned(), row_key, vec![before, Some(value)]));
        }
    }

    fn check_refusal(&self, error: &StoreError) {
        let codes = [ErrorCode::SERVER_BUSY, ErrorCode::INVALID_INPUT];
        if !codes.contains(&error.code) {
            self.world.fail(format!("client {} was refused: {error}", self.number));
        }
    }

    fn one(&self) -> Option<usize> {
        (!self.own.is_empty()).then(|| self.random.below(self.own.len() as u64) as usize)
    }

    /// Writes a row of its own, over whatever is there or over the version that it knows.
    async fn changes(&mut self) {
        let Some(at) = self.one() else { return };
        let own = self.own[at].clone();
        self.next += 1;
        let new = self.next;
        let body = body(&own.partition_key, &own.row_key, new);
        let action = match (&own.etag, self.random.below(3)) {
            (Some(etag), 0 | 1) => Action::Replace(body, IfMatch::ETag(etag.clone())),
            (Some(_), _) => Action::Merge(body, IfMatch::Any),
            (None, 0) => Action::Insert(body),
            (None, _) => Action::InsertOrReplace(body),
        };
        let operation = Operation { row_key: own.row_key.clone(), action };
        let table = self.world.table.clone();
        let partition_key = &own.partition_key;
        let write =
            async |accounts: &Accounts| accounts.write(&table, partition_key, operation).await;
        let outcome = self.call(write).await;
        self.counts(&outcome);
        match outcome {
            Outcome::Done(etag) => {
                self.own[at].value = Some(new);
                self.own[at].etag = etag;
            }
            Outcome::Unknown => {
                self.own.swap_remove(at);
                self.unknown(&own.partition_key, vec![(own.row_key, new)], own.value);
            }
            // It moved, and has another version.
            Outcome::Refused(error) if error.code == ErrorCode::UPDATE_CONDITION_NOT_SATISFIED => {
                self.looks(at).await;
            }
            Outcome::Refused(error) => self.check_refusal(&error),
        }
    }

    async fn deletes(&mut self) {
        let Some(at) = self.one() else { return };
        let own = self.own[at].clone();
        if own.value.is_none() {
            return;
        }
        let action = Action::Delete(IfMatch::Any);
        let operation = Operation { row_key: own.row_key.clone(), action };
        let table = self.world.table.clone();
        let partition_key = &own.partition_key;
        let write =
            async |accounts: &Accounts| accounts.write(&table, partition_key, operation).await;
        let outcome = self.call(write).await;
        self.counts(&outcome);
        match outcome {
            Outcome::Done(_) => (self.own[at].value, self.own[at].etag) = (None, None),
            Outcome::Unknown => {
                self.own.swap_remove(at);
                let mut all = self.world.rows.lock().unwrap();
                all.push((own.partition_key, own.row_key, vec![None, own.value]));
            }
            Outcome::Refused(error) => self.check_refusal(&error),
        }
    }

    async fn gets(&mut self) {
        if let Some(at) = self.one() {
            self.looks(at).await;
        }
    }

    /// Reads a row of its own, which nobody else writes.
    async fn looks(&mut self, at: usize) {
        let own = self.own[at].clone();
        let table = self.world.table.clone();
        let read = async |accounts: &Accounts| {
            let key = (&own.partition_key, &own.row_key);
            accounts.get(&table, key.0, key.1, None, Metadata::Minimal).await
        };
        if let Outcome::Done(row) = self.call(read).await {
            let found = row.as_ref().map(|row| value(&row.body));
            if found != own.value {
                self.world.fail(format!("client {} reads {found:?} of {own:?}", self.number));
            }
            self.own[at].etag = row.map(|row| row.etag().unwrap());
            self.world.tally.lock().unwrap().reads += 1;
        }
    }

    /// Adds one to a row of all clients.
    async fn raises(&mut self) {
        let partition_key = self.partition();
        let counter = || self.world.counters.lock().unwrap().get(&partition_key).copied();
        let before = counter().unwrap_or_default();
        let table = self.world.table.clone();
        let read = async |accounts: &Accounts| {
            accounts.get(&table, &partition_key, "counter", None, Metadata::Minimal).await
        };
        let Outcome::Done(row) = self.call(read).await else { return };
        let found = row.as_ref().map_or(0, |row| value(&row.body));
        if found < before.acknowledged {
            self.world.fail(format!("{partition_key} counts {found}, below {before:?}"));
        }
        let body = body(&partition_key, "counter", found + 1);
        let action = Action::over(body, row.map(|row| row.etag().unwrap()));
        let operation = Operation { row_key: "counter".into(), action };
        let write =
            async |accounts: &Accounts| accounts.write(&table, &partition_key, operation).await;
        let outcome = self.call(write).await;
        self.counts(&outcome);
        let mut counters = self.world.counters.lock().unwrap();
        let counter = counters.entry(partition_key).or_default();
        match outcome {
            Outcome::Done(_) => counter.acknowledged += 1,
            Outcome::Unknown => counter.unknown += 1,
            Outcome::Refused(_) => {}
        }
    }

    async fn lists(&mut self) {
        let partition_key = self.partition();
        let keys = KeyRange { partition: Span::Exact(partition_key.clone()), row: Span::All };
        self.reads(keys, |own| own.partition_key == partition_key).await;
    }

    async fn scans(&mut self) {
        self.reads(KeyRange::ALL, |_| true).await;
    }

    /// Reads page after page; a page that fails is asked for again.
    async fn reads(&mut self, keys: KeyRange, is_in: impl Fn(&Own) -> bool) {
        let mut query = RowQuery::new(self.world.table.clone(), keys);
        query.metadata = Metadata::Minimal;
        query.top = Some(3 + self.random.below(20) as u16);
        let mut found: Vec<(RowHead, i64)> = Vec::new();
        let mut failures = 0;
        loop {
            let page = async |accounts: &Accounts| accounts.query(&query).await;
            let page = match self.call(page).await {
                Outcome::Done(page) => page,
                _ if failures < 20 => {
                    failures += 1;
                    sleep(Duration::from_secs(1)).await;
                    continue;
                }
                _ => return,
            };
            for row in split_page(&page.body).unwrap() {
                let row = row.get().as_bytes();
                found.push((read_row::<RowHead>(0, row).unwrap(), value(row)));
            }
            if page.continuation.is_none() {
                break;
            }
            query.continuation = page.continuation;
        }
        if !found.is_sorted_by(|one, next| one.0 < next.0) {
            self.world.fail(format!("a query returns rows twice, or not in order: {found:?}"));
        }
        let found: BTreeMap<_, _> = found
            .into_iter()
            .map(|(row, value)| ((row.partition_key, row.row_key), value))
            .collect();
        for own in self.own.iter().filter(|own| is_in(own)) {
            let row = found.get(&(own.partition_key.clone(), own.row_key.clone())).copied();
            if row != own.value {
                self.world.fail(format!("client {} lists {row:?} of {own:?}", self.number));
            }
        }
        self.world.tally.lock().unwrap().reads += 1;
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
    for (partition_key, row_key, possible) in world.rows.lock().unwrap().clone() {
        let found = get(&partition_key, &row_key).await;
        if !possible.contains(&found) {
            return Err(format!("{partition_key}, {row_key} is {found:?}, not of {possible:?}"));
        }
    }
    for (partition_key, counter) in world.counters.lock().unwrap().clone() {
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
