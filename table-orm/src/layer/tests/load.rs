//! The requests that the limits let through.

use super::bench::insert;
use super::script::{Answer, Script, failed};
use super::table;
use crate::embedded::EmbeddedStore;
use crate::layer::{ConcurrencyLimit, Layer, LayerError, RateLimit};
use crate::model::Metadata;
use crate::store::{Batch, ErrorCode, Store, StoreError};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout};

const SECOND: Duration = Duration::from_secs(1);

fn slow(requests: usize) -> Arc<Script> {
    Script::new((0..requests).map(|_| Answer::After(SECOND, Box::new(Answer::Done))))
}

fn around(layer: impl Layer, script: &Arc<Script>) -> Arc<dyn Store> {
    layer.around(Arc::clone(script) as Arc<dyn Store>).unwrap()
}

async fn write_all(store: &Arc<dyn Store>, partitions: &[&'static str]) {
    let writes: Vec<_> = partitions
        .iter()
        .map(|&partition| {
            let store = Arc::clone(store);
            tokio::spawn(async move { store.write(&table(), partition, insert("r", 1)).await })
        })
        .collect();
    for write in writes {
        write.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn no_more_requests_than_the_limit_run_at_once() {
    let script = slow(6);
    write_all(&around(ConcurrencyLimit::in_flight(2), &script), &["p"; 6]).await;
    assert_eq!(script.times(), [0, 0, 1000, 1000, 2000, 2000]);
    let script = slow(65);
    write_all(&around(ConcurrencyLimit::default(), &script), &["p"; 65]).await;
    assert_eq!(script.times().iter().filter(|&&time| time == 0).count(), 64);
}

#[tokio::test(start_paused = true)]
async fn a_slow_partition_leaves_room_for_others() {
    let script = slow(5);
    let limit = ConcurrencyLimit::in_flight(2).per_partition(1);
    write_all(&around(limit, &script), &["slow", "slow", "slow", "other", "other"]).await;
    assert_eq!(script.times(), [0, 0, 1000, 1000, 2000]);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_request_releases_its_permit() {
    let script = slow(2);
    let store = around(ConcurrencyLimit::in_flight(1).per_partition(1), &script);
    for _ in 0..3 {
        let table = table();
        let write = store.write(&table, "p", insert("r", 1));
        assert!(timeout(SECOND / 2, write).await.is_err() || script.times().len() == 3);
    }
    assert_eq!(script.times(), [0, 500, 1000]);
}

#[tokio::test(start_paused = true)]
async fn entities_pass_at_the_rate_of_their_partition() {
    let script = Script::new([]);
    let store = around(RateLimit::default().per_partition(100), &script);
    let start = Instant::now();
    for _ in 0..5 {
        let operations = (0..100).map(|row| insert(&row.to_string(), 1)).collect();
        let transaction = Batch { partition_key: "p".into(), operations };
        store.commit(&table(), transaction).await.unwrap();
    }
    // 500 entities at 100 a second: the first passes at once, each next a second later,
    // less the burst.
    assert_eq!(start.elapsed().as_millis().div_ceil(100), 39);
    store.write(&table(), "other", insert("r", 1)).await.unwrap();
    assert_eq!(start.elapsed().as_millis().div_ceil(100), 39, "others are not held back");
}

#[tokio::test(start_paused = true)]
async fn a_throttled_partition_is_slowed_down() {
    let script = Script::new([failed(ErrorCode::SERVER_BUSY)]);
    let store = around(RateLimit::default().per_partition(10), &script);
    assert!(store.write(&table(), "p", insert("r", 1)).await.is_err());
    let start = Instant::now();
    for _ in 0..10 {
        store.write(&table(), "p", insert("r", 1)).await.unwrap();
    }
    let seconds = start.elapsed().as_secs_f64();
    assert!((1.6..2.0).contains(&seconds), "ten at five a second: {seconds}");
}

#[tokio::test(start_paused = true)]
async fn rows_that_a_query_looks_at_count() {
    let embedded = EmbeddedStore::in_memory().unwrap();
    embedded.create_table(&table()).await.unwrap();
    for row in 0..200 {
        embedded.write(&table(), "p", insert(&format!("{row:03}"), 1)).await.unwrap();
    }
    let rate = RateLimit::default().per_partition(100);
    let store = rate.around(Arc::new(embedded)).unwrap();
    let keys = crate::query::KeyRange {
        partition: crate::query::Span::Exact("p".into()),
        row: crate::query::Span::All,
    };
    let query = crate::query::RowQuery::new(table(), keys);
    let start = Instant::now();
    store.query(&query).await.unwrap();
    store.get(&table(), "p", "000", None, Metadata::None).await.unwrap();
    assert_eq!(start.elapsed().as_millis().div_ceil(100), 19);
}

#[tokio::test(start_paused = true)]
async fn no_retry_after_holds_back_other_requests_for_more_than_half_a_minute() {
    let busy = StoreError {
        retry_after: Some(Duration::MAX),
        ..StoreError::new(ErrorCode::SERVER_BUSY, "")
    };
    let script = Script::new([Answer::Failed(busy)]);
    let store = around(RateLimit::default(), &script);
    store.write(&table(), "p", insert("r", 1)).await.unwrap_err();
    store.write(&table(), "p", insert("r", 1)).await.unwrap();
    assert!((30_000..31_000).contains(&script.times()[1]), "{:?}", script.times());
}

#[test]
fn invalid_settings_are_rejected() {
    let script = || -> Arc<dyn Store> { super::bench::paused(async { Script::new([]) }) };
    for limit in [
        ConcurrencyLimit::in_flight(0),
        ConcurrencyLimit::in_flight(usize::MAX),
        ConcurrencyLimit::default().per_partition(0),
        ConcurrencyLimit::default().per_partition(10_001),
    ] {
        let error = limit.around(script()).map(drop);
        assert!(matches!(error, Err(LayerError::Number { .. })), "{limit:?}");
    }
    for rate in [
        RateLimit::default().per_account(0),
        RateLimit::default().per_account(u32::MAX),
        RateLimit::default().per_partition(0),
    ] {
        let error = rate.clone().around(script()).map(drop);
        assert!(matches!(error, Err(LayerError::Number { .. })), "{rate:?}");
    }
    super::bench::paused(async { assert!(RateLimit::older().around(Script::new([])).is_ok()) });
}

#[tokio::test(start_paused = true)]
async fn a_request_dropped_while_it_waits_takes_nothing_from_others() {
    let script = Script::new((0..4).map(|_| Answer::Done));
    let store = around(RateLimit::default().per_partition(1), &script);
    let table = table();
    let write = || store.write(&table, "p", insert("r", 1));
    write().await.unwrap();
    // It would be sent after a second, but is dropped before.
    for _ in 0..50 {
        assert!(timeout(Duration::from_millis(1), write()).await.is_err());
    }
    write().await.unwrap();
    assert!(script.times()[1] <= 1000, "{:?}", script.times());
}
