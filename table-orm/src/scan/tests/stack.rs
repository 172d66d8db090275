//! Scans through the layers of an account: they pace themselves as without layers.

use super::*;
use crate::layer::{ConcurrencyLimit, RateLimit};
use crate::scan::ScanReport;
use crate::store::Store;
use crate::tables::TablesBuilder;
use std::sync::Arc;

fn throttling() -> ServiceSettings {
    let latency = (Duration::from_millis(1), Duration::from_millis(5));
    ServiceSettings { latency, ..Default::default() }.with_targets()
}

fn count(build: impl FnOnce(TablesBuilder) -> TablesBuilder, store: Arc<dyn Store>) -> ScanReport {
    let tables = build(Tables::builder(store)).build().unwrap();
    let table = TableName::new("things").unwrap();
    run(tables.scan(table, ScanPermit::because("test")).seed(1).count()).unwrap()
}

#[test]
fn a_scan_meets_throttling_itself_behind_retries_rates_and_limits() {
    let service = || Arc::new(fake(KeySet::new(grid("race", 200, 500)), throttling()));
    let bare = count(TablesBuilder::bare, service());
    let tight = |builder: TablesBuilder| {
        builder.limit(ConcurrencyLimit::in_flight(1)).rate(RateLimit::default().per_account(10))
    };
    let stacked = count(tight, service());
    assert!(bare.throttled > 0 && stacked.throttled > 0, "{bare:?} {stacked:?}");
    assert_eq!(stacked, bare, "not one request waits in a layer");
}

#[cfg(feature = "embedded")]
#[test]
fn other_faults_of_a_scan_are_retried() {
    use crate::embedded::EmbeddedStore;
    use crate::layer::{Faults, Retry, RetryStrategy};
    run(async {
        let store: Arc<dyn Store> = Arc::new(EmbeddedStore::in_memory().unwrap());
        let things = TableName::new("things").unwrap();
        let below = Tables::new(Arc::clone(&store));
        below.create(&things).await.unwrap();
        let rows =
            (0..2000).map(|row| DynamicEntity::new(format!("p{}", row % 9), row.to_string()));
        below.table(things.clone()).insert_or_replace_many(rows).await.all().unwrap();
        for seed in 0..20 {
            let faults = Faults::seeded(seed).errors_before(0.1).lost_replies(0.1).throttled(0.1);
            let flaky = faults.short_pages(0.5).store(Arc::clone(&store)).unwrap();
            // At these rates the five retries of the default are too few once in 16,000 requests.
            let retry =
                Retry::new(RetryStrategy::Fixed { retries: 20, wait: Duration::from_secs(1) });
            let tables = Tables::builder(flaky.clone()).retry(retry).build().unwrap();
            let scan = tables.scan(things.clone(), ScanPermit::because("test"));
            let report = scan.page_size(50).count().await.unwrap();
            assert_eq!(report.rows, 2000, "seed {seed}");
            assert!(flaky.injected() > 0);
        }
    });
}
