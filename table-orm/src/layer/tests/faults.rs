//! The behaviour of the store that fails on purpose.

use super::bench::{Bench, Outcome, insert, paused};
use super::table;
use crate::embedded::EmbeddedStore;
use crate::layer::{Faults, Layer, LayerError};
use crate::model::Metadata;
use crate::store::{ErrorCode, Store};
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
