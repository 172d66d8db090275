//! What requests count, and what is reported of partitions.

use super::bench::insert;
use super::script::Script;
use super::table;
use crate::layer::{HotPartition, Layer, RateLimit};
use crate::model::{Continuation, Metadata};
use crate::query::{Comparison, Filter, KeyRange, RowQuery, Span};
use crate::store::{Action, Middleware, Operation, Page, Store, StoreError};
use crate::testing::{FakeService, KeySet, ServiceSettings};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

fn around(rate: RateLimit, store: impl Store + 'static) -> Arc<dyn Store> {
    rate.around(Arc::new(store)).unwrap()
}

fn partition(key: &str) -> RowQuery {
    let keys = KeyRange { partition: Span::Exact(key.into()), row: Span::All };
    RowQuery::new(table(), keys)
}

#[tokio::test(start_paused = true)]
async fn a_row_counts_at_least_one_for_each_kib() {
    let store = around(RateLimit::default().per_partition(10), Script::new([]));
    let start = Instant::now();
    let body = format!("{{\"V\":\"{}\"}}", "x".repeat(20 * 1024)).into();
    let large = Operation { row_key: "r".into(), action: Action::Insert(body) };
    store.write(&table(), "p", large).await.unwrap();
    store.write(&table(), "p", insert("r", 1)).await.unwrap();
    // 21 at 10 a second, less the burst.
    assert_eq!(start.elapsed().as_millis().div_ceil(100), 20);
}

/// A service that returns one of the rows it looked at, and does not say how many these were.
#[derive(Debug)]
struct Silent(Arc<dyn Store>);

impl Middleware for Silent {
    fn inner(&self) -> &dyn Store {
        &*self.0
    }

    async fn query(&self, query: &RowQuery) -> Result<Page, StoreError> {
        let continuation = query.continuation.is_none().then(Continuation::default);
        let body = r#"{"value":[{"PartitionKey":"p","RowKey":"r"}]}"#;
        Ok(Page { body: body.into(), continuation, scanned: None })
    }
}

#[tokio::test(start_paused = true)]
async fn a_filtered_page_that_is_short_counts_as_a_full_one() {
    let filter = Filter::compare("V", Comparison::Equal, 7);
    let filtered = || RowQuery { filter: Some(filter.clone()), ..partition("p") };
    let full = || RowQuery { top: Some(1), ..filtered() };
    let last = || RowQuery { continuation: Some(Continuation::default()), ..filtered() };
    for (query, seconds) in [(filtered(), 10), (partition("p"), 0), (full(), 0), (last(), 0)] {
        let store = around(RateLimit::default().per_partition(100), Silent(Script::new([])));
        let start = Instant::now();
        store.query(&query).await.unwrap();
        store.get(&table(), "p", "r", None, Metadata::None).await.unwrap();
        assert_eq!(start.elapsed().as_secs_f64().ceil() as u32, seconds, "{query:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_account_begins_with_what_one_server_takes_and_reaches_its_target_in_a_minute() {
    for (warm, minute) in [(false, 380_000..430_000), (true, 1_190_000..1_220_000)] {
        let rate = if warm { RateLimit::default().warm() } else { RateLimit::default() };
        let store = around(rate.per_partition(1_000_000), Script::new([]));
        let start = Instant::now();
        let mut written = 0_u32;
        while start.elapsed() < Duration::from_secs(60) {
            let operations = (0..100).map(|row| insert(&row.to_string(), 1)).collect();
            let partition_key = written.to_string();
            let batch = crate::store::Batch { partition_key, operations };
            store.commit(&table(), batch).await.unwrap();
            written += 100;
        }
        assert!(minute.contains(&written), "{warm}: {written}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_partition_near_its_target_is_reported_once_a_minute_by_a_hash() {
    let reports: Arc<Mutex<Vec<HotPartition>>> = Arc::default();
    let keep = |reports: &Arc<Mutex<Vec<HotPartition>>>| {
        let reports = Arc::clone(reports);
        move |hot: &HotPartition| reports.lock().unwrap().push(hot.clone())
    };
    let rate = || RateLimit::default().per_partition(100).on_hot_partition(keep(&reports));
    let run = async |store: &Arc<dyn Store>, each: u64, seconds: u64| {
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(seconds) {
            store.write(&table(), "Ann", insert("r", 1)).await.unwrap();
            tokio::time::sleep(Duration::from_millis(each)).await;
        }
    };
    let store = around(rate(), Script::new([]));
    run(&store, 20, 300).await;
    assert_eq!(reports.lock().unwrap().len(), 0, "half of the target");
    run(&store, 11, 59).await;
    let hot = reports.lock().unwrap().clone();
    assert_eq!((hot.len(), hot[0].table.as_str(), hot[0].target), (1, "people", 100));
    assert!((80..100).contains(&hot[0].rate), "{hot:?}");
    assert!(hot[0].partition.len() == 16 && !hot[0].partition.contains("Ann"));
    run(&store, 11, 120).await;
    assert_eq!(reports.lock().unwrap().len(), 3, "once a minute");
    run(&around(rate().show_keys(), Script::new([])), 11, 30).await;
    assert_eq!(reports.lock().unwrap()[3].partition, "Ann");
}

#[tokio::test(start_paused = true)]
async fn the_service_throttles_no_pages_of_a_partition_that_is_read_at_its_target() {
    let keys = KeySet::new((0..30_000).map(|row| ("p".to_owned(), format!("{row:06}"))));
    let service = FakeService::new(keys, ServiceSettings::default().with_targets());
    let store = around(RateLimit::default(), service.clone());
    let mut query = RowQuery { top: Some(500), ..partition("p") };
    loop {
        let page = store.query(&query).await.unwrap();
        query.continuation = page.continuation;
        if query.continuation.is_none() {
            break;
        }
    }
    assert_eq!((service.figures().throttled, service.figures().rows), (0, 30_000));
}
