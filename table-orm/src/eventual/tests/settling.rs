//! Settling, one case at a time.

use super::observer::Observer;
use super::world::{Change, HOME, KIND, State, Thing, client, create, read, table};
use crate::embedded::EmbeddedStore;
use crate::error::Error;
use crate::eventual::{
    DueEntry, EventualKey, EventualType, Intent, Pending, SettleError, SettleReport, Settled,
    Settling, Sweep, settle,
};
use crate::layer::Faults;
use crate::model::MAX_STRING_UNITS;
use crate::plan::TableClient;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

async fn world() -> (Arc<Observer<Thing>>, TableClient) {
    let memory = Arc::new(EmbeddedStore::in_memory().unwrap());
    create(&*memory).await;
    let observer = Observer::<Thing>::new(memory);
    let client = client(observer.clone(), 1);
    (observer, client)
}

/// An entity with that many rows in one partition.
fn rows(count: usize, stamp: &str) -> State {
    let keys: Vec<_> = (0..count).map(|row| format!("copies p1 FULL:{row:04}:0")).collect();
    State::new(&keys.join(";"), stamp)
}

async fn write(client: &TableClient, new: Option<State>) -> Pending {
    let old = read(client, "E:0").await.unwrap();
    let change = Change::of(client, &[("E:0", old, new)]).unwrap();
    change.send(client).await.unwrap().unwrap()
}

#[tokio::test]
async fn more_rows_than_a_transaction_takes_are_written_in_several() {
    let (observer, client) = world().await;
    let pending = write(&client, Some(rows(250, "1"))).await;
    settle(&client, KIND, &pending).await.unwrap();
    assert_eq!(observer.snapshot().await.eventual.len(), 250);
    let pending = write(&client, None).await;
    settle(&client, KIND, &pending).await.unwrap();
    let end = observer.snapshot().await;
    assert_eq!((end.eventual.len(), end.tickets.len(), end.intents.len()), (0, 0, 0));
    assert_eq!(observer.violation(), None);
}

#[tokio::test]
async fn rows_that_are_too_large_together_are_written_in_several_transactions() {
    let (observer, client) = world().await;
    let stamp = "x".repeat(MAX_STRING_UNITS);
    let pending = write(&client, Some(rows(99, &stamp))).await;
    settle(&client, KIND, &pending).await.unwrap();
    assert_eq!(observer.snapshot().await.eventual.len(), 99);
    assert_eq!(observer.violation(), None);
}

#[tokio::test]
async fn an_intent_reads_back_as_it_was_written_however_many_keys_it_has() {
    let (observer, client) = world().await;
    let pending = write(&client, Some(rows(900, "1"))).await;
    let stored = observer.snapshot().await.intents.into_values().next().unwrap();
    assert_eq!((&stored.intent, &stored.etag), (&pending.intent, &pending.etag));
}

#[tokio::test]
async fn an_intent_over_a_mebibyte_is_refused_before_it_is_sent() {
    let (_, client) = world().await;
    let key = |row: usize| {
        let (partition_key, row_key) = ("p".repeat(500), format!("{row:0500}"));
        ("by_key".to_owned(), EventualKey { table: table("copies"), partition_key, row_key })
    };
    let intent = |rows| {
        let due = DueEntry {
            canonical: "E:0".to_owned(),
            keys: (0..rows).map(key).collect(),
            values: Vec::new(),
        };
        Intent::new(&client.connection, HOME, vec![due])
    };
    assert!(intent(500).insert(&client, KIND).is_ok());
    let refused = intent(520).insert(&client, KIND).unwrap_err();
    assert!(matches!(refused, Error::TooLarge(_)), "{refused}");
    assert!(refused.to_string().contains("520 rows in other partitions"), "{refused}");
}

#[tokio::test]
async fn an_intent_of_a_newer_version_is_left_and_reported() {
    let (observer, client) = world().await;
    let newer = write(&client, Some(State::new("copies p1 FULL:a:0", "1"))).await;
    let older = EventualType { table: |_, _, _| None, ..KIND };
    let sweep = |kind| Sweep { home: client.clone(), kind, grace: Duration::ZERO };
    let mut report = SettleReport::default();
    sweep(older).partition(HOME, &mut report).await.unwrap();
    let failure = report.failures.remove(0);
    assert!(matches!(failure.error, SettleError::Unknown { .. }), "{failure}");
    assert!(failure.to_string().contains("the row \"by_key\" of `Thing`"), "{failure}");
    assert_eq!(failure.row_key, newer.intent.row_key);
    // One of another type is not this type's.
    let mut other = SettleReport::default();
    sweep(EventualType { entity: "Other", ..KIND }).partition(HOME, &mut other).await.unwrap();
    assert_eq!((other.progress.settled, other.failures.len()), (0, 0));
    assert_eq!(observer.snapshot().await.intents.len(), 1);
    sweep(KIND).partition(HOME, &mut report).await.unwrap();
    assert_eq!(report.progress.settled, 1);
    assert_eq!(observer.snapshot().await.eventual.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_fails_in_a_live_process_is_tried_again_in_the_background() {
    for (offline, settles) in [(60, true), (3600, false)] {
        let memory = Arc::new(EmbeddedStore::in_memory().unwrap());
        create(&*memory).await;
        let network = Faults::seeded(1).store(memory).unwrap();
        let client = client(Arc::new(network.clone()), 1);
        let pending = write(&client, Some(State::new("copies p1 FULL:a:0", "1"))).await;
        network.take_offline(&table("copies"), "p1", Duration::from_secs(offline));
        let settled = Settled::default();
        let settling = Settling { report: Some(settled.clone()), ..Settling::default() };
        settling.settle(&client, vec![(KIND, vec![pending])]).await;
        assert!(!settled.get());
        // The intent is left to a sweep after some minutes.
        sleep(Duration::from_secs(1800)).await;
        assert_eq!(settled.get(), settles);
    }
}

#[tokio::test]
async fn an_absent_table_of_eventual_rows_that_is_not_there_leaves_the_intent_and_is_named() {
    let (observer, client) = world().await;
    let pending = write(&client, Some(State::new("nowhere p1 FULL:a:0", "1"))).await;
    let failed = settle(&client, KIND, &pending).await.unwrap_err();
    let SettleError::Row { entity: "Thing", row, table, source, .. } = &failed else {
        panic!("{failed}")
    };
    assert_eq!((&**row, table.as_str()), ("by_key", "nowhere"));
    assert!(matches!(**source, Error::TableNotFound(_)), "{failed}");
    assert!(failed.is_transient(), "somebody may create it");
    assert_eq!(observer.snapshot().await.intents.len(), 1);
}
