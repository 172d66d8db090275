//! Writers and dispatchers over a network that loses answers, delays writes and outlives its clients, with
//! clocks that are wrong.
//!
//! The store keeps what took effect, and in which order. At the end, the first deliveries of each partition are
//! exactly that. Some dispatchers know the partition, others find it in the register, as the last one does.

use super::{Order, OrderPatch, orders_in};
use futures_util::future::{join, join_all};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::dose;
use table_orm::embedded::EmbeddedStore;
use table_orm::eventual::TableRegister;
use table_orm::layer::{Faults, Retry, RetryStrategy};
use table_orm::model::DateTime;
use table_orm::outbox::{Event, HandlerError};
use table_orm::store::{Action, Batch, Middleware, Operation, Store, StoreError};
use table_orm::{ETag, Repo, ScanPermit, TableName, Tables};
use tokio::time::{sleep, timeout};

const PARTITIONS: [&str; 2] = ["acme", "globex"];
const LATEST: Duration = Duration::from_secs(8);

/// A change as the store saw it: the RowKey afterwards, and the content; none for a deletion.
type Seen = (String, Option<String>);

/// The changes of each partition, in order.
type History = BTreeMap<String, Vec<Seen>>;

/// A store that keeps what took effect, and whose clock jumps.
#[derive(Debug)]
struct Observer {
    inner: EmbeddedStore,
    history: Arc<Mutex<History>>,
    turn: tokio::sync::Mutex<()>,
    ahead: Arc<AtomicI64>,
}

impl Observer {
    fn keep(&self, batch: &Batch) {
        let is_canonical = |operation: &&Operation| operation.row_key.starts_with("ORD:");
        let canonical: Vec<_> = batch.operations.iter().filter(is_canonical).collect();
        let moves = canonical.len() == 2;
        let mut history = self.history.lock().unwrap();
        let seen = history.entry(batch.partition_key.clone()).or_default();
        for Operation { row_key, action } in canonical {
            match action {
                Action::Delete(_) if moves => {}
                Action::Delete(_) => seen.push((row_key.clone(), None)),
                action => seen.push((row_key.clone(), Some(content(action.body().unwrap())))),
            }
        }
    }
}

/// What is different in each write.
fn content(row: &[u8]) -> String {
    let row: serde_json::Value = serde_json::from_slice(row).unwrap();
    row["Cents"].to_string()
}

impl Middleware for Observer {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    fn service_time(&self) -> Option<DateTime> {
        DateTime::from_ticks(DateTime::now().ticks() + self.ahead.load(SeqCst)).ok()
    }

    async fn commit(
        &self,
        table: &TableName,
        batch: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let _turn = self.turn.lock().await;
        let written = self.inner.commit(table, batch.clone()).await?;
        self.keep(&batch);
        Ok(written)
    }
}

/// What the handlers took: the numbers and changes, in order.
#[derive(Default)]
struct Delivered(Mutex<BTreeMap<String, Vec<(u64, Seen)>>>);

impl Delivered {
    fn take(&self, event: &Event) {
        let after = event.after_json().map(|row| content(row.as_bytes()));
        let seen = (event.row_key.clone(), after);
        let mut all = self.0.lock().unwrap();
        all.entry(event.partition_key.clone()).or_default().push((event.number, seen));
    }

    /// Those that came for the first time.
    fn first(&self) -> BTreeMap<String, Vec<(u64, Seen)>> {
        let mut all = self.0.lock().unwrap().clone();
        for events in all.values_mut() {
            let mut known = BTreeSet::new();
            events.retain(|(number, _)| known.insert(*number));
        }
        all
    }
}

/// A number that the seed and the place of the decision determine.
fn draw(seed: u64, place: &[u64]) -> u64 {
    let mix = |state: u64, next: &u64| {
        let mixed = (state ^ next).wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB)
    };
    let mixed = place.iter().fold(mix(1, &seed), mix);
    mixed ^ (mixed >> 31)
}

async fn write(orders: Repo<Order>, seed: u64, writer: u64) {
    let random = |round: u64, what: u64| draw(seed, &[writer, round, what]);
    for round in 0..6 {
        sleep(Duration::from_millis(random(round, 0) % 1500)).await;
        let customer = PARTITIONS[(random(round, 1) % 2) as usize];
        let number = (random(round, 2) % 3) as u32;
        // Unlike any other.
        let cents = (writer * 1000 + round) as i64;
        let order = Order { customer: customer.into(), number, state: "open".into(), cents };
        let partition = Order::partition(customer);
        let key = partition.by_number().number(number);
        let work = async {
            match random(round, 3) % 7 {
                0 => drop(orders.insert(&order).await),
                1 | 2 => drop(orders.upsert(&order).await),
                3 => drop(orders.update(&key, |stored| stored.cents = cents).await),
                4 => drop(orders.merge(&key, OrderPatch::default().cents(cents)).await),
                5 => drop(orders.force_delete(&order).await),
                _ => {
                    let Ok(loaded) = orders.load(&key).await else { return };
                    let Ok(mut loaded) = loaded.one() else { return };
                    (loaded.number, loaded.cents) = ((number + 1) % 3, cents);
                    drop(orders.save(&mut loaded).await);
                }
            }
        };
        let life = Duration::from_millis(random(round, 4) % 3000);
        if random(round, 5) % 4 == 0 {
            drop(timeout(life, work).await);
        } else {
            work.await;
        }
    }
}

async fn hand_on(
    orders: Repo<Order>,
    seed: u64,
    number: u64,
    delivered: &Delivered,
    register: Option<&TableRegister>,
) {
    let random = |round: u64, what: u64| draw(seed, &[100 + number, round, what]);
    for round in 0..12 {
        sleep(Duration::from_millis(random(round, 0) % 1200)).await;
        let handler = async |event: Event| {
            sleep(Duration::from_millis(random(event.number, 1) % 300)).await;
            let outcome = random(event.number, 2 + round) % 12;
            if outcome != 0 {
                delivered.take(&event);
            }
            if outcome > 1 { Ok(()) } else { Err::<(), HandlerError>("no".into()) }
        };
        let customer = PARTITIONS[(random(round, 3) % 2) as usize];
        let at_once = 1 + (random(round, 4) % 4) as usize;
        let outbox = orders.outbox();
        let register = register.filter(|_| random(round, 7).is_multiple_of(2));
        let dispatch = match register {
            Some(register) => outbox.dispatch(register, handler),
            None => outbox.dispatch(Order::partition(customer), handler),
        };
        let dispatch = dispatch.removed_at_once(at_once).lease(Duration::from_secs(3));
        let life = Duration::from_millis(random(round, 5) % 3000);
        if random(round, 6) % 3 == 0 {
            drop(timeout(life, dispatch.into_future()).await);
        } else {
            let report = dispatch.await;
            // A register that cannot be read names no partition.
            assert!(register.is_some() || report.ended.is_none(), "{report:?}");
        }
    }
}

async fn simulate(seed: u64) -> usize {
    let (history, ahead) = (Arc::<Mutex<History>>::default(), Arc::<AtomicI64>::default());
    let observer = Arc::new(Observer {
        inner: EmbeddedStore::in_memory().unwrap(),
        history: Arc::clone(&history),
        turn: tokio::sync::Mutex::default(),
        ahead: Arc::clone(&ahead),
    });
    let store: Arc<dyn Store> = observer;
    let below_tables = Tables::new(Arc::clone(&store));
    let below = orders_in(&below_tables).await;
    let register = below.register().await.unwrap();
    let faults = Faults::seeded(seed).slow(1.0).slowest(Duration::from_millis(200)).latest(LATEST);
    let faults = faults.lost_requests(0.03).lost_replies(0.04).late(0.04);
    let network = faults.store(store).unwrap();
    let client = async |number: u64| {
        let tables = Tables::new(network.clone());
        let wait = RetryStrategy::Fixed { retries: 2, wait: Duration::from_millis(300) };
        let retry = Retry::new(wait).attempt_timeout(Duration::from_millis(1500)).seed(seed);
        let tables = if number.is_multiple_of(2) { tables.layer(retry).unwrap() } else { tables };
        let orders = tables.on_virtual_time(seed * 100 + number).repo::<Order>();
        orders.register().existing().await.unwrap();
        orders
    };
    let delivered = Delivered::default();
    let writers = (0..4).map(async |writer| write(client(writer).await, seed, writer).await);
    let writers = join_all(writers);
    let dispatchers = join_all((0..3).map(async |number| {
        let register = Some(&register).filter(|_| number > 0);
        hand_on(client(10 + number).await, seed, number, &delivered, register).await;
    }));
    // The clock goes forward and back: leases are over too early and too late.
    let clock = async {
        for round in 0..40 {
            sleep(Duration::from_millis(400)).await;
            let seconds = (draw(seed, &[99, round]) % 30) as i64 - 10;
            ahead.store(seconds * 10_000_000, SeqCst);
        }
    };
    join(join(writers, dispatchers), clock).await;
    sleep(LATEST).await;
    network.disable();
    ahead.store(3600 * 10_000_000, SeqCst);
    let last = async |event: Event| {
        delivered.take(&event);
        Ok::<_, HandlerError>(())
    };
    let permit = || ScanPermit::because("the rest");
    // The register names all that is left.
    let report = below.outbox().dispatch(&register, last).await.all().unwrap();
    assert_eq!(report.busy, 0, "seed {seed}: {report:?}");
    assert_eq!(below.outbox().backlog(permit()).await.unwrap().events, 0, "seed {seed}");
    let pointers = below_tables.table(register.table().clone()).scan(permit());
    assert_eq!(pointers.collect().await.unwrap(), [], "seed {seed}");
    let mut changes = 0;
    let history = history.lock().unwrap();
    let first = delivered.first();
    for (partition, seen) in history.iter() {
        let expected: Vec<_> = (1..).zip(seen.iter().cloned()).collect();
        assert_eq!(first.get(partition), Some(&expected), "seed {seed}, {partition}");
        changes += seen.len();
    }
    let of = |map: &BTreeMap<String, Vec<(u64, Seen)>>| map.len();
    assert_eq!(of(&first), history.len(), "seed {seed}");
    changes
}

#[tokio::test(start_paused = true)]
async fn each_change_is_handed_on_in_order_whatever_is_lost_or_late_or_ends() {
    let seeds = dose(40, 2_000);
    let mut changes = 0;
    for seed in 0..seeds {
        changes += simulate(seed).await;
    }
    assert!(changes > 6 * seeds as usize, "{changes} changes");
}
