//! Processes that hand on the events of one outbox, served by `table-orm serve`, while one of them is killed.

mod worker;

use crate::served::Served;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::thread;
use std::time::Duration;
use support::worker::Worker;
use support::{crash_seed, dose, draw};
use table_orm::model::Edm;
use table_orm::{ScanPermit, TableEntity, Tables};
use tokio::time::{sleep, timeout};
use worker::{Line, Task};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "orders", partition = "{customer}", row = "ORD:{number:04}", outbox)]
pub struct Order {
    customer: String,
    number: u32,
}

const PROCESSES: usize = 3;
const CUSTOMERS: u32 = 5;
/// After this time, the processes that were not killed have ended, or are stuck.
const LONGEST_WAIT: Duration = Duration::from_secs(120);

/// The numbers of events, by partition.
type Numbers = BTreeMap<String, BTreeSet<u64>>;

fn permit() -> ScanPermit {
    ScanPermit::because("test")
}

/// Writes orders of all customers. Each is an event.
async fn write(tables: &Tables, numbers: std::ops::Range<u32>) {
    for number in numbers {
        for customer in 0..CUSTOMERS {
            let order = Order { customer: format!("customer-{customer}"), number };
            tables.repo::<Order>().insert(&order).await.unwrap();
        }
    }
}

/// Reads what a process says, until that many lines are there, or until it is stuck.
fn read_until(worker: &mut Worker, most: usize) -> Option<(String, u64)> {
    let mut count = 0;
    while count < most {
        let line = worker.line().expect("the process ended before it was killed");
        match serde_json::from_str(&line) {
            Ok(Line::Stuck(partition, number)) => return Some((partition, number)),
            Ok(_) => count += 1,
            Err(_) => {}
        }
    }
    None
}

/// Checks what all processes did, in the order in which they did it: each event came after the one before it had been
/// taken. Returns the events that were taken, and how many came again.
fn check_order(log: &str) -> (Numbers, usize) {
    let (mut taken, mut begun, mut again) = (Numbers::new(), BTreeSet::new(), 0);
    for line in log.lines().map(|line| serde_json::from_str(line).unwrap()) {
        match line {
            Line::Begins(partition, number) => {
                let before = taken.entry(partition.clone()).or_default();
                assert!(
                    number == 1 || before.contains(&(number - 1)),
                    "event {number} of {partition} came before the one before it was taken: {before:?}"
                );
                again += usize::from(!begun.insert((partition, number)));
            }
            Line::Took(partition, number) => {
                taken.entry(partition).or_default().insert(number);
            }
            Line::Stuck(..) => {}
        }
    }
    (taken, again)
}

/// Lets three processes hand on, and kills one of them, in the midst of an event or at a random moment. Returns how many
/// events came again.
fn round(seed: u64) -> usize {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (served, folder) = (Served::start(), tempfile::tempdir().unwrap());
    let tables = Tables::from_connection_string(&served.connection_string()).unwrap();
    runtime.block_on(async {
        tables.repo::<Order>().create_table().await.unwrap();
        write(&tables, 0..12).await;
    });
    let log = folder.path().join("log");
    File::create(&log).unwrap();
    let gets_stuck = draw((seed, "stuck"), 0..2) == 0;
    let start = |process: usize| {
        let stuck = (process == 0 && gets_stuck).then(|| draw((seed, "after"), 0..8));
        let task = Task {
            connection_string: served.connection_string(),
            log: log.clone(),
            stuck_after: stuck,
        };
        let task = serde_json::to_string(&task).unwrap();
        Worker::start("killed_dispatchers::worker::worker_hands_on_until_it_is_killed", &task)
    };
    // The first process finds all partitions free, so it has leases when it is killed.
    let mut victim = start(0);
    let most = if gets_stuck { usize::MAX } else { draw((seed, "lines"), 1..20) as usize };
    let stuck = read_until(&mut victim, most);
    if let Some((partition, _)) = &stuck {
        let table = tables.table(tables.repo::<Order>().table().clone());
        let lease = runtime.block_on(table.get(partition, "OUT:-LEASE")).unwrap().unwrap();
        assert_ne!(lease.properties["Owner"], Edm::from(""), "only the victim has run so far");
    }
    let mut others: Vec<_> = (1..PROCESSES).map(start).collect();
    // The moment is random, because every moment must be safe.
    thread::sleep(Duration::from_micros(draw((seed, "moment"), 0..20_000)));
    victim.kill();
    runtime.block_on(async {
        write(&tables, 12..20).await;
        let outbox = tables.repo::<Order>().outbox();
        let handed_on = async {
            while outbox.backlog(permit()).await.unwrap().events > 0 {
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(LONGEST_WAIT, handed_on).await.expect("the other processes hand on what is left");
    });
    others.iter_mut().for_each(Worker::kill);
    let (taken, again) = check_order(&fs::read_to_string(&log).unwrap());
    for customer in 0..CUSTOMERS {
        let taken: Vec<_> = taken[&format!("customer-{customer}")].iter().copied().collect();
        assert_eq!(taken, (1..=20).collect::<Vec<_>>(), "customer {customer}");
    }
    if let Some((partition, number)) = stuck {
        assert!(again > 0, "event {number} of {partition} was never taken by another process");
    }
    again
}

#[test]
fn every_event_is_handed_on_in_order_after_a_process_that_had_leases_was_killed() {
    let seed = crash_seed();
    let again: usize =
        (0..dose(4, 60)).map(|number: u64| round(draw((seed, number), 0..u64::MAX))).sum();
    println!("{again} events came again");
}
