//! Processes that update one entity of one Azurite at the same time.

use futures_util::future::join_all;
use support::azurite::Azurite;
use support::recorder::recorded_around;
use support::worker::{self, Worker};
use table_orm::azure::AzureStore;
use table_orm::layer::Retry;
use table_orm::{TableEntity, Tables};

const PROCESSES: u32 = 16;
const CALLS: u32 = 20;

#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "counters", partition = "{space}", row = "{id:05}")]
struct Counter {
    space: String,
    id: u32,
    count: u32,
    /// How many writes were decided, those that lost to another process included.
    attempts: u32,
    /// What all processes sent for that.
    requests: u32,
}

/// Runs only in worker processes: updates the entity many times at once.
#[tokio::test]
async fn worker_updates_the_entity() {
    let Some(connection_string) = worker::task() else { return };
    let store = AzureStore::from_connection_string(&connection_string).unwrap();
    let (tables, record) = recorded_around(store);
    let repo = tables.layer(Retry::interactive()).unwrap().repo::<Counter>();
    let key = Counter::partition("a").row().id(1);
    let update = || async {
        let mut attempts = 0;
        let update = repo.update(&key, |counter| {
            attempts += 1;
            counter.count += 1;
            counter.attempts += attempts;
        });
        update.await
    };
    worker::ready();
    for ended in join_all((0..CALLS).map(|_| update())).await {
        ended.unwrap();
    }
    let sent = record.take();
    let sent = sent.gets + sent.queries.len() + sent.writes.len();
    repo.update(&key, |counter| counter.requests += sent as u32).await.unwrap();
}

#[tokio::test]
async fn updates_of_one_entity_by_many_processes_all_succeed() {
    let name = "updates_of_one_entity_by_many_processes_all_succeed";
    let Some(azurite) = Azurite::start_for(name) else { return };
    let connection_string = azurite.connection_string();
    let repo = Tables::from_connection_string(&connection_string).unwrap().repo::<Counter>();
    repo.create_table().await.unwrap();
    let zero = Counter { space: "a".into(), id: 1, count: 0, attempts: 0, requests: 0 };
    repo.insert(&zero).await.unwrap();
    let start = |_| Worker::start("contention::worker_updates_the_entity", &connection_string);
    let mut workers: Vec<_> = (0..PROCESSES).map(start).collect();
    assert!(workers.iter_mut().all(Worker::passed));
    let stored = repo.get(Counter::partition("a").row().id(1)).await.unwrap().unwrap();
    assert_eq!(stored.count, PROCESSES * CALLS);
    let (requests, attempts) = (stored.requests, stored.attempts);
    println!("{} updates in {attempts} attempts, {requests} requests", stored.count);
    // An attempt is a read and a write, and an update without another writer is one attempt.
    assert!(requests >= 2 * attempts, "{requests} requests, {attempts} attempts");
    let least = 2 * stored.count;
    assert!(requests <= 2 * least, "{requests} requests, at least {least}");
    azurite.stop();
}
