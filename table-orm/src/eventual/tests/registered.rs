//! Processes that register their writes, and end at any time. What they leave is found by the register alone.
//!
//! The observer checks after each write that every partition with an intent or the ticket of a reservation is
//! named. No request of these simulations takes effect a minute late, so there is no exception.

use super::chaos::{self, Dice, LATEST, all_hold, first_violation, network, on_virtual_time};
use super::process::{LIVES, Process, Written, mend_all, write_all};
use super::registering::{AllNamed, LeftOut, Registering, tampering};
use super::stamped::Stamped;
use crate as table_orm;
use crate::dose::dose;
use crate::embedded::EmbeddedStore;
use crate::entity::EntityKey;
use crate::eventual::{SETTLE_GRACE, SettleReport};
use crate::model::TableName;
use crate::store::Store;
use crate::{EntityKeys as _, ScanPermit, TableEntity};
use futures_util::future::{join, join_all};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// An employee, also found by city, with a badge that no other one has.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(
    name = "staff", partition = "{team}", row = "P:{id:02}", crate = table_orm,
    unique(badge, across, table = "cities")
)]
#[row(by_city, table = "cities", partition = "{city}", key = "P:{id:02}__{team}", eventual)]
struct Employee {
    team: String,
    id: u64,
    city: String,
    badge: Option<u64>,
}

const TEAMS: u64 = 2;
const STAFF: u64 = 2;
const PROCESSES: u64 = 2;
const SWEEPERS: u64 = 2;

impl Registering for Employee {
    const TABLES: [&'static str; 2] = ["staff", "staffDue"];
    const POINTERS: &'static str = "Employee";

    fn is_left(row_key: &str) -> bool {
        row_key.starts_with("DUE:") || row_key.starts_with("TKT:")
    }
}

impl Written for Employee {
    const LONGEST_LIFE: Duration = Duration::from_secs(240);
    const PAUSES: (f64, Duration, Duration) =
        (0.2, Duration::from_secs(150), Duration::from_secs(10));

    async fn write(Process { repo, dice, .. }: &Process<Self>) -> crate::Result<()> {
        let employee = Self {
            team: format!("team {}", dice.below(TEAMS)),
            id: dice.below(STAFF),
            city: format!("city {}", dice.below(2)),
            badge: dice.below(4).checked_sub(2),
        };
        match dice.below(4) {
            0 => repo.upsert(&employee).await.map(drop),
            1 => {
                let team = repo.transaction(Self::partition(&employee.team));
                team.upsert(&employee).settle_later().commit().await.map(drop)
            }
            2 => repo.update(key(&employee), |stored| stored.city.push('x')).await.map(drop),
            _ => match repo.load(key(&employee)).await?.optional()? {
                None => repo.insert(&employee).await.map(drop),
                Some(stored) if dice.happens(0.4) => repo.delete(stored).await,
                Some(mut stored) => {
                    *stored = employee;
                    repo.save(&mut stored).await.map(drop)
                }
            },
        }
    }
}

fn simulate(seed: u64, left_out: Option<LeftOut>) -> Result<usize, String> {
    on_virtual_time(run(seed, left_out))
}

async fn run(seed: u64, left_out: Option<LeftOut>) -> Result<usize, String> {
    let memory = EmbeddedStore::in_memory().unwrap();
    for table in ["staff", "cities", "staffDue"] {
        memory.create_table(&TableName::new(table).unwrap()).await.unwrap();
    }
    let observer =
        chaos::Observer::<AllNamed<Employee>>::new(Arc::new(Stamped::new(Arc::new(memory))));
    let network = network(seed, 0.03, 0.03, observer.clone());
    let reached = |_: &Dice| tampering::<Employee>(&network, left_out);
    let processes = (0..PROCESSES).map(|number| write_all::<Employee>(seed, number, reached));
    let sweepers = (PROCESSES..PROCESSES + SWEEPERS).map(|number| sweep_all(seed, number, reached));
    join(join_all(processes), join_all(sweepers)).await;
    // What is still on its way arrives, and what is named gets old.
    sleep(LATEST + SETTLE_GRACE).await;
    network.disable();
    let last = Process::<Employee>::start(Dice::of(seed, 99), Arc::new(network)).await;
    let mut reports = Vec::new();
    for _ in 0..2 {
        let report = sweep(&last, SETTLE_GRACE).await.map_err(|error| error.to_string())?;
        if let Some(failure) = report.failures.first() {
            return Err(failure.to_string());
        }
        reports.push(report);
    }
    observer.result()?;
    let end = observer.snapshot().await;
    if end.left.len() + end.named.len() > 0 {
        return Err(format!("a sweep of the register alone does not end: {end:?}, {reports:?}"));
    }
    let mut cities = 0;
    let mut staff = last.repo.scan(ScanPermit::because("test")).stream();
    while let Some(employee) = staff.next().await.unwrap() {
        let shown = Employee::by_city(&employee.city).id(employee.id).team(&employee.team);
        if last.repo.get(shown).await.unwrap().as_ref() != Some(&employee) {
            return Err(format!("{employee:?} is not found by city"));
        }
        cities += 1;
    }
    let table = TableName::new("cities").unwrap();
    let rows = last.tables.table(table).scan(ScanPermit::because("test"));
    let rows = rows.collect().await.unwrap();
    if rows.iter().filter(|row| row.row_key.starts_with("P:")).count() != cities {
        return Err(format!("a row in another partition is left over: {rows:?}"));
    }
    observer.result()
}

async fn sweep(process: &Process<Employee>, grace: Duration) -> crate::Result<SettleReport> {
    let mut report = process.repo.settle(&process.register).grace(grace).await;
    report.ended.take().map_or(Ok(report), Err)
}

fn key(employee: &Employee) -> EntityKey<<Employee as TableEntity>::Canonical> {
    employee.key()
}

async fn sweep_all(seed: u64, number: u64, network: impl Fn(&Dice) -> Arc<dyn Store>) {
    let dice = (0..2 * LIVES).map(|life| Dice::of(seed, 10 * number + life));
    let sweep = async |process: &Process<Employee>| {
        let grace = if process.dice.happens(0.5) { Duration::ZERO } else { SETTLE_GRACE };
        sweep(process, grace).await
    };
    mend_all(dice, Employee::LONGEST_LIFE, network, sweep).await;
}

#[test]
fn every_partition_with_something_to_settle_is_named_whatever_is_lost_or_late_or_ends() {
    all_hold(dose(8, 500), |seed| simulate(seed, None));
}

#[test]
fn a_register_without_one_of_its_parts_is_found_out() {
    for part in [LeftOut::Pointer, LeftOut::Grace] {
        let violation = first_violation(part, 0..50, |seed| simulate(seed, Some(part)));
        assert!(violation.is_some_and(|violation| violation.contains("is not named")), "{part:?}");
    }
}
