//! Processes that share a file, served by `table-orm serve`, are killed while they write entities with rows in
//! other partitions and with values that are unique over all of them.

mod account;
mod writer;

use crate::served::Served;
use account::{Account, AccountByDay, AccountByRoom, Accounts, DAYS, InRoom, ROOMS, applied};
use futures_util::TryStreamExt as _;
use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::Duration;
use support::worker::Worker;
use support::{crash_seed, dose, draw};
use table_orm::repo::Finding;
use table_orm::{Repo, ScanPermit, TableName, Tables};
use writer::{Line, Task};

const PROCESSES: u64 = 3;
const WRITERS_A_PROCESS: u64 = 2;

/// The accounts of each writer.
type Stored = BTreeMap<String, Accounts>;

/// What a writer was doing when it was killed.
struct Killed {
    writer: String,
    /// After the last answer.
    answered: Accounts,
    /// If what was sent last took effect, too.
    or: Accounts,
}

fn permit() -> ScanPermit {
    ScanPermit::because("test")
}

fn writers(process: u64) -> Vec<String> {
    (0..WRITERS_A_PROCESS).map(|writer| format!("writer-{process}-{writer}")).collect()
}

/// Starts a process, kills it after some answers, and returns what its writers did.
fn killed(connection_string: &str, seed: u64, process: u64, stored: &Stored) -> Vec<Killed> {
    let connection_string = connection_string.to_owned();
    let task = Task {
        connection_string,
        seed: draw((seed, process), 0..u64::MAX),
        writers: writers(process),
    };
    let task = serde_json::to_string(&task).unwrap();
    let mut worker =
        Worker::start("killed_writers::writer::worker_writes_until_it_is_killed", &task);
    let mut lines = Vec::new();
    let wanted = draw((seed, process, "answers"), 0..10) as usize;
    while lines.iter().filter(|line| matches!(line, Line::Answered(..))).count() < wanted {
        let line = worker.line().expect("the writer ended before it was killed");
        lines.extend(serde_json::from_str::<Line>(&line).ok());
    }
    // The moment is random, because every moment must be safe.
    thread::sleep(Duration::from_micros(draw((seed, process, "moment"), 0..10_000)));
    worker.kill();
    // Its output before it died. The last line may be cut.
    lines.extend(
        std::iter::from_fn(|| worker.line()).filter_map(|line| serde_json::from_str(&line).ok()),
    );
    let of = |writer: String| {
        let mut answered = stored.get(&writer).cloned().unwrap_or_default();
        let mut sent = None;
        for line in &lines {
            match line {
                Line::Sends(of, change) if *of == writer => sent = Some(change),
                Line::Answered(of, stores) if *of == writer => {
                    let change = sent.take().unwrap();
                    if *stores {
                        answered = applied(&answered, change);
                    }
                }
                _ => {}
            }
        }
        let or = sent.map_or_else(|| answered.clone(), |change| applied(&answered, change));
        Killed { writer, answered, or }
    };
    writers(process).into_iter().map(of).collect()
}

/// Lets processes write to a file until each of them is killed, and the server last: so nothing that they
/// have sent takes effect later.
fn round(file: &Path, seed: u64, stored: &Stored) -> Vec<Killed> {
    let mut served = Served::with_file(file);
    let connection_string = served.connection_string();
    let killed = thread::scope(|scope| {
        let start = |process| {
            scope.spawn({
                let connection_string = &connection_string;
                move || killed(connection_string, seed, process, stored)
            })
        };
        let processes: Vec<_> = (0..PROCESSES).map(start).collect();
        processes.into_iter().flat_map(|process| process.join().unwrap()).collect()
    });
    served.kill();
    killed
}

/// Checks that each writer's accounts are those that were answered, and returns them.
async fn check_answered(repo: &Repo<Account>, killed: Vec<Killed>) -> Stored {
    let mut stored = Stored::new();
    for Killed { writer, answered, or } in killed {
        let found = repo.list(Account::partition(&*writer)).collect().await.unwrap();
        let found: Accounts = found.into_iter().map(|account| (account.number, account)).collect();
        assert!(
            found == answered || found == or,
            "{writer}: {found:#?} instead of {answered:#?}, or {or:#?}"
        );
        stored.insert(writer, found);
    }
    stored
}

/// Settles what the processes left, and checks that all rows are those of the accounts.
async fn sweep_and_check(tables: &Tables, stored: &Stored) -> u64 {
    let repo = tables.repo::<Account>();
    let report = repo.settle(permit()).grace(Duration::ZERO).await.all().unwrap();
    let clean = |findings: Vec<Finding>| assert!(findings.is_empty(), "{findings:#?}");
    clean(repo.verify_table(permit()).await.unwrap().findings);
    clean(repo.verify_eventual_table::<AccountByDay>(permit()).await.unwrap().findings);
    clean(repo.verify_eventual_table::<AccountByRoom>(permit()).await.unwrap().findings);
    clean(repo.verify_guards(permit()).await.unwrap().findings);

    // The same again, without `verify`.
    let mut accounts: Vec<_> = stored.values().flat_map(BTreeMap::values).collect();
    accounts.sort_by_key(|account| (account.number, &account.writer));
    for day in 0..DAYS as u8 {
        let found = repo.list(Account::by_day(day)).collect().await.unwrap();
        let expected = accounts.iter().filter(|account| account.day == day);
        assert!(found.iter().eq(expected.copied()), "{day}: {found:#?}");
    }
    for room in 0..ROOMS as u8 {
        let rows = repo.list(Account::by_room(room)).project::<InRoom>().collect().await.unwrap();
        let expected = accounts.iter().filter(|account| account.room == Some(room));
        let expected: Vec<_> = expected
            .map(|account| InRoom {
                writer: account.writer.clone(),
                number: account.number,
                version: account.version,
            })
            .collect();
        assert_eq!(rows, expected);
    }
    let mut logins: Vec<_> = accounts.iter().filter_map(|account| account.login.clone()).collect();
    logins.sort();
    assert_eq!(others(tables, "accounts").await, logins);
    assert!(others(tables, "rooms").await.is_empty());
    report.settled
}

/// The rows of a table that belong to no account: the values of guards, and the keys of others.
async fn others(tables: &Tables, table: &str) -> Vec<String> {
    let rows = tables.table(TableName::new(table).unwrap()).scan(permit()).stream();
    let rows: Vec<_> = rows.try_collect().await.unwrap();
    let mut others: Vec<_> = rows
        .into_iter()
        .filter(|row| !["ACC:", "DAY:", "ROOM:"].iter().any(|start| row.row_key.starts_with(start)))
        .map(|row| match row.partition_key.strip_prefix("UNQ:login:") {
            Some(login) => login.to_owned(),
            None => format!("{} / {}", row.partition_key, row.row_key),
        })
        .collect();
    others.sort();
    others
}

#[test]
fn rows_elsewhere_and_unique_values_are_right_after_writers_are_killed_and_one_sweeper_has_run() {
    let seed = crash_seed();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tables.redb");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let tables = Tables::open(&file).unwrap();
        for table in ["accounts", "rooms"] {
            tables.create(&TableName::new(table).unwrap()).await.unwrap();
        }
    });
    let (mut stored, mut settled) = (Stored::new(), 0);
    let rounds = dose(8, 100);
    for number in 0..rounds {
        let killed = round(&file, draw((seed, number), 0..u64::MAX), &stored);
        runtime.block_on(async {
            let tables = Tables::open(&file).unwrap();
            stored = check_answered(&tables.repo(), killed).await;
            // Otherwise the next writers find what these have left.
            if number + 1 == rounds || draw((seed, number, "sweep"), 0..2) == 0 {
                settled += sweep_and_check(&tables, &stored).await;
            }
        });
    }
    println!("{settled} writes were settled after {rounds} rounds");
    assert!(settled > 0, "no writer was killed before it had settled");
}
