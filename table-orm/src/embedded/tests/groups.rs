use super::super::apply::{Change, DatabaseWriter};
use super::super::database::Database;
use super::super::{admit, open, stored};
use super::disk::{Disk, on};
use super::*;
use crate::model::DateTime;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const WRITERS: usize = 64;
const ROUNDS: usize = 10;

/// Concurrent writers add to shared counters under ETags, and each inserts rows of its own.
async fn race(store: EmbeddedStore) {
    let people = Arc::new(Fixture::with(store).await);
    for counter in 0..4 {
        people.insert("p", &format!("counter{counter}"), r#"{"N":0}"#).await;
    }
    let conflicts = Arc::new(AtomicUsize::new(0));
    let writers = (0..WRITERS).map(|writer| {
        let (people, conflicts) = (Arc::clone(&people), Arc::clone(&conflicts));
        tokio::spawn(async move {
            for round in 0..ROUNDS {
                let counter = format!("counter{}", (writer + round) % 4);
                loop {
                    let row = people.get("p", &counter).await.unwrap();
                    let value: Value = serde_json::from_slice(&row.body).unwrap();
                    let next = format!(r#"{{"N":{}}}"#, value["N"].as_i64().unwrap() + 1);
                    let own = format!("{writer:02}-{round:02}");
                    let result = people
                        .commit(vec![
                            insert(&own, "{}"),
                            operation(
                                &counter,
                                Action::Replace(json(&next), IfMatch::ETag(row.etag().unwrap())),
                            ),
                        ])
                        .await;
                    match result {
                        Ok(_) => break,
                        Err(error) => {
                            assert_eq!(error.code, ErrorCode::UPDATE_CONDITION_NOT_SATISFIED);
                            assert_eq!(error.operation, Some(1));
                            conflicts.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let mut total = 0;
    for counter in 0..4 {
        let row = people.get("p", &format!("counter{counter}")).await.unwrap();
        let value: Value = serde_json::from_slice(&row.body).unwrap();
        total += value["N"].as_u64().unwrap();
    }
    assert_eq!(total, (WRITERS * ROUNDS) as u64, "no update is lost or doubled");
    let (keys, _) = people.keys(people.query(partition("p"))).await;
    assert_eq!(keys.len(), WRITERS * ROUNDS + 4, "a rejected transaction leaves no row");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_writers_in_memory_are_isolated() {
    race(EmbeddedStore::in_memory().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_writers_of_a_file_are_isolated() {
    let directory = tempfile::tempdir().unwrap();
    race(EmbeddedStore::open(directory.path().join("race.redb")).unwrap()).await;
}

/// Starts a write of each row in a task of its own, and waits until each has asked for its commit.
async fn start_writes(
    people: &Arc<Fixture>,
    count: usize,
) -> Vec<tokio::task::JoinHandle<Result<Option<ETag>, StoreError>>> {
    let begun = Arc::new(AtomicUsize::new(0));
    let start = |row| {
        let (people, begun) = (Arc::clone(people), Arc::clone(&begun));
        tokio::spawn(async move {
            begun.fetch_add(1, Ordering::Relaxed);
            people.write("p", &format!("{row:03}"), Action::Insert(json("{}"))).await
        })
    };
    let writes = (0..count).map(start).collect();
    // On one thread, a task that has begun has reached the point where it waits.
    while begun.load(Ordering::Relaxed) < count {
        tokio::task::yield_now().await;
    }
    writes
}

#[tokio::test]
async fn writers_that_wait_share_one_commit() {
    let disk = Disk::default();
    let people = Arc::new(Fixture::with(on(&disk)).await);
    let syncs = || disk.syncs.load(Ordering::Relaxed);
    let before = syncs();
    people.insert("p", "alone", "{}").await;
    let one_commit = syncs() - before;

    disk.hold(true);
    let writes = start_writes(&people, 64).await;
    disk.is_held_up().await;
    let before = syncs();
    disk.hold(false);
    for write in writes {
        write.await.unwrap().unwrap();
    }
    assert!(syncs() - before <= 2 * one_commit, "the first writer's commit, then one for the rest");
    assert_eq!(people.keys(people.query(partition("p"))).await.0.len(), 65);
}

#[tokio::test]
async fn a_dropped_writer_loses_only_its_answer() {
    let disk = Disk::default();
    let people = Arc::new(Fixture::with(on(&disk)).await);
    disk.hold(true);
    let writes = start_writes(&people, 10).await;
    disk.is_held_up().await;
    for write in &writes {
        write.abort();
    }
    for write in writes {
        assert!(write.await.unwrap_err().is_cancelled());
    }
    disk.hold(false);
    people.insert("p", "next", "{}").await;
    assert_eq!(people.keys(people.query(partition("p"))).await.0.len(), 11);
}

#[tokio::test]
async fn a_failed_commit_is_an_error_for_every_writer_and_applies_nothing() {
    let disk = Disk::default();
    let people = Arc::new(Fixture::with(on(&disk)).await);
    people.insert("p", "before", "{}").await;
    disk.hold(true);
    let writes = start_writes(&people, 8).await;
    disk.is_held_up().await;
    disk.broken.store(true, Ordering::Relaxed);
    disk.hold(false);
    for write in writes {
        let error = rejected(write.await.unwrap(), &ErrorCode::INTERNAL_ERROR);
        assert!(error.source.is_some());
    }
    let table = TableName::new("Later").unwrap();
    rejected(people.store.create_table(&table).await, &ErrorCode::INTERNAL_ERROR);
    assert!(people.get("p", "before").await.is_some());
    assert_eq!(people.get("p", "000").await, None);
}

#[tokio::test]
async fn requests_of_one_group_see_each_other() {
    let (database, mut writer) = open::in_memory().unwrap();
    let table = TableName::new("People").unwrap();
    let write = |row_key: &str, action: Action| {
        admit::write(&table, "p", operation(row_key, action)).unwrap()
    };
    let body = || json("{}");
    let requests = [
        write("r", Action::Insert(body())),
        Change::CreateTable(table.clone()),
        write("r", Action::Insert(body())),
        write("r", Action::Insert(body())),
        write("r", Action::Delete(IfMatch::Any)),
        Change::CreateTable(table.clone()),
        Change::DeleteTable(table.clone()),
        write("r", Action::Insert(body())),
        Change::CreateTable(table.clone()),
        write("s", Action::Insert(body())),
    ];
    let answers = writer.apply(&database, requests.iter()).unwrap();
    let codes: Vec<_> = answers
        .iter()
        .map(|answer| answer.as_ref().err().map_or("ok".to_owned(), |error| error.code.to_string()))
        .collect();
    assert_eq!(
        codes,
        [
            "TableNotFound",
            "ok",
            "ok",
            "EntityAlreadyExists",
            "ok",
            "TableAlreadyExists",
            "ok",
            "TableNotFound",
            "ok",
            "ok"
        ]
    );
}

#[test]
fn a_new_writer_in_memory_continues_after_the_timestamps_of_the_one_before() {
    let (database, mut writer) = open::in_memory().unwrap();
    let Database::Memory(memory) = &database else { panic!("a database in memory") };
    let table = TableName::new("People").unwrap();
    writer.apply(&database, [Change::CreateTable(table.clone())].iter()).unwrap();
    // As after a system clock that steps back.
    let future = DateTime::now().ticks() + 10_000_000_000;
    memory.last_tick().set(future);
    let upsert = |writer: &mut DatabaseWriter| {
        let upsert = operation("r", Action::InsertOrReplace(json("{}")));
        let request = admit::write(&table, "p", upsert).unwrap();
        let answers = writer.apply(&database, [request].iter()).unwrap();
        answers[0].as_ref().unwrap()[0].clone().unwrap()
    };
    let mut next = DatabaseWriter::start(&database).unwrap();
    let etags = [upsert(&mut writer), upsert(&mut next)];
    let at = |ticks| stored::etag_at(&DateTime::from_ticks(ticks).unwrap().text());
    assert_eq!(etags, [at(future + 1), at(future + 2)]);
}

#[tokio::test]
async fn a_panic_is_an_error_for_its_writers_and_others_can_write() {
    let disk = Disk::default();
    let people = Arc::new(Fixture::with(on(&disk)).await);
    disk.hold(true);
    let table = TableName::new("Later").unwrap();
    let store = people.store.clone();
    let create = tokio::spawn({
        let table = table.clone();
        async move { store.create_table(&table).await }
    });
    disk.is_held_up().await;
    disk.panics.store(true, Ordering::Relaxed);
    disk.hold(false);
    rejected(create.await.unwrap(), &ErrorCode::INTERNAL_ERROR);
    let next = people.write("p", "r", Action::Insert(json("{}")));
    let next = tokio::time::timeout(Duration::from_secs(10), next).await.expect("a new leader");
    // redb may refuse to work after a panic. It must answer, and the answer must be true.
    assert_eq!(next.is_ok(), people.get("p", "r").await.is_some());
}

#[test]
fn leadership_ends_with_the_runtime_of_the_leader() {
    let disk = Disk::default();
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.max_blocking_threads(1).enable_time().build().unwrap()
    };
    let first = runtime();
    let people = Arc::new(first.block_on(Fixture::with(on(&disk))));
    // The only blocking thread is busy until the runtime shuts down, so the leader's work never
    // starts.
    let busy = first.spawn_blocking(|| std::thread::sleep(Duration::from_millis(100)));
    let writes = first.block_on(async {
        let writes = start_writes(&people, 3).await;
        while !people.store.inner.queue.is_led() {
            tokio::task::yield_now().await;
        }
        writes
    });
    assert!(people.store.inner.queue.is_led());
    first.shutdown_timeout(Duration::from_secs(10));
    drop((busy, writes));
    let write = people.write("p", "r", Action::Insert(json("{}")));
    let write = async { tokio::time::timeout(Duration::from_secs(10), write).await };
    runtime().block_on(write).expect("a new leader").unwrap();
}
