//! The file store is killed at random moments: every acknowledged transaction is stored whole, and
//! no transaction is stored in part. With eventual durability, the last ones may be missing.
//!
//! A child process writes with several writers, and writes a line for each acknowledged transaction to
//! a pipe. What a killed process has handed to the system is kept, so this tests the order of writes
//! and opening after a crash, not disks that lose power.

#![cfg(all(unix, not(miri)))]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use support::{crash_seed, dose, draw};
use table_orm::embedded::{Durability, EmbeddedStore};
use table_orm::query::{KeyRange, RowQuery, Span};
use table_orm::store::{Action, Batch, IfMatch, Operation, Store};
use table_orm::{TableName, Tables};
use tokio::runtime::Runtime;

/// How many crashes one file survives.
const ROUNDS_A_FILE: u64 = 25;
const WRITERS: u64 = 3;
/// Row keys of each writer.
const KEYS: u64 = 40;
/// The variable with the seed, round, durability and file of a child.
const CHILD: &str = "TABLE_ORM_CRASH";

/// The rows of one writer in one round, each with its value.
type Rows = BTreeMap<String, String>;

fn table() -> TableName {
    TableName::new("Crashes").unwrap()
}

/// A transaction of a writer: changes rows at random, deletes some. The seed determines
/// the rows after it.
#[derive(Clone, Copy, Hash)]
struct Step {
    seed: u64,
    round: u64,
    writer: u64,
    number: u64,
}

impl Step {
    fn partition_key(self) -> String {
        format!("{:04}-{}", self.round, self.writer)
    }

    fn operations(self, rows: &mut Rows) -> Vec<Operation> {
        let count = draw((self, "count"), 1..12);
        let mut operations = BTreeMap::new();
        for index in 0..count {
            let row_key = format!("{:02}", draw((self, index, "key"), 0..KEYS));
            if operations.contains_key(&row_key) {
                continue;
            }
            let is_deleted = draw((self, index, "deleted"), 0..4) == 0;
            let action = if is_deleted && rows.remove(&row_key).is_some() {
                Action::Delete(IfMatch::Any)
            } else {
                let length = draw((self, index, "length"), 0..1500);
                let value = format!("{}:{}", self.number, "x".repeat(length as usize));
                let body = format!(r#"{{"V":"{value}"}}"#);
                rows.insert(row_key.clone(), value);
                Action::InsertOrReplace(body.into())
            };
            operations.insert(row_key, action);
        }
        let operation = |(row_key, action)| Operation { row_key, action };
        operations.into_iter().map(operation).collect()
    }
}

/// The rows of a writer after `steps` transactions.
fn rows_after(seed: u64, round: u64, writer: u64, steps: u64) -> Rows {
    let mut rows = Rows::new();
    for number in 0..steps {
        Step { seed, round, writer, number }.operations(&mut rows);
    }
    rows
}

async fn write_for_ever(store: EmbeddedStore, seed: u64, round: u64, writer: u64) {
    let mut rows = Rows::new();
    for number in 0.. {
        let step = Step { seed, round, writer, number };
        let operations = step.operations(&mut rows);
        let transaction = Batch { partition_key: step.partition_key(), operations };
        store.commit(&table(), transaction).await.unwrap();
        // One write of the system for each line.
        std::io::stdout().write_all(format!("\ndone {writer}\n").as_bytes()).unwrap();
    }
}

/// Part of the test below, which runs it in another process.
#[test]
fn child_process_writes_until_it_is_killed() {
    let Ok(arguments) = std::env::var(CHILD) else { return };
    let mut arguments = arguments.splitn(4, ' ');
    let mut number = || arguments.next().unwrap().parse::<u64>().unwrap();
    let (seed, round) = (number(), number());
    let durability = match arguments.next().unwrap() {
        "Eventual" => Durability::Eventual,
        _ => Durability::Immediate,
    };
    let store = EmbeddedStore::open_with(arguments.next().unwrap(), durability).unwrap();
    Runtime::new().unwrap().block_on(async {
        let writers = (0..WRITERS)
            .map(|writer| tokio::spawn(write_for_ever(store.clone(), seed, round, writer)));
        for writer in writers.collect::<Vec<_>>() {
            writer.await.unwrap();
        }
    });
}

/// Lets a child write, and kills it. Returns how many transactions of each writer were
/// acknowledged.
fn crash(path: &Path, durability: Durability, seed: u64, round: u64) -> [u64; WRITERS as usize] {
    let mut acknowledged = [0; WRITERS as usize];
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child_process_writes_until_it_is_killed", "--nocapture"])
        .env(CHILD, format!("{seed} {round} {durability:?} {}", path.display()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut done = lines
        .filter_map(|line| line.strip_prefix("done ").map(|writer| writer.parse().unwrap()))
        .inspect(|&writer: &usize| acknowledged[writer] += 1);
    // Every fourth child is killed while it opens the file, or soon after.
    if draw((seed, round, "early"), 0..4) != 0 {
        let wanted = draw((seed, round, "transactions"), 1..40) as usize;
        assert_eq!(done.by_ref().take(wanted).count(), wanted);
    }
    // The moment is random, because every moment must be safe.
    std::thread::sleep(Duration::from_micros(draw((seed, round, "moment"), 0..15_000)));
    child.kill().unwrap();
    child.wait().unwrap();
    // Its output before it died.
    done.for_each(drop);
    acknowledged
}

/// The stored rows of a partition.
async fn stored(store: &EmbeddedStore, partition_key: String) -> Rows {
    let keys = KeyRange { partition: Span::Exact(partition_key), row: Span::All };
    let page = store.query(&RowQuery::new(table(), keys)).await.unwrap();
    assert!(page.continuation.is_none());
    let body: serde_json::Value = serde_json::from_slice(&page.body).unwrap();
    let text = |row: &serde_json::Value, name: &str| row[name].as_str().unwrap().to_owned();
    let rows = body["value"].as_array().unwrap().iter();
    rows.map(|row| (text(row, "RowKey"), text(row, "V"))).collect()
}

#[test]
fn acknowledged_transactions_survive_a_kill_whole_and_no_other_is_there_in_part() {
    kill_again_and_again(Durability::Immediate);
}

#[test]
fn with_eventual_durability_a_kill_leaves_the_transactions_up_to_one_whole() {
    kill_again_and_again(Durability::Eventual);
}

fn kill_again_and_again(durability: Durability) {
    let seed = crash_seed();
    let runtime = Runtime::new().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let (mut path, mut known) = (directory.path().join("none"), BTreeMap::new());
    let mut total = 0;
    let rounds = dose(50, 300);
    for round in 0..rounds {
        if round % ROUNDS_A_FILE == 0 {
            path = directory.path().join(format!("{round}.redb"));
            known.clear();
            runtime.block_on(Tables::open(&path).unwrap().create(&table())).unwrap();
        }
        let acknowledged = crash(&path, durability, seed, round);
        total += acknowledged.iter().sum::<u64>();
        let store = EmbeddedStore::open(&path).unwrap();
        for (writer, acknowledged) in (0..).zip(acknowledged) {
            let step = Step { seed, round, writer, number: 0 };
            let found = runtime.block_on(stored(&store, step.partition_key()));
            // A writer has at most one transaction in flight, which may have been committed.
            let least = if durability == Durability::Eventual { 0 } else { acknowledged };
            let is_after = |steps: u64| rows_after(seed, round, writer, steps) == found;
            assert!(
                (least..=acknowledged + 1).any(is_after),
                "round {round}, writer {writer}, {acknowledged} acknowledged: {found:#?}"
            );
            known.insert(step.partition_key(), found);
        }
        for (partition_key, rows) in &known {
            let found = runtime.block_on(stored(&store, partition_key.clone()));
            assert!(found == *rows, "round {round} changed {partition_key}");
        }
    }
    println!("{total} transactions acknowledged in {rounds} rounds");
    assert!(total > rounds, "the children were killed too early to show anything");
}
