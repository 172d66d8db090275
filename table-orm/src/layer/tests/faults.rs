//! The behaviour of the store that fails on purpose.

use super::bench::{Bench, Outcome, insert, paused};
use super::table;
use crate::embedded::EmbeddedStore;
use crate::layer::{Fault, Faults, Layer, LayerError};
use crate::model::Metadata;
use crate::query::{KeyRange, RowQuery};
use crate::store::{Action, Batch, ErrorCode, IfMatch, Store, StoreRequest};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, advance};

async fn flaky(faults: Faults) -> crate::layer::FaultStore {
    let embedded = EmbeddedStore::in_memory().unwrap();
    embedded.create_table(&table()).await.unwrap();
    faults.store(Arc::new(embedded)).unwrap()
}

#[tokio::test(start_paused = true)]
async fn errors_come_before_or_after_the_effect() {
    let cases = [
        (Faults::seeded(1).throttled(1.0), 503, false),
        (Faults::seeded(1).errors_before(1.0), 500, false),
        (Faults::seeded(1).errors_after(1.0), 500, true),
        (Faults::seeded(1).lost_requests(1.0), 0, false),
        (Faults::seeded(1).lost_replies(1.0), 0, true),
    ];
    for (faults, status, takes_effect) in cases {
        let store = flaky(faults.clone()).await;
        let error = store.write(&table(), "p", insert("r", 1)).await.unwrap_err();
        assert_eq!((error.status, store.injected()), (status, 1));
        store.disable();
        let row = store.get(&table(), "p", "r", None, Metadata::None).await.unwrap();
        assert_eq!(row.is_some(), takes_effect, "{faults:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_write_takes_effect_after_its_caller_gave_up() {
    let store = flaky(Faults::seeded(1).late(1.0)).await;
    assert_eq!(store.write(&table(), "p", insert("r", 1)).await.unwrap_err().status, 0);
    store.disable();
    let there = async || store.get(&table(), "p", "r", None, Metadata::None).await.unwrap();
    assert!(there().await.is_none());
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(there().await.is_some());
}

#[tokio::test(start_paused = true)]
async fn slow_replies_take_time_within_their_bound() {
    let store = flaky(Faults::seeded(1).slow(1.0).slowest(Duration::from_secs(5))).await;
    let start = Instant::now();
    store.write(&table(), "p", insert("r", 1)).await.unwrap();
    assert!((1..=10).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_partition_is_offline_for_its_time_and_others_are_not() {
    let store = flaky(Faults::seeded(1)).await;
    store.take_offline(&table(), "p", Duration::from_secs(5));
    for _ in 0..5 {
        let error = store.write(&table(), "p", insert("r", 1)).await.unwrap_err();
        assert!(matches!(error.status, 500 | 503));
        store.get(&table(), "q", "r", None, Metadata::None).await.unwrap();
        advance(Duration::from_secs(1)).await;
    }
    store.write(&table(), "p", insert("r", 1)).await.unwrap();
    store.take_offline(&table(), "p", Duration::MAX);
    advance(Duration::from_secs(24 * 3600)).await;
    store.write(&table(), "p", insert("s", 1)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_deleted_table_is_being_deleted_for_a_while() {
    let store = flaky(Faults::seeded(1)).await;
    store.delete_table(&table()).await.unwrap();
    let error = store.create_table(&table()).await.unwrap_err();
    assert_eq!((error.code, error.status), (ErrorCode::TABLE_BEING_DELETED, 409));
    let error = store.write(&table(), "p", insert("r", 1)).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::TABLE_BEING_DELETED);
    advance(Duration::from_secs(40)).await;
    store.create_table(&table()).await.unwrap();
}

#[test]
fn empty_and_short_pages_are_not_the_last() {
    paused(async {
        let bench = Bench::new(Faults::seeded(3).empty_pages(0.5).short_pages(0.9), 1).await;
        for row in 0..30 {
            assert!(matches!(
                bench.write(vec![insert(&format!("R{row:02}"), row)]).await,
                Outcome::Done(_)
            ));
        }
        let rows = bench.rows("R").await.unwrap();
        assert_eq!(rows.len(), 30);
    });
}

#[tokio::test(start_paused = true)]
async fn a_cut_page_takes_five_seconds_and_more_rows_follow() {
    let store = flaky(Faults::seeded(5).cut_pages(1.0)).await;
    for row in 0..30 {
        store.write(&table(), "p", insert(&format!("R{row:02}"), row)).await.unwrap();
    }
    let mut query = RowQuery::new(table(), KeyRange::ALL);
    let (mut pages, mut rows) = (0, 0);
    loop {
        let start = Instant::now();
        let page = store.query(&query).await.unwrap();
        assert_eq!(start.elapsed(), Duration::from_secs(5));
        pages += 1;
        rows += std::str::from_utf8(&page.body).unwrap().matches("RowKey").count();
        query.continuation = page.continuation;
        if query.continuation.is_none() {
            break;
        }
    }
    assert!(rows == 30 && pages > 2, "{rows} rows on {pages} pages");
}

#[test]
fn invalid_settings_are_rejected() {
    let store = || -> Arc<dyn Store> { Arc::new(EmbeddedStore::in_memory().unwrap()) };
    for faults in [
        Faults::seeded(1).throttled(1.1),
        Faults::seeded(1).slow(-0.1),
        Faults::seeded(1).offline(f64::NAN),
        Faults::seeded(1).throttled(0.6).lost_replies(0.6),
    ] {
        let error = faults.clone().around(store()).map(drop);
        assert!(matches!(error, Err(LayerError::Probability { .. })), "{faults:?}");
    }
    for faults in [
        Faults::seeded(1).slowest(Duration::ZERO),
        Faults::seeded(1).offline_time(Duration::MAX),
        Faults::seeded(1).deletion_time(Duration::ZERO),
    ] {
        let error = faults.clone().around(store()).map(drop);
        assert!(matches!(error, Err(LayerError::Time { .. })), "{faults:?}");
    }
    assert!(Faults::mixed(1).around(store()).is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_script_gives_the_request_of_that_number_its_fault() {
    let conflict = Fault::Rejected(ErrorCode::UPDATE_CONDITION_NOT_SATISFIED);
    let faults = Faults::seeded(1)
        .on("commit", 2, conflict.clone())
        .on("insert", 1, Fault::LostReply)
        .on("insert", 3, Fault::LostRequest)
        .on("insert", 4, Fault::ErrorAfter)
        .on("get", 1, Fault::Rejected(ErrorCode::new("Odd")))
        .on("insert", 5, Fault::Late);
    let store = flaky(faults).await;
    let (table, none) = (table(), Metadata::None);
    let inserted = async |row: &str| {
        let written = store.write(&table, "p", insert(row, 1)).await;
        written.map(drop).map_err(|error| error.status)
    };
    assert_eq!(inserted("a").await, Err(0));
    // While faults are disabled, requests do not count.
    store.disable();
    inserted("x").await.unwrap();
    store.enable();
    assert_eq!(inserted("b").await, Ok(()));
    assert_eq!(inserted("c").await, Err(0));
    assert_eq!(inserted("d").await, Err(500));
    assert_eq!(inserted("e").await, Err(0));
    assert_eq!(inserted("f").await, Ok(()));
    let commit = async |rows: [&str; 2]| {
        let operations = rows.map(|row| insert(row, 1)).to_vec();
        store.commit(&table, Batch { partition_key: "p".into(), operations }).await
    };
    commit(["g", "h"]).await.unwrap();
    let error = commit(["i", "j"]).await.unwrap_err();
    assert_eq!((error.status, error.operation), (412, Some(0)));
    commit(["k", "l"]).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let get = async |row| store.get(&table, "p", row, None, none).await;
    assert_eq!(get("a").await.unwrap_err().code.as_str(), "Odd");
    let mut there = Vec::new();
    for row in ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"] {
        there.extend(get(row).await.unwrap().map(|_| row));
    }
    assert_eq!(there.concat(), "abdefghkl");
    assert_eq!(store.injected(), 6);
}

#[tokio::test]
async fn a_script_that_can_never_apply_is_rejected() {
    let built = |faults: Faults| {
        let store: Arc<dyn Store> = Arc::new(EmbeddedStore::in_memory().unwrap());
        faults.around(store).map(drop)
    };
    let unknown = built(Faults::seeded(1).on("upsert", 1, Fault::LostReply));
    assert_eq!(unknown, Err(LayerError::FaultOperation("upsert")));
    let zeroth = built(Faults::seeded(1).on("commit", 0, Fault::LostReply));
    assert!(matches!(zeroth, Err(LayerError::Number { given: 0, .. })));
    // Every name that a request has is known.
    let (name, batch) = (table(), [insert("r", 1)]);
    let writes = [
        Action::Insert("{}".into()),
        Action::InsertOrReplace("{}".into()),
        Action::InsertOrMerge("{}".into()),
        Action::Replace("{}".into(), IfMatch::Any),
        Action::Merge("{}".into(), IfMatch::Any),
        Action::Delete(IfMatch::Any),
    ];
    let query = RowQuery::new(table(), KeyRange::ALL);
    let others = [
        StoreRequest::create_table(&name),
        StoreRequest::delete_table(&name),
        StoreRequest::list_tables(),
        StoreRequest::get(&name, "p"),
        StoreRequest::query(&query),
        StoreRequest::commit(&name, "p", &batch),
    ];
    let others = others.map(|request| request.operation);
    for operation in writes.map(|action| action.name()).into_iter().chain(others) {
        assert_eq!(built(Faults::seeded(1).on(operation, 1, Fault::Late)), Ok(()));
    }
}
