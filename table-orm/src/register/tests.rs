#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use super::{cover, pointers, remove};
use crate::embedded::EmbeddedStore;
use crate::error::Error;
use crate::layer::{Faults, Writes};
use crate::model::TableName;
use crate::plan::{Connection, Cover, TableClient};
use crate::store::Store;
use futures_util::future::join_all;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

fn name(table: &str) -> TableName {
    TableName::new(table).unwrap()
}

struct Registered {
    client: TableClient,
    writes: Writes,
}

impl Registered {
    async fn new() -> Self {
        let memory = Arc::new(EmbeddedStore::in_memory().unwrap());
        memory.create_table(&name("ordersDue")).await.unwrap();
        let writes = Writes::default();
        let client = client(writes.around(memory), 1);
        Self { client, writes }
    }

    async fn cover(&self, partition_key: &str) -> Cover {
        cover(&self.client, "Order", partition_key).await.unwrap().unwrap()
    }

    /// How many pointers stand.
    async fn standing(&self) -> usize {
        let found = pointers(&self.client, &name("ordersDue"), "Order").await.unwrap();
        found.values().map(Vec::len).sum()
    }
}

fn client(store: Arc<dyn Store>, seed: u64) -> TableClient {
    let connection = Connection::new(store).on_virtual_time(seed);
    connection.registers.set(&name("orders"), &name("ordersDue"));
    TableClient::untyped(Arc::new(connection), name("orders"), "Order")
}

#[tokio::test(start_paused = true)]
async fn a_busy_partition_costs_one_write_in_a_minute_and_one_at_the_end() {
    let registered = Registered::new().await;
    for second in 1..=300_u64 {
        registered.cover("acme").await.end();
        sleep(SECOND).await;
        let minutes = second.div_ceil(60);
        assert_eq!(registered.writes.count(), minutes, "in second {second}");
    }
    assert_eq!(registered.standing().await, 1);
    sleep(MINUTE).await;
    assert_eq!((registered.standing().await, registered.writes.count()), (0, 6));
}

#[tokio::test(start_paused = true)]
async fn calls_that_begin_together_write_one_pointer() {
    let registered = Registered::new().await;
    let covers = join_all((0..64).map(|_| registered.cover("acme"))).await;
    assert_eq!(registered.writes.count(), 1);
    let _other = registered.cover("init").await;
    let _kind = cover(&registered.client, "Invoice", "acme").await.unwrap();
    assert_eq!(registered.writes.count(), 3);
    covers.iter().for_each(Cover::end);
}

#[tokio::test(start_paused = true)]
async fn a_pointer_is_kept_fresh_while_its_work_goes_on() {
    let registered = Registered::new().await;
    let long = registered.cover("acme").await;
    sleep(SECOND).await;
    for minute in 1..5 {
        sleep(MINUTE).await;
        assert_eq!((registered.standing().await, registered.writes.count()), (1, minute + 1));
    }
    long.end();
    drop(long);
    sleep(MINUTE + MINUTE).await;
    assert_eq!((registered.standing().await, registered.writes.count()), (0, 6));
}

#[tokio::test(start_paused = true)]
async fn a_pointer_whose_work_was_dropped_is_left_and_its_name_not_used_again() {
    let registered = Registered::new().await;
    let (dropped, ended) = (registered.cover("acme").await, registered.cover("acme").await);
    drop(dropped);
    // Later work has a pointer of its own, which goes with it.
    registered.cover("acme").await.end();
    assert_eq!(registered.standing().await, 2);
    ended.end();
    drop(ended);
    sleep(MINUTE + MINUTE).await;
    assert_eq!(registered.standing().await, 1);
    registered.cover("acme").await.end();
    sleep(MINUTE + MINUTE).await;
    assert_eq!(registered.standing().await, 1);
}

#[test]
fn work_after_the_end_of_a_runtime_gets_a_pointer_that_is_kept() {
    let memory = Arc::new(EmbeddedStore::in_memory().unwrap());
    let writes = Writes::default();
    let connection = Connection::new(writes.around(memory.clone()));
    connection.registers.set(&name("orders"), &name("ordersDue"));
    let client = TableClient::untyped(Arc::new(connection), name("orders"), "Order");
    let in_a_runtime = |expected| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let _ = memory.create_table(&name("ordersDue")).await;
            for _ in 0..3 {
                cover(&client, "Order", "acme").await.unwrap().unwrap().end();
            }
            assert_eq!(writes.count(), expected);
        });
    };
    in_a_runtime(1);
    in_a_runtime(2);
}

#[tokio::test(start_paused = true)]
async fn a_pointer_that_is_written_again_is_not_removed() {
    let registered = Registered::new().await;
    let _work = registered.cover("acme").await;
    let table = name("ordersDue");
    let found = pointers(&registered.client, &table, "Order").await.unwrap();
    sleep(MINUTE + SECOND).await;
    let mut again = pointers(&registered.client, &table, "Order").await.unwrap();
    for pointer in found.into_values().flatten() {
        remove(&registered.client, &table, pointer).await.unwrap();
    }
    assert_eq!(registered.standing().await, 1);
    for pointer in again.remove("acme").unwrap() {
        remove(&registered.client, &table, pointer).await.unwrap();
    }
    assert_eq!(registered.standing().await, 0);
}

#[tokio::test(start_paused = true)]
async fn the_pointers_of_another_kind_and_of_another_table_are_not_found() {
    let registered = Registered::new().await;
    let _work = registered.cover("acme").await;
    let invoices = pointers(&registered.client, &name("ordersDue"), "Invoice").await.unwrap();
    assert_eq!(invoices.len(), 0);
    let other = registered.client.in_table(&name("invoices"));
    assert_eq!(pointers(&other, &name("ordersDue"), "Order").await.unwrap().len(), 0);
    let upper = registered.client.in_table(&name("ORDERS"));
    assert_eq!(pointers(&upper, &name("ordersDue"), "Order").await.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_closed_is_not_kept_open_by_a_pointer() {
    let Registered { client, .. } = Registered::new().await;
    cover(&client, "Order", "acme").await.unwrap().unwrap().end();
    let connection = Arc::downgrade(&client.connection);
    drop(client);
    assert!(connection.upgrade().is_none());
}

#[tokio::test(start_paused = true)]
async fn work_whose_pointer_cannot_be_written_does_not_begin() {
    let memory = Arc::new(EmbeddedStore::in_memory().unwrap());
    memory.create_table(&name("ordersDue")).await.unwrap();
    let lossy = Faults::seeded(1).lost_requests(1.0).store(Arc::clone(&memory)).unwrap();
    let refused = cover(&client(Arc::new(lossy), 1), "Order", "acme").await.unwrap_err();
    assert!(matches!(refused, Error::Unregistered(_)) && refused.is_unavailable(), "{refused}");
    memory.delete_table(&name("ordersDue")).await.unwrap();
    let refused = cover(&client(memory, 1), "Order", "acme").await.unwrap_err();
    assert!(matches!(refused, Error::Unregistered(_)) && !refused.is_unavailable(), "{refused}");
    assert!(refused.to_string().contains("nothing was written"), "{refused}");
}
