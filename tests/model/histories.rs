//! Histories of single rows under faults are linearizable, in virtual time.

use std::sync::Arc;
use std::time::Duration;
use table_orm::TableName;
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{Faults, Layer as _, Retry, RetryStrategy};
use table_orm::store::Store;

async fn run(seed: u64) -> usize {
    let table = TableName::new("Histories").unwrap();
    let embedded = EmbeddedStore::in_memory().unwrap();
    embedded.create_table(&table).await.unwrap();
    let flaky = Faults::mixed(seed).late(0.05).store(Arc::new(embedded)).unwrap();
    // Every third seed retries only briefly, so that calls end in the middle.
    let retry = match seed % 3 {
        0 => Retry::new(RetryStrategy::Fixed { retries: 2, wait: Duration::from_millis(300) })
            .attempt_timeout(Duration::from_millis(1500)),
        _ => Retry::interactive().attempt_timeout(Duration::from_secs(3)),
    };
    let store = retry.write_id("WriteId").seed(seed).around(Arc::new(flaky)).unwrap();
    support::history::check(store, table, seed, 7).await
}

#[test]
fn compare_and_set_is_linearizable_under_faults() {
    let given = std::env::var("FAULT_SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
    let mut operations = 0;
    for seed in given.map_or(0..support::dose(150, 1500), |seed| seed..seed + 1) {
        operations += support::on_virtual_time(run(seed));
    }
    assert!(operations > 0);
}
