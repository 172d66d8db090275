//! Random workloads: a store with faults, run for many seeds; a seed that fails can be replayed.

use super::table;
use crate::dose::dose;
use crate::embedded::EmbeddedStore;
use crate::layer::{FaultStore, Faults, Layer, Retry, RetryStrategy};
use crate::model::{ETag, Metadata};
use crate::query::{KeyRange, RowQuery, Span};
use crate::store::{Action, Batch, ErrorCode, IfMatch, Operation, Store, StoreError, StoredRow};
use crate::sync::Random;
use serde_json::Value;
use std::future::Future;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Runs a workload for each of these seeds, or a tenth of them in a short dose, under a paused clock.
/// `FAULT_SEED=17` runs one.
pub(super) fn for_seeds<F: Future<Output = ()>>(seeds: Range<u64>, workload: impl Fn(u64) -> F) {
    let seeds = seeds.start..seeds.end.div_ceil(dose(10, 1));
    let one = std::env::var("FAULT_SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
    for seed in one.map_or(seeds, |seed| seed..seed + 1) {
        let _replay = Replay(seed);
        paused(workload(seed));
    }
}

/// Runs a future on a runtime of its own, under a paused clock.
pub(super) fn paused<T>(future: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().start_paused(true).build().unwrap().block_on(future)
}

/// Prints how to replay a seed that failed.
struct Replay(u64);

impl Drop for Replay {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("to replay, run this test alone with FAULT_SEED={}", self.0);
        }
    }
}

/// A table in memory, with faults above it and retries above those.
#[derive(Debug, Clone)]
pub(super) struct Bench {
    pub(super) store: Arc<dyn Store>,
    pub(super) flaky: FaultStore,
}

/// What a write returned to its caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It took effect, and the row has this version.
    Done(Option<ETag>),
    /// It had no effect.
    Rejected(ErrorCode),
    /// It may have taken effect.
    Ambiguous,
}

impl Bench {
    pub(super) async fn new(faults: Faults, seed: u64) -> Self {
        let embedded = EmbeddedStore::in_memory().unwrap();
        embedded.create_table(&table()).await.unwrap();
        let flaky = faults.store(Arc::new(embedded)).unwrap();
        // Every third seed retries only briefly, so that calls end in the middle.
        let retry = match seed % 3 {
            0 => Retry::new(RetryStrategy::Fixed { retries: 2, wait: Duration::from_millis(300) })
                .attempt_timeout(Duration::from_millis(1500)),
            _ => Retry::interactive().attempt_timeout(Duration::from_secs(3)),
        };
        let retry = retry.write_id("WriteId").seed(seed);
        let store = retry.around(Arc::new(flaky.clone())).unwrap();
        Self { store, flaky }
    }

    pub(super) async fn get(&self, row_key: &str) -> Result<Option<StoredRow>, StoreError> {
        self.store.get(&table(), "p", row_key, None, Metadata::None).await
    }

    /// Writes one row by itself, several as a transaction. The version is that of the first row.
    pub(super) async fn write(&self, mut operations: Vec<Operation>) -> Outcome {
        let written = if operations.len() == 1 {
            self.store.write(&table(), "p", operations.remove(0)).await
        } else {
            let transaction = Batch { partition_key: "p".into(), operations };
            let etags = self.store.commit(&table(), transaction).await;
            etags.map(|etags| etags[0].clone())
        };
        match written {
            Ok(etag) => Outcome::Done(etag),
            Err(error) if error.code == ErrorCode::AMBIGUOUS_WRITE => {
                assert!(error.ambiguity().is_some());
                Outcome::Ambiguous
            }
            Err(error) => Outcome::Rejected(error.code),
        }
    }

    /// The RowKeys and values of all rows with this prefix.
    pub(super) async fn rows(&self, prefix: &str) -> Result<Vec<(String, i64)>, StoreError> {
        let keys = KeyRange { partition: Span::Exact("p".into()), row: Span::prefix(prefix) };
        let mut query = RowQuery::new(table(), keys);
        let mut found = Vec::new();
        loop {
            let page = self.store.query(&query).await?;
            let body: Value = serde_json::from_slice(&page.body).unwrap();
            for row in body["value"].as_array().unwrap() {
                found
                    .push((row["RowKey"].as_str().unwrap().to_owned(), row["V"].as_i64().unwrap()));
            }
            query.continuation = page.continuation;
            if query.continuation.is_none() {
                return Ok(found);
            }
        }
    }
}

/// The row's value.
pub(super) fn value(row: &StoredRow) -> i64 {
    serde_json::from_slice::<Value>(&row.body).unwrap()["V"].as_i64().unwrap()
}

pub(super) fn insert(row_key: &str, value: i64) -> Operation {
    operation(row_key, Action::Insert(body(value)))
}

pub(super) fn replace(row_key: &str, value: i64, etag: ETag) -> Operation {
    operation(row_key, Action::Replace(body(value), IfMatch::ETag(etag)))
}

pub(super) fn merge(row_key: &str, value: i64, etag: ETag) -> Operation {
    operation(row_key, Action::Merge(body(value), IfMatch::ETag(etag)))
}

pub(super) fn operation(row_key: &str, action: Action) -> Operation {
    Operation { row_key: row_key.to_owned(), action }
}

fn body(value: i64) -> bytes::Bytes {
    format!("{{\"V\":{value}}}").into()
}

/// A random number below `bound`.
pub(super) fn below(random: &Random, bound: u64) -> i64 {
    i64::try_from(random.below(bound)).unwrap()
}
