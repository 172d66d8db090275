//! Writes that are answered before they are on the disk.

use super::disk::{Disk, eventual, eventual_ahead, on, on_again};
use super::*;
use crate::embedded::{Durability, admit};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The rows that a crash at this moment leaves.
async fn left(disk: &Disk) -> Vec<String> {
    let people =
        Fixture { store: on(&disk.after_crash()), table: TableName::new("People").unwrap() };
    let (keys, _) = people.keys(people.query(partition("p"))).await;
    keys.into_iter().map(|(_, row_key)| row_key).collect()
}

#[tokio::test]
async fn eventual_writes_do_not_wait_for_a_sync_each() {
    let disk = eventual();
    let people = Fixture::with(on(&disk)).await;
    let before = disk.syncs.load(Ordering::Relaxed);
    for row in 0..200 {
        people.insert("p", &format!("{row:03}"), "{}").await;
    }
    let syncs = disk.syncs.load(Ordering::Relaxed) - before;
    assert!(syncs < 100, "{syncs}");
    assert_eq!(people.keys(people.query(partition("p"))).await.0.len(), 200);
}

#[tokio::test]
async fn a_crash_leaves_the_writes_up_to_some_moment_and_a_sync_makes_it_now() {
    let disk = eventual();
    let people = Fixture::with(on(&disk)).await;
    people.insert("p", "000a", "{}").await;
    people.store.inner.engine.sync().unwrap();
    let mut known = 1;
    for row in 1..60 {
        let pair = vec![insert(&format!("{row:03}a"), "{}"), insert(&format!("{row:03}b"), "{}")];
        people.commit(pair).await.unwrap();
        if row % 20 == 0 {
            people.store.inner.engine.sync().unwrap();
            known = 2 * row + 1;
        }
        let mut written = vec!["000a".to_owned()];
        written.extend((1..=row).flat_map(|row| [format!("{row:03}a"), format!("{row:03}b")]));
        let left = left(&disk).await;
        assert!(left.len() >= known && left.len() % 2 == 1, "{} rows of {row}", left.len());
        assert_eq!(left, written[..left.len()]);
    }
}

#[tokio::test]
async fn no_etag_comes_again_after_a_crash_that_loses_writes() {
    let disk = eventual();
    let people = Fixture::with(on(&disk)).await;
    let mut last = people.insert("p", "r", "{}").await;
    for _ in 0..20 {
        last = people.write("p", "r", Action::InsertOrReplace(json("{}"))).await.unwrap().unwrap();
    }
    let store = on(&disk.after_crash());
    let table = TableName::new("People").unwrap();
    let people = Fixture { store, table };
    let next = people.write("p", "r", Action::InsertOrReplace(json("{}"))).await.unwrap().unwrap();
    assert!(last.as_str() < next.as_str());
}

#[tokio::test]
async fn the_next_writer_gets_the_error_of_a_failed_sync() {
    let disk = eventual();
    let people = Fixture::with(on_again(&disk)).await;
    people.insert("p", "synced", "{}").await;
    people.store.inner.engine.sync().unwrap();
    people.insert("p", "lost", "{}").await;
    disk.broken.store(true, Ordering::Relaxed);
    people.store.inner.engine.sync().unwrap_err();
    disk.broken.store(false, Ordering::Relaxed);
    let refused = people.write("p", "next", Action::Insert(json("{}"))).await;
    let error = refused.unwrap_err();
    assert_eq!((error.status, error.code.as_str()), (507, "AnsweredWritesLost"));
    assert!(error.message.contains("answered writes"), "{error}");
    assert_eq!(people.get("p", "next").await, None);
    assert!(people.get("p", "synced").await.is_some());
    people.insert("p", "next", "{}").await;
}

#[tokio::test]
async fn a_sync_before_a_close_says_whether_answered_writes_may_be_lost() {
    let disk = eventual();
    let people = Fixture::with(on_again(&disk)).await;
    people.insert("p", "synced", "{}").await;
    people.store.sync().await.unwrap();
    assert_eq!(left(&disk).await, ["synced"]);
    people.insert("p", "lost", "{}").await;
    disk.broken.store(true, Ordering::Relaxed);
    let error = people.store.sync().await.unwrap_err();
    assert_eq!((error.status, error.code.as_str()), (507, "AnsweredWritesLost"));
    let cause = error.source.as_deref().map(ToString::to_string).unwrap_or_default();
    assert!(cause.contains("the disk is broken"), "{cause}");
    // It was reported, and nothing more is lost.
    people.store.sync().await.unwrap();
    drop(people);
    disk.broken.store(false, Ordering::Relaxed);
    assert!(left(&disk).await.contains(&"synced".to_owned()));
}

#[tokio::test]
async fn a_sync_tells_what_the_store_met_by_itself_before() {
    let disk = eventual();
    let people = Fixture::with(on_again(&disk)).await;
    // The first write of a store is synced: it reserves timestamps.
    people.insert("p", "synced", "{}").await;
    people.insert("p", "lost", "{}").await;
    disk.broken.store(true, Ordering::Relaxed);
    people.store.inner.engine.sync().unwrap_err();
    disk.broken.store(false, Ordering::Relaxed);
    let error = people.store.sync().await.unwrap_err();
    assert_eq!(error.code.as_str(), "AnsweredWritesLost");
    people.insert("p", "next", "{}").await;
}

#[tokio::test]
async fn closing_a_file_and_waiting_both_bring_all_writes_to_the_disk() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("people.redb");
    let table = TableName::new("People").unwrap();
    let open = || EmbeddedStore::open_with(&path, Durability::Eventual).unwrap();
    let mut people = Fixture::with(open()).await;
    for round in 0..5 {
        for row in 0..20 {
            people.insert("p", &format!("{round}-{row:02}"), "{}").await;
        }
        drop(people);
        people = Fixture { store: open(), table: table.clone() };
        assert_eq!(people.keys(people.query(partition("p"))).await.0.len(), 20 * (round + 1));
    }
    people.insert("p", "waits", "{}").await;
    let copy = directory.path().join("copy.redb");
    let start = Instant::now();
    loop {
        // What a crash of the process leaves now.
        std::fs::copy(&path, &copy).unwrap();
        let store = EmbeddedStore::open(&copy);
        let people = store.map(|store| Fixture { store, table: table.clone() });
        // A copy that was made during the sync may be of no moment.
        if let Ok(people) = people
            && people.get("p", "waits").await.is_some()
        {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "no sync comes");
        tokio::task::yield_now().await;
    }
}

/// Whether answered writes are in the open transaction.
fn is_open(people: &Fixture) -> bool {
    people.store.inner.engine.has_uncommitted()
}

#[tokio::test]
async fn eventual_writes_share_a_transaction_until_a_read() {
    let people = Fixture::with(on(&eventual_ahead())).await;
    people.insert("p", "first", "{}").await;
    for round in 0..3 {
        for row in 0..10 {
            people.insert("p", &format!("{round}-{row}"), "{}").await;
            assert!(is_open(&people));
        }
        match round {
            0 => assert!(people.get("p", "0-9").await.is_some()),
            1 => assert_eq!(people.keys(people.query(partition("p"))).await.0.len(), 21),
            _ => people.store.create_table(&TableName::new("Later").unwrap()).await.unwrap(),
        }
        assert_eq!(is_open(&people), round == 2);
    }
    assert_eq!(people.store.list_tables().await.unwrap().len(), 2);
    assert!(!is_open(&people));
}

#[tokio::test]
async fn a_transaction_of_many_rows_is_committed_without_a_read() {
    let people = Fixture::with(on(&eventual_ahead())).await;
    people.insert("p", "first", "{}").await;
    people.insert("p", "second", "{}").await;
    let mut rows = 1;
    while is_open(&people) {
        let upsert = |row| operation(&format!("{row:02}"), Action::InsertOrReplace(json("{}")));
        people.commit((0..100).map(upsert).collect()).await.unwrap();
        rows += 100;
        assert!(rows < 11_000, "it stays open");
    }
    assert_eq!(rows, 10_001);
}

#[tokio::test]
async fn a_rejected_request_leaves_nothing_of_itself_among_answered_writes() {
    let disk = eventual_ahead();
    let people = Fixture::with(on_again(&disk)).await;
    people.insert("p", "a", "{}").await;
    people.insert("p", "b0", "{}").await;
    for round in 0..3 {
        let taken = vec![insert("b", "{}"), insert("a", "{}")];
        rejected(people.commit(taken).await, &ErrorCode::ENTITY_ALREADY_EXISTS);
        rejected(people.store.create_table(&people.table).await, &ErrorCode::TABLE_ALREADY_EXISTS);
        assert!(is_open(&people), "the answered write waits for a read");
        people.insert("p", &format!("c{round}"), "{}").await;
    }
    people.store.sync().await.unwrap();
    let expected = ["a", "b0", "c0", "c1", "c2"];
    assert_eq!(left(&disk).await, expected);
    let (keys, _) = people.keys(people.query(partition("p"))).await;
    assert_eq!(keys.into_iter().map(|(_, row_key)| row_key).collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn a_panic_loses_writes_up_to_some_moment_and_the_next_writer_gets_to_know() {
    for reads_first in [false, true] {
        let disk = eventual_ahead();
        let people = Fixture::with(on_again(&disk)).await;
        people.insert("p", "synced", "{}").await;
        people.store.sync().await.unwrap();
        people.insert("p", "committed", "{}").await;
        assert!(people.get("p", "committed").await.is_some());
        people.insert("p", "open", "{}").await;
        let request = admit::write(&people.table, "p", insert("group", "{}")).unwrap();
        let group = [Some(&request), None];
        let requests = group.into_iter().map(|request| request.expect("a request"));
        let engine = &people.store.inner.engine;
        assert!(catch_unwind(AssertUnwindSafe(|| engine.apply(requests))).is_err());

        if reads_first {
            assert_eq!(people.get("p", "open").await, None);
            assert!(people.get("p", "synced").await.is_some());
        }
        let refused = people.write("p", "next", Action::Insert(json("{}"))).await;
        let error = refused.unwrap_err();
        assert_eq!((error.status, error.code.as_str()), (507, "AnsweredWritesLost"));
        assert_eq!(people.get("p", "next").await, None);
        assert_eq!(people.get("p", "group").await, None);
        people.insert("p", "next", "{}").await;
        people.store.sync().await.unwrap();
        let left = left(&disk).await;
        assert!(left.contains(&"synced".to_owned()) && !left.contains(&"open".to_owned()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_waits_for_no_sync() {
    let disk = eventual_ahead();
    let people = Fixture::with(on(&disk)).await;
    people.insert("p", "first", "{}").await;
    people.insert("p", "r", "{}").await;
    assert!(is_open(&people));
    disk.hold(true);
    let store = people.store.clone();
    let sync = tokio::spawn(async move { store.sync().await });
    disk.is_held_up().await;
    assert!(people.get("p", "r").await.is_some());
    assert_eq!(people.keys(people.query(partition("p"))).await.0.len(), 2);
    disk.hold(false);
    sync.await.unwrap().unwrap();
}
