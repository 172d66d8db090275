//! A writer over a store that fails: nothing is lost, nothing is written twice.

use super::{Sample, sample};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use support::dose;
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{Faults, Retry, RetryStrategy};
use table_orm::store::Store;
use table_orm::{Error, ScanPermit, Sum, TableEntity, Tables};
use tokio::time::sleep;

/// Its partition counts it.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "telemetry", partition = "{device:05}", row = "{second:06}", sums = Counted::SUMS)]
struct Counted {
    device: u32,
    second: u32,
}

impl Counted {
    const COUNT: Sum<Self> = Sum::count("all");
    const SUMS: &'static [Sum<Self>] = &[Self::COUNT];
}

#[tokio::test(start_paused = true)]
async fn each_entity_is_written_once_or_handed_back() {
    let mut all_handed_back = 0;
    for seed in 0..dose(30, 500) {
        let store: Arc<dyn Store> = Arc::new(EmbeddedStore::in_memory().unwrap());
        let below = Tables::new(Arc::clone(&store)).repo::<Sample>();
        below.create_table().await.unwrap();
        let flaky = Faults::mixed(seed).store(store).unwrap();
        let wait = RetryStrategy::Fixed { retries: 4, wait: Duration::from_millis(300) };
        let retry = Retry::new(wait).attempt_timeout(Duration::from_millis(1500)).seed(seed);
        let tables = Tables::new(flaky.clone()).layer(retry.write_id("WriteId")).unwrap();
        let repo = tables.on_virtual_time(seed).repo::<Sample>();
        let writer = repo.writer().every(Duration::from_millis(200)).await.unwrap();
        for number in 0..600 {
            writer.send(sample(number % 7, number)).await.unwrap();
        }
        let report = writer.close().await.unwrap();
        flaky.disable();
        sleep(Duration::from_secs(60)).await;
        let rows = below.scan(ScanPermit::because("test")).collect().await.unwrap();
        let stored: BTreeSet<_> = rows.iter().map(|sample| sample.second).collect();
        let mut written: BTreeSet<_> = (0..600).collect();
        let mut handed_back = 0;
        for failure in &report.failures {
            let may_be_there = matches!(failure.error, Error::Ambiguous(_) | Error::Unavailable(_));
            for sample in &failure.entities {
                handed_back += 1;
                assert!(written.remove(&sample.second), "seed {seed}: twice {sample:?}");
                let there = stored.contains(&sample.second);
                assert!(may_be_there || !there, "seed {seed}: {sample:?} {:?}", failure.error);
            }
        }
        assert_eq!(report.written.entities + report.written.present, 600 - handed_back);
        assert!(written.is_subset(&stored), "seed {seed}: lost {:?}", written.difference(&stored));
        all_handed_back += handed_back;
    }
    assert!(all_handed_back > 0, "no fault was worse than the retries");
}

#[tokio::test(start_paused = true)]
async fn a_count_of_what_was_written_is_exact_whatever_fails() {
    for seed in 0..dose(10, 200) {
        let store: Arc<dyn Store> = Arc::new(EmbeddedStore::in_memory().unwrap());
        let below = Tables::new(Arc::clone(&store)).repo::<Counted>();
        below.create_table().await.unwrap();
        let flaky = Faults::seeded(seed).lost_replies(0.2).throttled(0.1).store(store).unwrap();
        let retry = Retry::interactive().seed(seed).write_id("WriteId");
        let repo = Tables::new(flaky.clone()).layer(retry).unwrap().on_virtual_time(seed).repo();
        let writer = repo.writer().await.unwrap();
        for number in 0..300 {
            writer.send(Counted { device: number % 3, second: number }).await.unwrap();
        }
        drop(writer.close().await.unwrap());
        flaky.disable();
        for device in 0..3 {
            let partition = Counted::partition(device);
            let count = below.list(&partition).count().await.unwrap();
            let counted = below.sum(&partition, &Counted::COUNT).await.unwrap();
            assert_eq!(u64::try_from(counted).unwrap(), count as u64, "seed {seed}");
        }
    }
}
