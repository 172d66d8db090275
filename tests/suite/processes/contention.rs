//! Processes that update one entity of one Azurite at the same time.

use futures_util::future::join_all;
use std::sync::atomic::{AtomicU32, Ordering};
use support::azurite::Azurite;
use support::recorder::recorded_around;
use support::worker::{self, Worker};
use table_orm::azure::AzureStore;
use table_orm::layer::Retry;
use table_orm::{TableEntity, Tables, shares_table};

const PROCESSES: u32 = 16;
const CALLS: u32 = 20;

#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "counters", partition = "{space}", row = "COUNTER:{id:05}")]
struct Counter {
    space: String,
    id: u32,
    count: u32,
}

/// What a process sent for its updates.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "counters", partition = "{space}", row = "SENT:{process:010}")]
struct Sent {
    space: String,
    process: u32,
    /// How many writes were decided, those that lost to another process included.
    attempts: u32,
    requests: u32,
}

shares_table!(Counter, Sent);

/// Runs only in worker processes: updates the entity many times at once.
#[tokio::test]
async fn worker_updates_the_entity() {
    let Some(connection_string) = worker::task() else { return };
    let store = AzureStore::from_connection_string(&connection_string).unwrap();
    let (tables, record) = recorded_around(store);
    let tables = tables.layer(Retry::interactive()).unwrap();
    let (repo, key) = (tables.repo::<Counter>(), Counter::partition("a").row().id(1));
    let attempts = AtomicU32::new(0);
    let update = async |_| {
        let update = repo.update(&key, |counter| {
            attempts.fetch_add(1, Ordering::Relaxed);
            counter.count += 1;
        });
        update.await
    };
    worker::ready();
    for ended in join_all((0..CALLS).map(update)).await {
        ended.unwrap();
    }
    let requests = record.take();
    let requests = requests.gets + requests.queries.len() + requests.writes.len();
    let (process, requests) = (std::process::id(), requests as u32);
    let sent = Sent { space: "a".into(), process, attempts: attempts.into_inner(), requests };
    tables.repo().insert(&sent).await.unwrap();
}

#[tokio::test]
async fn updates_of_one_entity_by_many_processes_all_succeed() {
    let name = "updates_of_one_entity_by_many_processes_all_succeed";
    let Some(azurite) = Azurite::start_for(name) else { return };
    let connection_string = azurite.connection_string();
    let tables = Tables::from_connection_string(&connection_string).unwrap();
    let repo = tables.repo::<Counter>();
    repo.create_table().await.unwrap();
    repo.insert(&Counter { space: "a".into(), id: 1, count: 0 }).await.unwrap();
    let start = |_| Worker::start("contention::worker_updates_the_entity", &connection_string);
    let mut workers: Vec<_> = (0..PROCESSES).map(start).collect();
    assert!(workers.iter_mut().all(Worker::passed));
    let stored = repo.get(Counter::partition("a").row().id(1)).await.unwrap().unwrap();
    assert_eq!(stored.count, PROCESSES * CALLS);
    let sent = tables.repo::<Sent>().list(Sent::partition("a")).collect().await.unwrap();
    assert_eq!(sent.len() as u32, PROCESSES);
    let attempts: u32 = sent.iter().map(|sent| sent.attempts).sum();
    let requests: u32 = sent.iter().map(|sent| sent.requests).sum();
    println!("{} updates in {attempts} attempts, {requests} requests", stored.count);
    // An attempt is a read and a write, and an update without another writer is one attempt.
    assert!(requests >= 2 * attempts, "{requests} requests, {attempts} attempts");
    let least = 2 * stored.count;
    assert!(requests <= 2 * least, "{requests} requests, at least {least}");
    azurite.stop();
}
