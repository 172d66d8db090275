//! Processes that update one entity of one Azurite at the same time.

use futures_util::future::join_all;
use support::azurite::Azurite;
use support::worker::{self, Worker};
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
}

/// Runs only in worker processes: updates the entity many times at once.
#[tokio::test]
async fn worker_updates_the_entity() {
    let Some(connection_string) = worker::task() else { return };
    let repo = Tables::from_connection_string(&connection_string).unwrap().repo::<Counter>();
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
}

#[tokio::test]
async fn updates_of_one_entity_by_many_processes_all_succeed() {
    let name = "updates_of_one_entity_by_many_processes_all_succeed";
    let Some(azurite) = Azurite::start_for(name) else { return };
    let connection_string = azurite.connection_string();
    let repo = Tables::from_connection_string(&connection_string).unwrap().repo::<Counter>();
    repo.create_table().await.unwrap();
    repo.insert(&Counter { space: "a".into(), id: 1, count: 0, attempts: 0 }).await.unwrap();
    let start = |_| Worker::start("contention::worker_updates_the_entity", &connection_string);
    let mut workers: Vec<_> = (0..PROCESSES).map(start).collect();
    assert!(workers.iter_mut().all(Worker::passed));
    let stored = repo.get(Counter::partition("a").row().id(1)).await.unwrap().unwrap();
    assert_eq!(stored.count, PROCESSES * CALLS);
    println!("{} updates in {} attempts", stored.count, stored.attempts);
    azurite.stop();
}
