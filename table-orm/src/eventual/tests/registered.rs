//! Processes that register their writes, and end at any time. What they leave is found by the register alone.
//!
//! The observer checks after each write that every partition with an intent or the ticket of a reservation is
//! named. No request of these simulations takes effect a minute late, so there is no exception.

use super::chaos::{
    self, Dice, Invariants, LATEST, all_hold, first_violation, network, on_virtual_time,
};
use super::stamped::Stamped;
use crate as table_orm;
use crate::dose::dose;
use crate::embedded::EmbeddedStore;
use crate::entity::{DynamicEntity, EntityKey, read_row};
use crate::eventual::{Registered, SETTLE_GRACE, SettleReport};
use crate::layer::{FaultStore, Layer as _, Retry};
use crate::model::{ETag, TableName};
use crate::query::RowQuery;
use crate::store::{Middleware, Operation, Page, Store, StoreAnswer, StoreError, StoreRequest};
use crate::{EntityKeys as _, Repo, ScanPermit, TableEntity, Tables};
use futures_util::future::{join, join_all};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
/// The longest life of a process.
const LONGEST_LIFE: Duration = Duration::from_secs(240);
const LIVES: u64 = 3;

/// A part of the protocol that is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeftOut {
    /// A pointer is written before the transaction.
    Pointer,
    /// A pointer that is younger than the grace stays.
    Grace,
}

#[derive(Debug, Default)]
struct Named;

#[derive(Debug, Default)]
struct Snapshot {
    /// The partitions with intents and tickets.
    due: BTreeSet<String>,
    /// The partitions that the register names.
    named: BTreeSet<String>,
}

impl Invariants for Named {
    const TABLES: [&'static str; 2] = ["staff", "staffDue"];

    type Snapshot = Snapshot;

    fn add(snapshot: &mut Snapshot, table: &TableName, json: &str) {
        let row: DynamicEntity = read_row(0, json.as_bytes()).unwrap();
        if table.as_str() == "staffDue" {
            snapshot.named.insert(super::world::text(&row, "Partition"));
        } else if row.row_key.starts_with("DUE:") || row.row_key.starts_with("TKT:") {
            snapshot.due.insert(row.partition_key);
        }
    }

    fn check(&mut self, now: &Snapshot) -> Result<(), String> {
        let unnamed: Vec<_> = now.due.difference(&now.named).collect();
        if unnamed.is_empty() { Ok(()) } else { Err(format!("{unnamed:?} is not named")) }
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
        if self.left_out == Some(LeftOut::Grace) && query.table.as_str() == "staffDue" {
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
        if self.left_out == Some(LeftOut::Pointer) && table.as_str() == "staffDue" {
            return Ok(Some(ETag::new("W/\"datetime'2000-01-01T00%3A00%3A00Z'\"")));
        }
        let answer = self.inner.write(table, partition_key, operation).await;
        self.unless_ended().await;
        answer
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
    let observer = chaos::Observer::<Named>::new(Arc::new(Stamped::new(Arc::new(memory))));
    let network = network(seed, 0.03, 0.03, observer.clone());
    let processes = (0..PROCESSES).map(|number| write_all(seed, number, &network, left_out));
    let sweepers =
        (PROCESSES..PROCESSES + SWEEPERS).map(|number| sweep_all(seed, number, &network, left_out));
    join(join_all(processes), join_all(sweepers)).await;
    // What is still on its way arrives, and what is named gets old.
    sleep(LATEST + SETTLE_GRACE).await;
    network.disable();
    let last = Life::new(Dice::of(seed, 99), &network, None).await;
    let mut reports = Vec::new();
    for _ in 0..2 {
        let report = last.sweep(SETTLE_GRACE).await.map_err(|error| error.to_string())?;
        if let Some(failure) = report.failures.first() {
            return Err(failure.to_string());
        }
        reports.push(report);
    }
    observer.result()?;
    let end = observer.snapshot().await;
    if end.due.len() + end.named.len() > 0 {
        return Err(format!("a sweep of the register alone does not end: {end:?}, {reports:?}"));
    }
    let mut cities = 0;
    let mut staff = last.staff.scan(ScanPermit::because("test")).stream();
    while let Some(employee) = staff.next().await.unwrap() {
        let shown = Employee::by_city(&employee.city).id(employee.id).team(&employee.team);
        if last.staff.get(shown).await.unwrap().as_ref() != Some(&employee) {
            return Err(format!("{employee:?} is not found by city"));
        }
        cities += 1;
    }
    let table = TableName::new("cities").unwrap();
    let rows = last.tables.table(table).scan(ScanPermit::because("test"));
    let rows = rows.collect().await.unwrap();
    if rows.iter().filter(|row| row.row_key.starts_with("P:")).count() != cities {
        return Err(format!("a row elsewhere is left over: {rows:?}"));
    }
    observer.result()
}

/// A process from its start to its end.
struct Life {
    tables: Tables,
    staff: Repo<Employee>,
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
        let tables = Tables::new(store).on_virtual_time(dice.seed());
        let staff = tables.repo::<Employee>();
        let register = staff.register().existing().await.unwrap();
        Self { tables, staff, register, dice, has_ended }
    }

    async fn sweep(&self, grace: Duration) -> crate::Result<SettleReport> {
        self.staff.settle(&self.register).grace(grace).await
    }

    /// Writes until the end, two at a time.
    async fn write_some(&self) {
        let writer = || async {
            loop {
                let pause = if self.dice.happens(0.2) { 150 } else { 10 };
                sleep(self.dice.time(Duration::from_secs(pause))).await;
                let give_up = if self.dice.happens(0.2) { 1 } else { 30 };
                // What fails is left to the sweepers.
                let _written =
                    self.dice.mortal(0.2, Duration::from_secs(give_up), self.write()).await;
            }
        };
        join(writer(), writer()).await;
    }

    async fn write(&self) -> crate::Result<()> {
        let employee = self.employee();
        match self.dice.below(4) {
            0 => self.staff.upsert(&employee).await.map(drop),
            1 => {
                let team = self.staff.transaction(Employee::partition(&employee.team));
                team.upsert(&employee).settle_later().commit().await.map(drop)
            }
            2 => self.staff.update(key(&employee), |stored| stored.city.push('x')).await.map(drop),
            _ => match self.staff.load(key(&employee)).await?.optional()? {
                None => self.staff.insert(&employee).await.map(drop),
                Some(stored) if self.dice.happens(0.4) => self.staff.delete(stored).await,
                Some(mut stored) => {
                    *stored = employee;
                    self.staff.save(&mut stored).await.map(drop)
                }
            },
        }
    }

    fn employee(&self) -> Employee {
        Employee {
            team: format!("team {}", self.dice.below(TEAMS)),
            id: self.dice.below(STAFF),
            city: format!("city {}", self.dice.below(2)),
            badge: (self.dice.below(4)).checked_sub(2),
        }
    }
}

fn key(employee: &Employee) -> EntityKey<<Employee as TableEntity>::Canonical> {
    employee.key()
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

async fn sweep_all(seed: u64, number: u64, network: &FaultStore, left_out: Option<LeftOut>) {
    for life in 0..2 * LIVES {
        let dice = Dice::of(seed, 10 * number + life);
        sleep(dice.time(LONGEST_LIFE)).await;
        let grace = if dice.happens(0.5) { Duration::ZERO } else { SETTLE_GRACE };
        let life = Life::new(dice, network, left_out).await;
        life.dice.mortal(0.3, Duration::from_secs(10), life.sweep(grace)).await;
        life.has_ended.store(true, Ordering::Relaxed);
    }
}

#[test]
fn every_partition_with_something_to_settle_is_named_whatever_is_lost_or_late_or_ends() {
    all_hold(dose(20, 500), |seed| simulate(seed, None));
}

#[test]
fn a_register_without_one_of_its_parts_is_found_out() {
    for part in [LeftOut::Pointer, LeftOut::Grace] {
        let violation = first_violation(part, 0..50, |seed| simulate(seed, Some(part)));
        assert!(violation.is_some_and(|violation| violation.contains("is not named")), "{part:?}");
    }
}
