//! Whole scans of a fake service: no row is lost or repeated, within bounds.

mod bad_input;
mod by_workers;
#[cfg(feature = "embedded")]
mod checkpoints;
pub(super) mod coverage;
mod limits;
#[cfg(feature = "embedded")]
mod ordered;
mod prefix_scan;
mod requests;
mod skipping;
mod stack;

use super::{Scan, Splitter};
use crate::entity::DynamicEntity;
use crate::model::{TableName, order};
use crate::query::ScanPermit;
use crate::tables::Tables;
use crate::testing::{FakeService, KeySet, ServiceSettings};
use std::pin::{Pin, pin};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use tokio::runtime::Builder;

/// No scan of these tests comes near these limits. So a scan that does not end fails soon.
const MOST_REQUESTS: u64 = 10_000;
const MOST_VIRTUAL_TIME: Duration = Duration::from_hours(24);
const MOST_REAL_TIME: Duration = Duration::from_secs(100);

type Key = (String, String);

/// A service of these rows: pages of that size, requests that take one to five milliseconds.
fn service(keys: impl IntoIterator<Item = Key>, page_rows: usize) -> FakeService {
    let latency = (Duration::from_millis(1), Duration::from_millis(5));
    let settings = ServiceSettings { page_rows, latency, recorded: true, ..Default::default() };
    fake(KeySet::new(keys), settings)
}

fn fake(keys: KeySet, settings: ServiceSettings) -> FakeService {
    FakeService::new(keys, ServiceSettings { most_requests: Some(MOST_REQUESTS), ..settings })
}

fn scan(service: &FakeService) -> Scan<DynamicEntity> {
    let table = TableName::new("things").unwrap();
    Tables::new(service.clone()).scan(table, ScanPermit::because("test")).seed(1)
}

fn key(row: &DynamicEntity) -> Key {
    (row.partition_key.clone(), row.row_key.clone())
}

fn keys(rows: &[DynamicEntity]) -> Vec<Key> {
    rows.iter().map(key).collect()
}

fn all(service: &FakeService) -> Vec<Key> {
    service.keys().iter().map(|(pk, rk)| (pk.into_owned(), rk.into_owned())).collect()
}

fn sorted(mut keys: Vec<Key>) -> Vec<Key> {
    keys.sort_by(|left, right| {
        order::compare(&left.0, &right.0).then_with(|| order::compare(&left.1, &right.1))
    });
    keys
}

/// Partitions named with a prefix, and their rows, as in `heat1`/`bib1`.
fn grid(prefix: &str, partitions: usize, rows: usize) -> Vec<Key> {
    let name = |p| format!("{prefix}{p}");
    let partition = |p| (1..=rows).map(move |r| (name(p), format!("bib{r}")));
    (1..=partitions).flat_map(partition).collect()
}

/// Runs on a clock that passes only while all wait.
pub(super) fn run<F: Future>(future: F) -> F::Output {
    let future = async {
        let ended = tokio::time::timeout(MOST_VIRTUAL_TIME, future).await;
        ended.expect("the scan came to no end")
    };
    run_on(Builder::new_current_thread().start_paused(true), future)
}

/// Runs a test. Ends the process if the test does not end, for example because a worker waits
/// forever.
pub(super) fn run_on<F: Future>(runtime: &mut Builder, future: F) -> F::Output {
    let (_ended, ends) = mpsc::channel::<()>();
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    std::thread::spawn(move || {
        if ends.recv_timeout(MOST_REAL_TIME) == Err(RecvTimeoutError::Timeout) {
            eprintln!("{test}: the scan came to no end");
            std::process::abort();
        }
    });
    // `block_on` is built for each type of output, not for each future.
    let future: Pin<&mut dyn Future<Output = F::Output>> = pin!(future);
    runtime.enable_time().build().unwrap().block_on(future)
}

fn splitters() -> [Splitter; 4] {
    let keys = ["b", "m", "~"].map(str::to_owned);
    [Splitter::Adaptive, Splitter::Prefix, Splitter::Keys(keys.to_vec()), Splitter::Serial]
}
