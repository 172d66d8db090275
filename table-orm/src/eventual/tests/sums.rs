//! Clients that write entities whose totals have copies, over a network that loses answers, delays writes and
//! outlives its clients.
//!
//! The observer checks after each write that a copy that differs from its total is listed by an intent, and that no
//! copy shows an older total after a newer one. At the end one sweeper alone makes every copy right.

use super::chaos::{self, Dice, Invariants, LATEST, all_hold, at_once, first_violation, grace};
use super::chaos::{WrongClock, network, on_virtual_time};
use super::mortal::Mortal;
use crate as table_orm;
use crate::dose::dose;
use crate::embedded::EmbeddedStore;
use crate::entity::{DynamicEntity, read_row};
use crate::eventual::{EventualType, Pending};
use crate::layer::FaultStore;
use crate::model::{ETag, Edm, TableName};
use crate::repo::SumProblem;
use crate::store::{Action, Batch, Middleware, Store, StoreError};
use crate::{Repo, Sum, TableEntity, Tables};
use futures_util::future::join;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "orders", partition = "{customer}", row = "O:{number:02}", sums = Order::SUMS)]
#[table(crate = table_orm)]
struct Order {
    customer: String,
    number: u64,
    cents: i64,
    state: String,
}

impl Order {
    const CENTS: Sum<Self> =
        Sum::of("cents", |order: &Self| order.cents).shards(2).over_partitions();
    const BY_STATE: Sum<Self> =
        Sum::by_group("state", |order: &Self| (order.state.clone(), 1)).over_partitions();
    const SUMS: &'static [Sum<Self>] = &[Self::CENTS, Self::BY_STATE];
}

const CUSTOMERS: u64 = 2;
const NUMBERS: u64 = 3;
const LONGEST_LIFE: Duration = Duration::from_secs(6);

type Key = (String, String);

/// All rows of the store.
#[derive(Debug, Default, PartialEq, Eq)]
struct Snapshot {
    /// The copy that each total should have.
    wanted: BTreeMap<Key, i64>,
    copies: BTreeMap<Key, i64>,
    /// The copies that each intent lists.
    listed: BTreeMap<Key, BTreeSet<Key>>,
}

/// The key of the copy of a total.
fn copy_of(partition_key: &str, row_key: &str) -> Option<Key> {
    let (name, rest) = row_key.strip_prefix("SUM:")?.split_once(':')?;
    let key = (format!("SUM:{name}"), format!("SUM::{rest}:{partition_key}"));
    (!name.is_empty()).then_some(key)
}

#[derive(Debug, Default)]
struct Seen {
    /// The states of each total, one after the other, and the earliest that its copy can show now.
    history: BTreeMap<Key, (Vec<Option<i64>>, usize)>,
}

impl Invariants for Seen {
    const TABLES: &'static [&'static str] = &["orders"];

    type Snapshot = Snapshot;

    fn put(snapshot: &mut Snapshot, table: &TableName, json: &str) {
        let row: DynamicEntity = read_row(0, json.as_bytes()).unwrap();
        let key = (row.partition_key.clone(), row.row_key.clone());
        let total = match row.properties.get("Total") {
            Some(Edm::Int64(total)) => *total,
            _ => 0,
        };
        if key.1.starts_with("SUM::") {
            snapshot.copies.insert(key, total);
        } else if let Some(copy) = copy_of(&key.0, &key.1) {
            snapshot.wanted.insert(copy, total);
        } else if key.1.starts_with("DUE:") {
            let pending = Pending::read(row, table, EventualType::of::<Order>()).unwrap().unwrap();
            let keys = pending.intent.due.into_iter().flat_map(|entry| entry.keys);
            let keys = keys.map(|(_, key)| (key.partition_key, key.row_key)).collect();
            snapshot.listed.insert(key, keys);
        }
    }

    fn remove(snapshot: &mut Snapshot, _: &TableName, partition_key: &str, row_key: &str) {
        let key = (partition_key.to_owned(), row_key.to_owned());
        snapshot.copies.remove(&key);
        snapshot.listed.remove(&key);
    }

    fn check(&mut self, now: &Snapshot) -> Result<(), String> {
        for key in now.wanted.keys().chain(now.copies.keys()) {
            let (wanted, shown) = (now.wanted.get(key).copied(), now.copies.get(key).copied());
            if wanted != shown && !now.listed.values().any(|listed| listed.contains(key)) {
                return Err(format!(
                    "{key:?} is {shown:?}, not {wanted:?}, and no intent lists it"
                ));
            }
            let (states, earliest) =
                self.history.entry(key.clone()).or_insert_with(|| (vec![None], 0));
            if states.last() != Some(&wanted) {
                states.push(wanted);
            }
            let Some(later) = states[*earliest..].iter().position(|state| *state == shown) else {
                return Err(format!("{key:?} goes back from {earliest} to {shown:?}: {states:?}"));
            };
            *earliest += later;
        }
        Ok(())
    }
}

/// The network of clients whose intents list nothing.
#[derive(Debug)]
struct Silent(Arc<dyn Store>);

impl Middleware for Silent {
    fn inner(&self) -> &dyn Store {
        &*self.0
    }

    async fn commit(
        &self,
        table: &TableName,
        mut batch: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        for operation in &mut batch.operations {
            if let (true, Action::Insert(body)) =
                (operation.row_key.starts_with("DUE:"), &mut operation.action)
            {
                let mut row: DynamicEntity = read_row(0, body).unwrap();
                row.properties.insert("Due".to_owned(), Edm::String("[]".to_owned()));
                *body = row.body().unwrap();
            }
        }
        self.0.commit(table, batch).await
    }
}

struct Client {
    tables: Tables,
    orders: Repo<Order>,
    dice: Dice,
    network: Arc<Mortal>,
    grace: Duration,
}

impl Client {
    fn new(seed: u64, number: u64, network: &FaultStore, silent: bool) -> Self {
        let dice = Dice::of(seed, number);
        let network: Arc<dyn Store> = Arc::new(network.clone());
        let network = if silent { Arc::new(Silent(network)) } else { network };
        let client_seed = dice.seed();
        let network = Mortal::new(WrongClock::around(network, client_seed));
        let tables = Tables::new(network.clone()).on_virtual_time(client_seed);
        let orders = tables.repo::<Order>();
        Self { tables, orders, dice, network, grace: grace(client_seed) }
    }

    fn draw(&self) -> Order {
        Order {
            customer: format!("c{}", self.dice.below(CUSTOMERS)),
            number: self.dice.below(NUMBERS),
            cents: self.dice.below(50) as i64,
            state: ["open", "paid"][self.dice.below(2) as usize].to_owned(),
        }
    }

    async fn write(&self) -> crate::Result<()> {
        let order = self.draw();
        let partition = Order::partition(&order.customer);
        let key = partition.row().number(order.number);
        match self.dice.below(6) {
            0 => self.orders.upsert(&order).await.map(drop),
            1 => self.orders.merge(key, OrderPatch::default().cents(order.cents)).await.map(drop),
            2 => {
                let all = (0..NUMBERS).map(|number| Order { number, ..order.clone() });
                self.orders.upsert_many(all).await.all().map(drop)
            }
            3 => {
                let mut tx = self.tables.transaction(&partition);
                for number in 0..NUMBERS {
                    tx = tx.insert(&Order { number, ..order.clone() });
                }
                tx.settle_later().commit().await.map(drop)
            }
            4 => self.orders.insert(&order).await.map(drop),
            _ => match self.orders.load(key).await?.optional()? {
                None => Ok(()),
                Some(stored) => self.orders.delete(stored).await,
            },
        }
    }

    async fn write_some(self) {
        let life = async {
            for _ in 0..5 {
                sleep(self.dice.time(Duration::from_secs(2))).await;
                // What fails left nothing, or what is found.
                let _written = self.dice.mortal(0.2, LONGEST_LIFE, self.write()).await;
            }
        };
        let _ended = timeout(self.dice.time(8 * LONGEST_LIFE), life).await;
        self.network.end();
    }

    /// Sweeps, and counts again. Nothing is ever wrong but what an intent lists.
    async fn sweep_some(self) {
        for _ in 0..4 {
            sleep(self.dice.time(Duration::from_secs(3))).await;
            let partition = Order::partition(format!("c{}", self.dice.below(CUSTOMERS)));
            let sweep = async {
                let _swept = self.orders.settle(&partition).grace(self.grace).await;
                let found = self.orders.verify_sums(&partition).await.unwrap_or_default();
                for wrong in found {
                    let pending = [SumProblem::Pending, SumProblem::CopyPending];
                    assert!(pending.contains(&wrong.problem), "{wrong:?}");
                }
            };
            self.dice.mortal(0.2, LONGEST_LIFE, sweep).await;
        }
    }
}

fn simulate(seed: u64, silent: bool) -> Result<usize, String> {
    on_virtual_time(run(seed, silent))
}

async fn run(seed: u64, silent: bool) -> Result<usize, String> {
    let memory = Arc::new(EmbeddedStore::in_memory().unwrap());
    for table in Seen::TABLES {
        memory.create_table(&TableName::new(table).unwrap()).await.unwrap();
    }
    let observer = chaos::Observer::<Seen>::new(memory);
    let network = network(seed, 0.03, 0.03, observer.clone());
    let writers = (0..3).map(|number| Client::new(seed, number, &network, silent).write_some());
    let sweepers = (10..12).map(|number| Client::new(seed, number, &network, silent).sweep_some());
    join(at_once(writers), at_once(sweepers)).await;
    observer.result()?;
    // What is still on its way arrives.
    sleep(LATEST).await;
    network.disable();
    let last = Client::new(seed, 99, &network, silent);
    for customer in (0..CUSTOMERS).map(|customer| format!("c{customer}")) {
        let partition = Order::partition(customer);
        let settle = last.orders.settle(&partition).grace(Duration::ZERO);
        let report = settle.await;
        let wrong = last.orders.verify_sums(&partition).await.map_err(|error| error.to_string())?;
        if !report.failures.is_empty() || report.ended.is_some() || !wrong.is_empty() {
            return Err(format!("a sweeper alone does not end: {report:?}, {wrong:?}"));
        }
    }
    let end = observer.snapshot().await;
    if end.copies != end.wanted || !end.listed.is_empty() {
        return Err(format!("wrong at the end: {end:?}"));
    }
    observer.result()
}

#[test]
fn copies_of_totals_follow_whatever_is_lost_or_late_or_ends() {
    all_hold(dose(15, 2_000), |seed| simulate(seed, false));
}

#[test]
fn intents_that_do_not_list_the_copies_are_found_out() {
    let violation = first_violation("the copies in intents", 0..20, |seed| simulate(seed, true));
    assert!(violation.is_some_and(|violation| violation.contains("no intent lists it")));
}
