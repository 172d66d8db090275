//! Invariants of every bulk write, for any entities and any answers of the store.

use fastrand::Rng;
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use support::dose;
use table_orm::embedded::EmbeddedStore;
use table_orm::plan::Step;
use table_orm::repo::OPEN_OPERATIONS;
use table_orm::store::Middleware;
use table_orm::store::{Batch, ErrorCode, Operation, Store, StoreError};
use table_orm::{ETag, Repo, TableEntity, TableName, Tables};

/// One version of a row, written by no other entity of the input.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "versions", partition = "{space}", row = "{key}")]
struct Version {
    space: u32,
    key: u32,
    /// Its place in the input.
    number: i32,
    /// Whether the store rejects it.
    rejected: bool,
    rest: String,
}

type Written = Arc<Mutex<Vec<Batch>>>;

fn property(operation: &Operation, name: &str) -> serde_json::Value {
    let body: serde_json::Value = serde_json::from_slice(operation.action.body().unwrap()).unwrap();
    body[name].clone()
}

/// The number of the entity that is written.
fn number(operation: &Operation) -> i64 {
    property(operation, "Number").as_i64().unwrap()
}

fn numbers(operations: &[Operation]) -> Vec<i64> {
    operations.iter().map(number).collect()
}

/// A store that keeps only the transactions, in their order, and answers after random delays.
#[derive(Debug)]
struct Log {
    store: EmbeddedStore,
    written: Written,
    random: Mutex<Rng>,
}

impl Log {
    async fn answer(&self, transaction: Batch) -> Result<Vec<Option<ETag>>, StoreError> {
        let waits = self.random.lock().unwrap().u32(0..5);
        for _ in 0..waits {
            tokio::task::yield_now().await;
        }
        let rejected = |operation: &Operation| {
            property(operation, "Rejected") == serde_json::Value::Bool(true)
        };
        if let Some(index) = transaction.operations.iter().position(rejected) {
            let error = StoreError::new(ErrorCode::ENTITY_ALREADY_EXISTS, "there");
            return Err(error.at(index));
        }
        let etags = vec![None; transaction.operations.len()];
        self.written.lock().unwrap().push(transaction);
        Ok(etags)
    }
}

impl Middleware for Log {
    fn inner(&self) -> &dyn Store {
        &self.store
    }

    async fn write(
        &self,
        _: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        let partition_key = partition_key.to_owned();
        let transaction = Batch { partition_key, operations: vec![operation] };
        Ok(self.answer(transaction).await?.remove(0))
    }

    async fn commit(
        &self,
        _: &TableName,
        transaction: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        self.answer(transaction).await
    }
}

fn logged(seed: u64) -> (Repo<Version>, Written) {
    let written = Written::default();
    let store = EmbeddedStore::in_memory().unwrap();
    let random = Mutex::new(Rng::with_seed(seed));
    let log = Log { store, written: Arc::clone(&written), random };
    (Tables::new(log).repo(), written)
}

/// The input and settings of a write.
#[derive(Debug, Clone)]
struct Given {
    seed: u64,
    entities: i32,
    spaces: u32,
    keys: u32,
    /// The extra bytes of some entities.
    rest: usize,
    parallelism: usize,
}

impl Given {
    /// An input in which the store rejects one entity in `one_of`.
    fn input(&self, one_of: Option<u32>) -> Vec<Version> {
        let mut random = Rng::with_seed(self.seed);
        let mut version = |number| Version {
            space: random.u32(0..self.spaces),
            key: random.u32(0..self.keys),
            number,
            rejected: one_of.is_some_and(|one_of| random.u32(0..one_of) == 0),
            rest: "x".repeat(if random.bool() { self.rest } else { 0 }),
        };
        (0..self.entities).map(&mut version).collect()
    }
}

fn given() -> impl Strategy<Value = Given> {
    let entities = prop_oneof![0..300, 6_500..8_000];
    let spaces = prop_oneof![Just(1_u32), 2..10_u32, 60..70_u32, 100..2_000_u32];
    let keys = prop_oneof![1..10_u32, 100..100_000_u32];
    let rest = prop_oneof![3 => Just(0_usize), 1 => Just(30_000_usize)];
    (any::<u64>(), entities, spaces, keys, rest, 1..20_usize).prop_map(
        |(seed, entities, spaces, keys, rest, parallelism)| Given {
            seed,
            entities,
            spaces,
            keys,
            rest,
            parallelism,
        },
    )
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// The versions of each row are written in the order of the input.
fn assert_in_order(input: &[Version], written: &[Batch]) {
    let mut last = HashMap::new();
    for number in written.iter().flat_map(|sent| numbers(&sent.operations)) {
        let Version { space, key, .. } = input[number as usize];
        let before = last.insert((space, key), number);
        assert!(before < Some(number), "{number} after {before:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(dose(2, 8)))]

    #[test]
    fn what_is_planned_is_sent_in_order_with_few_in_memory(given in given()) {
        let input = given.input(None);
        let (repo, written) = logged(given.seed);
        let plan = repo.upsert_many(input.clone()).plan().unwrap();

        let (read, done, most) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        let counted = input.iter().cloned().inspect(|_| {
            let read = read.fetch_add(1, Ordering::Relaxed) + 1;
            most.fetch_max(read - done.load(Ordering::Relaxed), Ordering::Relaxed);
        });
        let bulk = repo
            .upsert_many(counted)
            .parallelism(given.parallelism)
            .on_progress(|so_far| done.store(so_far.entities, Ordering::Relaxed));
        let sent = block_on(bulk.into_future()).all().unwrap();

        let written = written.lock().unwrap();
        prop_assert_eq!(sent.entities, input.len() as u64);
        prop_assert_eq!(sent.requests, written.len() as u64);
        assert_in_order(&input, &written);
        let planned = plan.steps.iter().map(|step| match step {
            Step::Commit { batch, .. } => numbers(&batch.operations),
            Step::Write { operation, .. } => vec![number(operation)],
            other => panic!("{other}"),
        });
        let mut planned: Vec<_> = planned.collect();
        let mut sent: Vec<_> = written.iter().map(|sent| numbers(&sent.operations)).collect();
        planned.sort_unstable();
        sent.sort_unstable();
        prop_assert_eq!(planned, sent);
        let (most, bound) =
            (most.into_inner() as usize, OPEN_OPERATIONS + 100 * (2 * given.parallelism + 1));
        prop_assert!(most <= bound, "{} in memory, of {}", most, bound);
    }

    #[test]
    fn every_entity_is_written_failed_or_left(
        given in given(),
        one_of in 1..1_000_u32,
        continues in any::<bool>(),
    ) {
        let input = given.input(Some(one_of));
        let (repo, written) = logged(given.seed);
        let bulk = repo.upsert_many(input.clone()).parallelism(given.parallelism);
        let bulk = if continues { bulk.continue_on_failure() } else { bulk };
        let report = block_on(bulk.into_future());

        let written = written.lock().unwrap();
        assert_in_order(&input, &written);
        let mut all: Vec<_> = written.iter().flat_map(|sent| numbers(&sent.operations)).collect();
        prop_assert_eq!(report.written.entities, all.len() as u64);
        for failure in report.failures {
            let entity = failure.entity.unwrap();
            prop_assert!(entity.rejected, "{:?}", failure.error);
            all.push(entity.number.into());
        }
        if continues {
            prop_assert_eq!(report.remainder.unsent(), 0);
        }
        all.extend(report.remainder.map(|version| i64::from(version.number)));
        all.sort_unstable();
        prop_assert_eq!(all, (0..i64::from(given.entities)).collect::<Vec<_>>());
    }
}
