//! A disk that fails for a while and then works again.

use super::disk::{Disk, on_again};
use super::*;
use std::sync::atomic::Ordering;

async fn keys(people: &Fixture) -> usize {
    people.keys(people.query(partition("p"))).await.0.len()
}

#[tokio::test]
async fn a_store_works_again_when_its_disk_does() {
    let disk = Disk::default();
    let people = Fixture::with(on_again(&disk)).await;
    let etag = people.insert("p", "before", "{}").await;
    for round in 0..3 {
        let row_key = format!("after {round}");
        disk.unplugged.store(true, Ordering::Relaxed);
        let lost = people.write("p", "lost", Action::Insert(json("{}"))).await;
        let error = rejected(lost, &ErrorCode::INTERNAL_ERROR);
        assert!(error.message.contains("check the disk"), "{error}");
        let closed = people.write("p", "lost", Action::Insert(json("{}"))).await;
        let error = closed.unwrap_err();
        assert_eq!((error.status, &error.code), (0, &ErrorCode::CONNECTION_FAILED));
        assert!(error.message.starts_with("Nothing was applied"), "{error}");
        assert!(error.message.contains("check the disk"), "{error}");
        let read = people.store.get(&people.table, "p", "before", None, Metadata::None).await;
        rejected(read, &ErrorCode::INTERNAL_ERROR);
        rejected(people.store.list_tables().await, &ErrorCode::INTERNAL_ERROR);

        disk.unplugged.store(false, Ordering::Relaxed);
        assert_eq!(people.get("p", "before").await.unwrap().etag().unwrap(), etag);
        assert_eq!(people.get("p", "lost").await, None);
        people.insert("p", &row_key, "{}").await;
        assert_eq!(keys(&people).await, 2 + round);
    }
}

#[tokio::test]
async fn a_read_is_repeated_after_a_disk_failure() {
    let disk = Disk::default();
    let people = Fixture::with(on_again(&disk)).await;
    people.insert("p", "r", "{}").await;
    disk.broken.store(true, Ordering::Relaxed);
    let failed = people.write("p", "s", Action::Insert(json("{}"))).await;
    rejected(failed, &ErrorCode::INTERNAL_ERROR);
    disk.broken.store(false, Ordering::Relaxed);
    // The first of these reads opens the database again, and no write does.
    assert!(people.get("p", "r").await.is_some());
    assert_eq!(people.store.list_tables().await.unwrap().len(), 1);
    // Its sync failed, so it may have taken effect, and the caller has to read the row.
    let rows = keys(&people).await;
    let again = people.write("p", "s", Action::Insert(json("{}"))).await;
    assert_eq!(again.is_ok(), rows == 1);
    assert_eq!(keys(&people).await, 2);
}

#[tokio::test]
async fn concurrent_readers_and_writers_all_work_again_after_a_failure() {
    let disk = Disk::default();
    let people = std::sync::Arc::new(Fixture::with(on_again(&disk)).await);
    people.insert("p", "r", "{}").await;
    for round in 0..20 {
        disk.unplugged.store(true, Ordering::Relaxed);
        let failed = people.write("p", "lost", Action::Insert(json("{}"))).await;
        rejected(failed, &ErrorCode::INTERNAL_ERROR);
        disk.unplugged.store(false, Ordering::Relaxed);
        let tasks = (0..8).map(|task| {
            let people = std::sync::Arc::clone(&people);
            tokio::spawn(async move {
                if task % 2 == 0 {
                    people.insert("p", &format!("{round}-{task}"), "{}").await;
                } else {
                    assert!(people.get("p", "r").await.is_some());
                    assert!(keys(&people).await > round * 4);
                }
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap();
        }
        assert_eq!(keys(&people).await, 1 + 4 * (round + 1));
    }
}

#[tokio::test]
async fn a_compaction_that_fails_loses_no_row() {
    let disk = Disk::default();
    let people = Fixture::with(on_again(&disk)).await;
    let etag = people.insert("p", "r", "{}").await;
    disk.unplugged.store(true, Ordering::Relaxed);
    let error = rejected(people.store.compact().await, &ErrorCode::INTERNAL_ERROR);
    assert!(error.message.contains("check the disk"), "{error}");
    disk.unplugged.store(false, Ordering::Relaxed);
    assert_eq!(people.get("p", "r").await.unwrap().etag().unwrap(), etag);
    people.insert("p", "s", "{}").await;
    people.store.compact().await.unwrap();
    assert_eq!(keys(&people).await, 2);
}
