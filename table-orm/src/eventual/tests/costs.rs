//! The requests that settling takes.

use super::world::{Change, HOME, KIND, State, client, create, read};
use crate as table_orm;
use crate::embedded::EmbeddedStore;
use crate::eventual::{SettleReport, Sweep, settle};
use crate::layer::Counted;
use crate::model::ETag;
use crate::plan::TableClient;
use crate::{TableEntity, Tables};
use std::sync::Arc;
use std::time::Duration;

struct Counting {
    store: Arc<Counted>,
    client: TableClient,
}

impl Counting {
    async fn new() -> Self {
        let memory = Arc::new(EmbeddedStore::in_memory().unwrap());
        create(&*memory).await;
        let store = Counted::new(memory);
        Self { client: client(Arc::clone(&store) as _, 1), store }
    }

    /// Writes an entity, which was read before, and settles. Returns the requests of the write.
    async fn write(&self, entity: &str, new: Option<State>) -> usize {
        let old = read(&self.client, entity).await.unwrap();
        let change = Change::of(&self.client, &[(entity, old, new)]).unwrap();
        self.store.take();
        if let Some(pending) = change.send(&self.client).await.unwrap() {
            settle(&self.client, KIND, &pending).await.unwrap();
        }
        self.store.take()
    }
}

const A: &str = "copies p1 FULL:a:0";
const B: &str = "copies p2 FULL:a:0";
const BOTH: &str = "copies p1 FULL:a:0;copies p2 FULL:a:0";

#[tokio::test]
async fn an_insert_a_delete_and_an_update_in_place_take_2p_and_3_requests() {
    let counting = Counting::new().await;
    for (keys, expected) in [(A, 5), (BOTH, 7)] {
        assert_eq!(counting.write("E:0", Some(State::new(keys, "1"))).await, expected);
        assert_eq!(counting.write("E:0", Some(State::new(keys, "2"))).await, expected);
        assert_eq!(counting.write("E:0", None).await, expected);
    }
}

#[tokio::test]
async fn a_move_takes_both_partitions() {
    let counting = Counting::new().await;
    counting.write("E:0", Some(State::new(A, "1"))).await;
    assert_eq!(counting.write("E:0", Some(State::new(B, "1"))).await, 7);
    // Within one partition it is one transaction.
    assert_eq!(counting.write("E:0", Some(State::new("copies p2 FULL:b:0", "1"))).await, 5);
}

#[tokio::test]
async fn an_update_that_no_eventual_row_stores_is_one_request() {
    let counting = Counting::new().await;
    counting.write("E:0", Some(State::new("copies p1 REF:a:0", "1"))).await;
    assert_eq!(counting.write("E:0", Some(State::new("copies p1 REF:a:0", "2"))).await, 1);
    assert_eq!(counting.write("E:1", Some(State::new("", "1"))).await, 1);
}

#[tokio::test]
async fn another_client_settles_in_2p_and_2_requests_and_a_query() {
    for (keys, expected) in [(A, 5), (BOTH, 7)] {
        let counting = Counting::new().await;
        let state = Some(State::new(keys, "1"));
        let change = Change::of(&counting.client, &[("E:0", None, state)]).unwrap();
        change.send(&counting.client).await.unwrap();
        counting.store.take();
        let sweep = Sweep { home: counting.client.clone(), kind: KIND, grace: Duration::ZERO };
        let mut report = SettleReport::default();
        sweep.partition(HOME, &mut report).await.unwrap();
        assert_eq!(counting.store.take(), expected);
        assert_eq!((report.progress.settled, report.failures.len()), (1, 0));
    }
}

#[tokio::test]
async fn a_row_to_delete_that_is_not_there_takes_one_request_more() {
    let counting = Counting::new().await;
    counting.write("E:0", Some(State::new(A, "1"))).await;
    let old = read(&counting.client, "E:0").await.unwrap();
    let etag = old.as_ref().map(|old| old.etag.clone()).unwrap_or_else(|| ETag::new(""));
    assert!(!etag.as_str().is_empty());
    // A sweeper settles the delete first; the writer finds the row gone, and the intent cleared.
    let delete = Change::of(&counting.client, &[("E:0", old, None)]).unwrap();
    let pending = delete.send(&counting.client).await.unwrap().unwrap();
    settle(&counting.client, KIND, &pending).await.unwrap();
    counting.store.take();
    settle(&counting.client, KIND, &pending).await.unwrap();
    // Ticket, reading, transaction, transaction without the row, clear.
    assert_eq!(counting.store.take(), 5);
}

#[tokio::test]
async fn many_entities_of_one_intent_share_the_requests_of_a_partition() {
    let counting = Counting::new().await;
    let names: Vec<_> = (0..99).map(|entity| format!("E:{entity:02}")).collect();
    let state =
        |entity: usize, stamp: &str| State::new(&format!("copies p1 FULL:a:{entity:02}"), stamp);
    let client = &counting.client;
    let entities: Vec<_> = names
        .iter()
        .enumerate()
        .map(|(entity, name)| (name.as_str(), None, Some(state(entity, "1"))))
        .collect();
    let change = Change::of(client, &entities).unwrap();
    let pending = change.send(client).await.unwrap().unwrap();
    counting.store.take();
    settle(client, KIND, &pending).await.unwrap();
    // The tickets, the readings, two transactions of 50 and 49 entities, the clear.
    assert_eq!(counting.store.take(), 5);
    let mut report = SettleReport::default();
    let sweep = Sweep { home: client.clone(), kind: KIND, grace: Duration::ZERO };
    sweep.partition(HOME, &mut report).await.unwrap();
    assert_eq!(report.progress.settled, 0);
}

/// One row at home, one in another partition.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "members", partition = "{room}", row = "USER:{user:05}", crate = table_orm)]
#[row(by_day, partition = "{day}", key = "DAY:{user:05}__{room}", eventual)]
struct Member {
    room: String,
    user: u32,
    day: String,
}

fn member(user: u32) -> Member {
    Member { room: "hall".into(), user, day: "2026-11-23".into() }
}

#[tokio::test]
async fn a_bulk_write_of_a_thousand_entities_takes_43_requests() {
    let store = Counted::new(Arc::new(EmbeddedStore::in_memory().unwrap()));
    let members = Tables::new(Arc::clone(&store)).repo::<Member>();
    members.create_table().await.unwrap();
    let requests = || store.take();
    requests();
    // 11 transactions at home, of 99 entities and an intent; 10 of 100 tickets; one reading; 20 of 50 tickets
    // and rows; one that deletes the intents.
    members.insert_many((0..1000).map(member)).await.all().unwrap();
    assert_eq!(requests(), 11 + 10 + 1 + 20 + 1);
    assert_eq!(members.list(Member::by_day("2026-11-23")).count().await.unwrap(), 1000);

    let loaded = members.load(Member::partition("hall")).await.unwrap();
    requests();
    members.delete_many(loaded).await.all().unwrap();
    assert_eq!(requests(), 11 + 10 + 1 + 20 + 1);
    assert_eq!(members.list(Member::by_day("2026-11-23")).count().await.unwrap(), 0);

    // Each reads and writes by itself, with an intent of its own; then they are settled together.
    requests();
    members.upsert_many((0..300).map(member)).await.all().unwrap();
    assert_eq!(requests(), 300 * 2 + 3 + 1 + 6 + 3);
    assert_eq!(members.list(Member::by_day("2026-11-23")).count().await.unwrap(), 300);
}
