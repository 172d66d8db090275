//! Processes that share the queues and tables of one Azurite.

use std::time::Duration;
use support::azurite::Azurite;
use support::worker::{self, Worker};
use table_orm::azure::AzureQueues;
use table_orm::azure::AzureStore;
use table_orm::queue::Queues as _;
use table_orm::repo::Table;
use table_orm::store::Store as _;
use table_orm::{DynamicEntity, TableName, Tables};

const QUEUE: &str = "jobs";
const JOBS: usize = 30;

/// Long enough for a job, short enough to wait for the jobs of a worker that was killed.
const VISIBILITY: Duration = Duration::from_secs(2);

fn connect(connection_string: &str) -> (AzureQueues, Table) {
    let queues = AzureQueues::from_connection_string(connection_string).unwrap();
    let tables = Tables::from_connection_string(connection_string).unwrap();
    (queues, tables.table(done()))
}

fn done() -> TableName {
    TableName::new("Done").unwrap()
}

async fn count(rows: &Table) -> usize {
    rows.list("jobs", ..).collect().await.unwrap().len()
}

/// Runs only in worker processes: does jobs, or takes one and never does it.
#[tokio::test]
async fn worker_does_jobs() {
    let Some(task) = worker::task() else { return };
    let (role, connection_string) = task.split_once(' ').unwrap();
    let (queues, rows) = connect(connection_string);
    while count(&rows).await < JOBS {
        for message in queues.receive(QUEUE, 1, VISIBILITY).await.unwrap() {
            if role == "stops" && count(&rows).await >= JOBS / 5 {
                worker::ready();
                std::future::pending::<()>().await;
            }
            let row = DynamicEntity::new("jobs", &*message.text);
            rows.insert_or_replace(&row).await.unwrap();
            // After the time-out, another worker that received the job removes it.
            let _ = queues.remove(QUEUE, &message.receipt).await;
        }
    }
}

#[tokio::test]
async fn workers_do_the_jobs_of_one_that_was_killed() {
    let Some(azurite) = Azurite::start_for("workers_do_the_jobs_of_one_that_was_killed") else {
        return;
    };
    let connection_string = azurite.connection_string();
    let (queues, rows) = connect(&connection_string);
    queues.create(QUEUE).await.unwrap();
    let store = AzureStore::from_connection_string(&connection_string).unwrap();
    store.create_table(&done()).await.unwrap();
    for job in 0..JOBS {
        queues.send(QUEUE, &job.to_string(), Duration::ZERO).await.unwrap();
    }
    let start =
        |role| Worker::start("workers::worker_does_jobs", &format!("{role} {connection_string}"));
    let mut first = start("stops");
    first.wait_until_ready();
    let mut others = [start("works"), start("works")];
    first.kill();
    assert!(others.iter_mut().all(Worker::passed));
    assert_eq!(count(&rows).await, JOBS);
    azurite.stop();
}
