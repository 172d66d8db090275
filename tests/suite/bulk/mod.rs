//! Writes of many entities: their order, their failures, and what is left.

mod invariants;
mod requests;
mod sizes;
mod streams;

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;
use support::dose;
use table_orm::embedded::EmbeddedStore;
use table_orm::plan::Step;
use table_orm::query::QueryClass;
use table_orm::repo::OPEN_OPERATIONS;
use table_orm::store::Middleware;
use table_orm::store::{Batch, Operation, Store, StoreError};
use table_orm::{ETag, Error, Repo, ScanPermit, TableEntity, TableName, Tables};

#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "values", partition = "{space}", row = "{key:05}")]
struct Value {
    space: u8,
    key: u32,
    version: u32,
}

/// An entity whose upsert reads first.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "values", partition = "{space}", unique(name))]
#[row(by_key, key = "K:{key:05}")]
struct Named {
    space: u8,
    key: u32,
    name: String,
    version: u32,
}

/// A store whose earlier transactions take longer than later ones.
#[derive(Debug)]
struct EverFaster {
    store: EmbeddedStore,
    commits: AtomicU64,
}

impl EverFaster {
    fn tables() -> Tables {
        let store = EmbeddedStore::in_memory().unwrap();
        Tables::new(Self { store, commits: AtomicU64::new(0) })
    }

    async fn wait(&self) {
        let commit = self.commits.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(40 - 10 * (commit % 4))).await;
    }
}

impl Middleware for EverFaster {
    fn inner(&self) -> &dyn Store {
        &self.store
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        self.wait().await;
        self.store.write(table, partition_key, operation).await
    }

    async fn commit(
        &self,
        table: &TableName,
        transaction: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        self.wait().await;
        self.store.commit(table, transaction).await
    }
}

fn value(key: u32, version: u32) -> Value {
    Value { space: 1, key, version }
}

fn named(key: u32, name: &str, version: u32) -> Named {
    Named { space: 1, key, name: name.to_owned(), version }
}

#[tokio::test(start_paused = true)]
async fn of_two_versions_the_later_one_is_stored() {
    let repo = EverFaster::tables().repo::<Value>();
    repo.create_table().await.unwrap();
    let versions = |version| (0..100).map(move |key| value(key, version));
    let rounds = (1..=4).flat_map(versions);
    // Next to each other, and a chunk apart.
    let pairs = (200..260).flat_map(|key| [value(key, 3), value(key, 4)]);
    let report = repo.upsert_many(rounds.chain(pairs)).await;
    assert_eq!(report.all().unwrap().entities, 520);
    let stored = repo.scan(ScanPermit::because("test")).collect().await.unwrap();
    assert_eq!(stored.len(), 160);
    assert!(stored.iter().all(|value| value.version == 4));
}

#[tokio::test(start_paused = true)]
async fn of_two_versions_written_one_by_one_the_later_one_is_stored() {
    let repo = EverFaster::tables().repo::<Named>();
    repo.create_table().await.unwrap();
    let versions =
        (1..=4).flat_map(|version| (0..10).map(move |key| named(key, &format!("n{key}"), version)));
    assert_eq!(repo.upsert_many(versions).await.all().unwrap().entities, 40);
    let stored = repo.scan(ScanPermit::because("test")).collect().await.unwrap();
    assert!(stored.iter().all(|value| value.version == 4), "{stored:?}");
}

#[tokio::test]
async fn a_write_that_continues_reports_each_rejected_entity_and_writes_all_others() {
    let repo = Tables::in_memory().unwrap().repo::<Named>();
    repo.create_table().await.unwrap();
    repo.insert(&named(7, "taken", 0)).await.unwrap();
    let long = "x".repeat(40_000);
    let input = (0..500).map(|key| match key {
        // The name of another entity, of the same input or stored; an existing key; a value that is
        // too long.
        100 => named(key, "n99", 1),
        200 => named(key, "taken", 1),
        300 => named(key, &long, 1),
        _ => named(key, &format!("n{key}"), 1),
    });
    let report = repo.insert_many(input).continue_on_failure().await;
    let mut failed: Vec<_> = report
        .failures
        .iter()
        .map(|failure| (failure.entity.as_ref().unwrap().key, &failure.error))
        .collect();
    failed.sort_by_key(|(key, _)| *key);
    assert!(
        matches!(
            failed[..],
            [
                (7, Error::AlreadyExists(_)),
                (100, Error::UniqueViolation { .. }),
                (200, Error::UniqueViolation { .. }),
                (300, Error::Property(_)),
            ]
        ),
        "{failed:?}"
    );
    assert_eq!((report.written.entities, report.remainder.unsent()), (496, 0));
    let stored = repo.scan(ScanPermit::because("test")).collect().await.unwrap();
    assert_eq!(stored.len(), 497);
}

#[tokio::test]
async fn a_write_that_stops_returns_what_it_has_not_written() {
    let repo = Tables::in_memory().unwrap().repo::<Value>();
    repo.create_table().await.unwrap();
    repo.insert(&value(250, 0)).await.unwrap();
    let report = repo.insert_many((0..1000).map(|key| value(key, 1))).parallelism(2).await;
    assert_eq!(report.failures.len(), 1);
    let written = report.written.entities;
    let left: Vec<_> = report.remainder.collect();
    assert_eq!(written + left.len() as u64, 999);
    repo.insert_many(left).await.all().unwrap();
    let stored = repo.scan(ScanPermit::because("test")).collect().await.unwrap();
    assert_eq!(stored.len(), 1000);
}

#[tokio::test]
async fn a_plan_shows_every_transaction_and_sends_nothing() {
    let tables = Tables::in_memory().unwrap();
    // Not even the table exists.
    let values = tables.repo::<Value>();
    let plan = values.insert_many((0..250).map(|key| value(key, 1))).plan().unwrap();
    let operations: Vec<_> = plan
        .steps
        .iter()
        .map(|step| match step {
            Step::Commit { batch, .. } => batch.operations.len(),
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(operations, [100, 100, 50]);
    let keys: Vec<_> = plan.operations().map(|operation| operation.row_key.clone()).collect();
    assert_eq!(keys, (0..250).map(|key| format!("{key:05}")).collect::<Vec<_>>());

    // One that reads first.
    let named = tables.repo::<Named>();
    let plan = named.upsert_many([a_named(1), a_named(2)]).plan().unwrap();
    assert_eq!(plan.class(), Some(QueryClass::Point));
    assert_eq!(plan.steps.len(), 4);
    let rejected = named.insert_many([a_named(100_000)]).plan();
    assert!(matches!(rejected, Err(Error::Key(_))), "{rejected:?}");
}

fn a_named(key: u32) -> Named {
    named(key, &format!("n{key}"), 1)
}

static ALIVE: AtomicI64 = AtomicI64::new(0);

/// Counts the values of its kind in memory.
#[derive(Debug)]
struct Counted;

impl Counted {
    fn new() -> Self {
        ALIVE.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Default for Counted {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Debug, TableEntity)]
#[table(name = "many", partition = "{space:03}", row = "{key:010}")]
struct Many {
    space: u16,
    key: u32,
    #[table(skip)]
    _counted: Counted,
}

/// A store that keeps nothing.
#[derive(Debug)]
struct Nowhere(EmbeddedStore);

impl Middleware for Nowhere {
    fn inner(&self) -> &dyn Store {
        &self.0
    }

    async fn write(
        &self,
        _: &TableName,
        _: &str,
        _: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        tokio::task::yield_now().await;
        Ok(None)
    }

    async fn commit(
        &self,
        _: &TableName,
        transaction: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        tokio::task::yield_now().await;
        Ok(vec![None; transaction.operations.len()])
    }
}

fn nowhere<E: TableEntity>() -> Repo<E> {
    let store = Nowhere(EmbeddedStore::in_memory().unwrap());
    Tables::new(store).repo()
}

/// `ENTITIES=10000000 cargo test --release -p suite --test suite bulk::however` is ten million of them.
#[tokio::test]
async fn however_many_there_are_few_are_in_memory() {
    let entities: u32 = std::env::var("ENTITIES")
        .map_or(dose(20_000, 100_000), |entities| entities.parse().unwrap());
    let mut most = 0;
    let input = (0..entities).map(|key| {
        most = most.max(ALIVE.load(Ordering::Relaxed));
        // More rows than are collected at a time, in partitions that partly fill up.
        Many { space: (key / 7 % 70) as u16, key, _counted: Counted::new() }
    });
    let written = nowhere().insert_many(input).parallelism(4).await.all().unwrap();
    assert_eq!(written.entities, u64::from(entities));
    // The collected entities, and chunks of at most 100 entities that wait or are in flight.
    let bound = OPEN_OPERATIONS as i64 + 100 * (2 * 4 + 1);
    assert!(most <= bound, "{most} at a time, of {bound}");
    assert_eq!(ALIVE.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_write_that_continues_ends_where_every_entity_would_fail() {
    let values = Tables::in_memory().unwrap().repo::<Value>();
    let endless = (0..).map(|key| Value { space: (key % 256) as u8, key, version: 0 });
    let mut report = values.insert_many(endless).continue_on_failure().parallelism(4).await;
    assert!(report.failures.iter().all(|failed| matches!(failed.error, Error::TableNotFound(_))));
    assert!((1..=4).contains(&report.failures.len()), "{}", report.failures.len());
    assert_eq!(
        (report.written.entities, report.written.requests),
        (0, report.failures.len() as u64)
    );
    assert!(report.remainder.next().is_some());
}
