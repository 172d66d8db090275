//! Processes that register their writes and end at any time, and dispatchers that know the register alone.
//!
//! The observer checks after each write that every partition with an event is named. Requests take effect up to
//! minutes late, long after the pointers to their partitions are old.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use crate as table_orm;
use crate::dose::dose;
use crate::embedded::EmbeddedStore;
use crate::entity::{DynamicEntity, EVENTS, EventRowKey, HEAD, Head, read_row};
use crate::eventual::Registered;
use crate::eventual::tests::chaos::{self, Dice, Invariants, all_hold, first_violation};
use crate::eventual::tests::stamped::Stamped;
use crate::layer::{FaultStore, Faults, Layer as _, Retry};
use crate::model::{ETag, Edm, Metadata, TableName};
use crate::outbox::{DispatchReport, Event, HandlerError};
use crate::query::RowQuery;
use crate::register::GRACE;
use crate::store::{Middleware, Operation, Page, Store, StoreAnswer, StoreError, StoreRequest};
use crate::{Repo, TableEntity, Tables};
use futures_util::future::{join, join_all};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::sleep;

#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(
    name = "orders", partition = "{customer}", row = "{number:02}", crate = table_orm, outbox(after)
)]
struct Order {
    #[table(key_only)]
    customer: String,
    #[table(key_only)]
    number: u64,
    cents: u64,
}

const CUSTOMERS: [&str; 3] = ["acme", "globex", "init"];
const PROCESSES: u64 = 2;
const DISPATCHERS: u64 = 2;
const LIVES: u64 = 3;
/// The longest life of a process.
const LONGEST_LIFE: Duration = Duration::from_secs(400);
/// How late a request takes effect, at most.
const LATEST: Duration = Duration::from_secs(400);

/// A part of the protocol that is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeftOut {
    /// A pointer is written before the transaction.
    Pointer,
    /// A pointer that is younger than the grace stays.
    Grace,
    /// The row with the next number is written before pointers are deleted.
    Refusal,
}

#[derive(Debug, Default)]
struct AllNamed;

/// A row, by its keys.
type Key = (String, String);

#[derive(Debug, Default, PartialEq)]
struct Snapshot {
    events: BTreeSet<Key>,
    /// The pointers, with the partitions that they name.
    named: BTreeMap<Key, String>,
}

impl Invariants for AllNamed {
    const TABLES: [&'static str; 2] = ["orders", "ordersDue"];

    type Snapshot = Snapshot;

    fn put(snapshot: &mut Snapshot, table: &TableName, json: &str) {
        let mut row: DynamicEntity = read_row(0, json.as_bytes()).unwrap();
        let mut text = |name: &str| match row.properties.remove(name) {
            Some(Edm::String(text)) => text,
            _ => String::new(),
        };
        let (kind, named) = (text("Kind"), text("Partition"));
        let key = (row.partition_key, row.row_key);
        if kind == EVENTS {
            snapshot.named.insert(key, named);
        } else if table.as_str() == "orders" && EventRowKey::read(&key.1).is_some() {
            snapshot.events.insert(key);
        }
    }

    fn remove(snapshot: &mut Snapshot, table: &TableName, partition_key: &str, row_key: &str) {
        let key = (partition_key.to_owned(), row_key.to_owned());
        if table.as_str() == "orders" {
            snapshot.events.remove(&key);
        } else {
            snapshot.named.remove(&key);
        }
    }

    fn check(&mut self, now: &Snapshot) -> Result<(), String> {
        let is_named = |(partition_key, _): &&Key| now.named.values().any(|it| it == partition_key);
        match now.events.iter().find(|key| !is_named(key)) {
            Some(key) => Err(format!("the partition of {key:?} is not named")),
            None => Ok(()),
        }
    }
}

/// The store of one process: whatever it asks for after its end is never answered.
#[derive(Debug)]
struct Process {
    inner: Arc<dyn Store>,
    has_ended: Arc<AtomicBool>,
    left_out: Option<LeftOut>,
}

impl Process {
    async fn unless_ended(&self) {
        if self.has_ended.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }
}

impl Middleware for Process {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn call<T: StoreAnswer>(
        &self,
        _: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self.unless_ended().await;
        let answer = next.await;
        self.unless_ended().await;
        answer
    }

    async fn query(&self, query: &RowQuery) -> Result<Page, StoreError> {
        self.unless_ended().await;
        let mut page = self.inner.query(query).await?;
        self.unless_ended().await;
        if self.left_out == Some(LeftOut::Grace) && query.table.as_str() == "ordersDue" {
            let body = String::from_utf8(page.body.to_vec()).unwrap();
            page.body = body.replace("\"2026-11-23T", "\"2025-11-23T").into();
        }
        Ok(page)
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        self.unless_ended().await;
        let is_left_out = match self.left_out {
            Some(LeftOut::Pointer) => table.as_str() == "ordersDue",
            Some(LeftOut::Refusal) => operation.row_key == HEAD,
            _ => false,
        };
        if is_left_out {
            return Ok(Some(ETag::new("W/\"datetime'2000-01-01T00%3A00%3A00Z'\"")));
        }
        let answer = self.inner.write(table, partition_key, operation).await;
        self.unless_ended().await;
        answer
    }
}

/// The numbers of the events that handlers took, of each partition.
type Taken = Mutex<BTreeMap<String, BTreeSet<u64>>>;

fn simulate(seed: u64, left_out: Option<LeftOut>) -> Result<usize, String> {
    chaos::on_virtual_time(run(seed, left_out))
}

async fn run(seed: u64, left_out: Option<LeftOut>) -> Result<usize, String> {
    let memory = EmbeddedStore::in_memory().unwrap();
    let [orders, due] = ["orders", "ordersDue"].map(|name| TableName::new(name).unwrap());
    memory.create_table(&orders).await.unwrap();
    memory.create_table(&due).await.unwrap();
    let observer = chaos::Observer::<AllNamed>::new(Arc::new(Stamped::new(Arc::new(memory))));
    let faults = Faults::seeded(seed).slow(1.0).slowest(Duration::from_millis(400)).latest(LATEST);
    let faults = faults.lost_requests(0.03).lost_replies(0.03).late(0.1);
    let network = faults.store(observer.clone()).unwrap();
    let taken = Taken::default();
    let processes = (0..PROCESSES).map(|number| write_all(seed, number, &network, left_out));
    let dispatchers = (PROCESSES..PROCESSES + DISPATCHERS)
        .map(|number| dispatch_all(seed, number, &network, left_out, &taken));
    join(join_all(processes), join_all(dispatchers)).await;
    // What is still on its way arrives, what is named gets old, and leases are over.
    sleep(LATEST + GRACE).await;
    network.disable();
    let last = Life::new(Dice::of(seed, 99), &network, None).await;
    let mut reports = Vec::new();
    for _ in 0..2 {
        reports.push(last.hand_on(&taken, false).await.map_err(|error| error.to_string())?);
    }
    observer.result()?;
    let end = observer.snapshot().await;
    if end.events.len() + end.named.len() > 0 {
        return Err(format!("the register alone does not suffice: {end:?}, {reports:?}"));
    }
    let mut taken = taken.into_inner().unwrap();
    for customer in CUSTOMERS {
        let head = observer.get(&orders, customer, HEAD, None, Metadata::Minimal).await.unwrap();
        let next = head.map_or(1, |row| read_row::<Head>(0, &row.body).unwrap().next);
        let taken: Vec<_> = taken.remove(customer).unwrap_or_default().into_iter().collect();
        if taken != (1..next).collect::<Vec<_>>() {
            return Err(format!("of {} events of {customer}, these came: {taken:?}", next - 1));
        }
    }
    observer.result()
}

/// A process from its start to its end.
struct Life {
    orders: Repo<Order>,
    register: Registered,
    dice: Dice,
    has_ended: Arc<AtomicBool>,
}

impl Life {
    async fn new(dice: Dice, network: &FaultStore, left_out: Option<LeftOut>) -> Self {
        let has_ended = Arc::new(AtomicBool::new(false));
        let inner: Arc<dyn Store> = Arc::new(network.clone());
        // Some send again by themselves what was not answered.
        let inner = if dice.happens(0.3) {
            Retry::interactive().write_id("WriteId").seed(dice.seed()).around(inner).unwrap()
        } else {
            inner
        };
        let store = Process { inner, has_ended: Arc::clone(&has_ended), left_out };
        let orders = Tables::new(store).on_virtual_time(dice.seed()).repo::<Order>();
        let register = orders.register().existing().await.unwrap();
        Self { orders, register, dice, has_ended }
    }

    async fn hand_on(&self, taken: &Taken, fails: bool) -> crate::Result<DispatchReport> {
        let handler = async |event: Event| {
            if fails && self.dice.happens(0.2) {
                return Err(HandlerError::from("no"));
            }
            let mut taken = taken.lock().unwrap();
            taken.entry(event.partition_key).or_default().insert(event.number);
            Ok(())
        };
        self.orders.outbox().dispatch(&self.register, handler).lease(Duration::from_secs(20)).await
    }

    /// Writes until the end, two at a time.
    async fn write_some(&self) {
        let writer = || async {
            loop {
                // Long enough that pointers get old, or short enough that they are used again.
                let pause = if self.dice.happens(0.4) { 200 } else { 40 };
                sleep(self.dice.time(Duration::from_secs(pause))).await;
                let give_up = if self.dice.happens(0.2) { 1 } else { 30 };
                // What fails has no event, or one that is found.
                let _written =
                    self.dice.mortal(0.2, Duration::from_secs(give_up), self.write()).await;
            }
        };
        join(writer(), writer()).await;
    }

    async fn write(&self) -> crate::Result<()> {
        let customer = CUSTOMERS[self.dice.below(3) as usize];
        let order = Order {
            customer: customer.to_owned(),
            number: self.dice.below(2),
            cents: self.dice.below(1_000_000),
        };
        let partition = Order::partition(customer);
        let key = partition.row().number(order.number);
        match self.dice.below(6) {
            0 => self.orders.insert(&order).await.map(drop),
            1 => self.orders.upsert(&order).await.map(drop),
            2 => {
                let patch = OrderPatch::default().cents(order.cents);
                self.orders.merge(&key, patch).or_insert().await.map(drop)
            }
            3 => self.orders.transaction(&partition).upsert(&order).commit().await.map(drop),
            4 => self.orders.upsert_many([order]).await.all().map(drop),
            _ => match self.orders.load(&key).await?.optional()? {
                Some(stored) => self.orders.delete_if(&key, stored.etag()).await,
                None => Ok(()),
            },
        }
    }
}

async fn write_all(seed: u64, number: u64, network: &FaultStore, left_out: Option<LeftOut>) {
    for life in 0..LIVES {
        let dice = Dice::of(seed, 10 * number + life);
        let time = dice.time(LONGEST_LIFE);
        let life = Life::new(dice, network, left_out).await;
        let _ended = tokio::time::timeout(time, life.write_some()).await;
        life.has_ended.store(true, Ordering::Relaxed);
    }
}

async fn dispatch_all(
    seed: u64,
    number: u64,
    network: &FaultStore,
    left_out: Option<LeftOut>,
    taken: &Taken,
) {
    for life in 0..4 * LIVES {
        let dice = Dice::of(seed, 20 * number + life);
        sleep(dice.time(LONGEST_LIFE / 3)).await;
        let life = Life::new(dice, network, left_out).await;
        life.dice.mortal(0.3, Duration::from_secs(10), life.hand_on(taken, true)).await;
        life.has_ended.store(true, Ordering::Relaxed);
    }
}

#[test]
fn every_partition_with_events_is_named_whatever_is_lost_or_late_or_ends() {
    all_hold(dose(40, 1_000), |seed| simulate(seed, None));
}

#[test]
fn a_register_of_events_without_one_of_its_parts_is_found_out() {
    for part in [LeftOut::Pointer, LeftOut::Grace, LeftOut::Refusal] {
        let violation = first_violation(part, 0..300, |seed| simulate(seed, Some(part)));
        assert!(violation.is_some_and(|violation| violation.contains("is not named")), "{part:?}");
    }
}
