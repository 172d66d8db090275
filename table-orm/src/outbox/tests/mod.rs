//! Processes that register their writes and end at any time, and dispatchers that know the register alone.
//!
//! The observer checks after each write that every partition with an event is named. Requests take effect up to
//! minutes late, long after the pointers to their partitions are old.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by them")]

#[cfg(feature = "metrics")]
mod observed;

use crate as table_orm;
use crate::TableEntity;
use crate::dose::dose;
use crate::embedded::EmbeddedStore;
use crate::entity::{EVENTS, EventRowKey, HEAD, Head, read_row};
use crate::eventual::tests::chaos::{self, Dice, all_hold, first_violation};
use crate::eventual::tests::process::{LIVES, Process, Written, mend_all, write_all};
use crate::eventual::tests::registering::{AllNamed, LeftOut, Registering, tampering};
use crate::eventual::tests::stamped::Stamped;
use crate::layer::Faults;
use crate::model::{Metadata, TableName};
use crate::outbox::{DispatchReport, Event, HandlerError};
use crate::register::GRACE;
use crate::store::Store;
use futures_util::future::{join, join_all};
use std::collections::{BTreeMap, BTreeSet};
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
/// How late a request takes effect, at most.
const LATEST: Duration = Duration::from_secs(400);
/// The row with the next number is written before pointers are deleted.
const REFUSAL: LeftOut = LeftOut::Refusal { row_key: HEAD };

impl Registering for Order {
    const TABLES: [&'static str; 2] = ["orders", "ordersDue"];
    const POINTERS: &'static str = EVENTS;

    fn is_left(row_key: &str) -> bool {
        EventRowKey::read(row_key).is_some()
    }
}

impl Written for Order {
    const LONGEST_LIFE: Duration = Duration::from_secs(400);
    // Long enough that pointers get old, or short enough that they are used again.
    const PAUSES: (f64, Duration, Duration) =
        (0.4, Duration::from_secs(200), Duration::from_secs(40));

    async fn write(Process { repo, dice, .. }: &Process<Self>) -> crate::Result<()> {
        let customer = CUSTOMERS[dice.below(3) as usize];
        let order = Self {
            customer: customer.to_owned(),
            number: dice.below(2),
            cents: dice.below(1_000_000),
        };
        let partition = Self::partition(customer);
        let key = partition.row().number(order.number);
        match dice.below(6) {
            0 => repo.insert(&order).await.map(drop),
            1 => repo.upsert(&order).await.map(drop),
            2 => {
                let patch = OrderPatch::default().cents(order.cents);
                repo.merge(&key, patch).or_insert().await.map(drop)
            }
            3 => repo.transaction(&partition).upsert(&order).commit().await.map(drop),
            4 => repo.upsert_many([order]).await.all().map(drop),
            _ => match repo.load(&key).await?.optional()? {
                Some(stored) => repo.delete_if(&key, stored.etag()).await,
                None => Ok(()),
            },
        }
    }
}

/// The numbers of the events that handlers took, of each partition.
type Taken = Mutex<BTreeMap<String, BTreeSet<u64>>>;

/// A store whose rows have the times of the virtual clock.
async fn stamped() -> Arc<Stamped> {
    let memory = EmbeddedStore::in_memory().unwrap();
    for table in Order::TABLES {
        memory.create_table(&TableName::new(table).unwrap()).await.unwrap();
    }
    Arc::new(Stamped::new(Arc::new(memory)))
}

fn simulate(seed: u64, left_out: Option<LeftOut>) -> Result<usize, String> {
    chaos::on_virtual_time(run(seed, left_out))
}

async fn run(seed: u64, left_out: Option<LeftOut>) -> Result<usize, String> {
    let observer = chaos::Observer::<AllNamed<Order>>::new(stamped().await);
    let faults = Faults::seeded(seed).slow(1.0).slowest(Duration::from_millis(400)).latest(LATEST);
    let faults = faults.lost_requests(0.03).lost_replies(0.03).late(0.1);
    let network = faults.store(observer.clone()).unwrap();
    let taken = Taken::default();
    let reached = |_: &Dice| tampering::<Order>(&network, left_out);
    let processes = (0..PROCESSES).map(|number| write_all::<Order>(seed, number, reached));
    let dispatchers = (PROCESSES..PROCESSES + DISPATCHERS)
        .map(|number| dispatch_all(seed, number, reached, &taken));
    join(join_all(processes), join_all(dispatchers)).await;
    // What is still on its way arrives, what is named gets old, and leases are over.
    sleep(LATEST + GRACE).await;
    network.disable();
    let last = Process::start(Dice::of(seed, 99), Arc::new(network)).await;
    let mut reports = Vec::new();
    for _ in 0..2 {
        reports.push(hand_on(&last, &taken, false).await.map_err(|error| error.to_string())?);
    }
    observer.result()?;
    let end = observer.snapshot().await;
    if end.left.len() + end.named.len() > 0 {
        return Err(format!("the register alone does not suffice: {end:?}, {reports:?}"));
    }
    let (orders, mut taken) = (TableName::new(Order::TABLE).unwrap(), taken.into_inner().unwrap());
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

async fn hand_on(
    process: &Process<Order>,
    taken: &Taken,
    fails: bool,
) -> crate::Result<DispatchReport> {
    let handler = async |event: Event| {
        if fails && process.dice.happens(0.2) {
            return Err(HandlerError::from("no"));
        }
        let mut taken = taken.lock().unwrap();
        taken.entry(event.partition_key).or_default().insert(event.number);
        Ok(())
    };
    let dispatch = process.repo.outbox().dispatch(&process.register, handler);
    let mut report = dispatch.lease(Duration::from_secs(20)).await;
    report.ended.take().map_or(Ok(report), Err)
}

async fn dispatch_all(
    seed: u64,
    number: u64,
    network: impl Fn(&Dice) -> Arc<dyn Store>,
    taken: &Taken,
) {
    let dice = (0..4 * LIVES).map(|life| Dice::of(seed, 20 * number + life));
    let hand_on = async |process: &Process<Order>| hand_on(process, taken, true).await;
    mend_all(dice, Order::LONGEST_LIFE / 3, network, hand_on).await;
}

#[test]
fn every_partition_with_events_is_named_whatever_is_lost_or_late_or_ends() {
    all_hold(dose(12, 1_000), |seed| simulate(seed, None));
}

#[test]
fn a_register_of_events_without_one_of_its_parts_is_found_out() {
    // The rare one begins shortly before the first seed that is known to find it.
    for (part, first) in [(LeftOut::Pointer, 0), (LeftOut::Grace, 0), (REFUSAL, 40)] {
        let violation = first_violation(part, first..300, |seed| simulate(seed, Some(part)));
        assert!(violation.is_some_and(|violation| violation.contains("is not named")), "{part:?}");
    }
}
