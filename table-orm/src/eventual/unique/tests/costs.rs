//! The requests that unique values take.

use super::{Person, client, memory, person};
use crate::entity::{RowHead, read_row, split_page};
use crate::eventual::unique::{Guards, Reservation};
use crate::eventual::{DueEntry, EventualType, UniqueValue};
use crate::layer::Counted;
use crate::model::TableName;
use crate::query::{KeyRange, RowQuery, Span};
use crate::store::Store;
use crate::{Error, Repo};
use std::sync::Arc;
use std::time::Duration;

async fn counting() -> (Arc<Counted>, Repo<Person>) {
    let store = Counted::new(memory().await);
    (Arc::clone(&store), client(store, 1))
}

/// The keys of all rows.
async fn scan(store: &dyn Store, table: &str) -> Vec<String> {
    let keys = KeyRange { partition: Span::All, row: Span::All };
    let query = RowQuery::new(TableName::new(table).unwrap(), keys);
    let page = store.query(&query).await.unwrap();
    let rows = split_page(&page.body).unwrap();
    let heads = rows.iter().map(|row| read_row::<RowHead>(0, row.get().as_bytes()).unwrap());
    heads.map(|head| format!("{} {}", head.partition_key, head.row_key)).collect()
}

/// The requests of a call.
async fn cost<T>(store: &Counted, call: impl IntoFuture<Output = T>) -> (usize, T) {
    store.take();
    let answer = call.await;
    (store.take(), answer)
}

#[tokio::test(start_paused = true)]
async fn an_insert_takes_a_ticket_a_guard_for_each_value_and_the_transaction() {
    let (store, people) = counting().await;
    for (entity, expected) in [
        (person("0", ""), 1),
        (person("1", "x"), 3),
        (Person { badge: Some(7), ..person("2", "y") }, 4),
    ] {
        let (requests, written) = cost(&store, people.insert(&entity)).await;
        assert_eq!(requests, expected);
        written.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_changed_value_takes_3_requests_4_to_release_the_old_one_and_1() {
    let (store, people) = counting().await;
    let mut ann = people.insert_loaded(&person("1", "x")).await.unwrap();
    ann.visits = 1;
    assert_eq!(cost(&store, people.save(&mut ann)).await.0, 1, "the value stays");
    ann.name = Some("y".to_owned());
    let (requests, saved) = cost(&store, people.save(&mut ann)).await;
    saved.unwrap();
    assert_eq!(requests, 8);
    people.insert(&person("2", "x")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_delete_takes_2_requests_and_4_for_each_value() {
    let (store, people) = counting().await;
    for (entity, expected) in
        [(person("1", "x"), 6), (Person { badge: Some(7), ..person("2", "y") }, 10)]
    {
        let loaded = people.insert_loaded(&entity).await.unwrap();
        let (requests, deleted) = cost(&store, people.delete(loaded)).await;
        deleted.unwrap();
        assert_eq!(requests, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_that_is_refused_takes_9_requests_and_leaves_nothing() {
    let (store, people) = counting().await;
    people.insert(&person("1", "")).await.unwrap();
    let (requests, refused) = cost(&store, people.insert(&person("1", "x"))).await;
    assert!(matches!(refused, Err(Error::AlreadyExists(_))), "{refused:?}");
    assert_eq!(requests, 9);
    let rows = scan(&*store, "people").await;
    assert_eq!(rows, ["1 PERSON"]);
}

#[tokio::test(start_paused = true)]
async fn a_value_of_a_reserver_that_ended_takes_9_requests() {
    let (store, people) = counting().await;
    let ended = Guards { home: people.client.clone(), kind: EventualType::of::<Person>() };
    let x = UniqueValue { name: "name".to_owned(), value: "x".to_owned() };
    let entry = DueEntry::of_values("PERSON", vec![x]).unwrap();
    let _left = Reservation::make(ended, "1", &[entry]).await.unwrap();
    let (requests, written) = cost(&store, people.insert(&person("2", "x"))).await;
    written.unwrap();
    assert_eq!(requests, 9);
    let settled = people.settle(Person::partition("1")).grace(Duration::ZERO).await.all().unwrap();
    assert_eq!(settled.settled, 1, "an intent is in the place of the ticket");
    assert_eq!(scan(&*store, "people").await, ["2 PERSON", "UNQ:name:x UNQ"]);
}

#[tokio::test(start_paused = true)]
async fn a_violation_takes_5_requests_and_names_the_holder() {
    let (store, people) = counting().await;
    people.insert(&person("1", "x")).await.unwrap();
    let (requests, refused) = cost(&store, people.insert(&person("2", "x"))).await;
    assert_eq!(requests, 5);
    let Err(Error::UniqueViolation { unique, key, holder, rejection }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!((unique, &*key), ("name", "UNQ:name:x"));
    assert_eq!(rejection.entity, "Person");
    let holder = holder.unwrap();
    assert_eq!(
        (&*holder.table, &*holder.partition_key, &*holder.row_key),
        ("people", "1", "PERSON")
    );
    assert!(rejection.to_string().contains("PERSON"), "{rejection}");
}
