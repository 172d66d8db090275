//! A bad day for every service at once.

use super::*;
use crate::embedded::EmbeddedStore;
use crate::layer::{FaultStore, Faults};
use crate::scan::tests::run;
use crate::testing::{FakeService, KeySet, ServiceSettings};
use std::sync::Arc;
use std::time::Duration;

async fn stormy(seed: u64) -> (World, FaultStore, FaultStore) {
    let keys = numbered(300).chain(one_partition(300));
    let latency = (Duration::from_millis(5), Duration::from_millis(50));
    let settings = ServiceSettings { page_rows: 10, latency, seed, ..Default::default() };
    let service = FakeService::new(KeySet::new(keys), settings);
    let control = Arc::new(EmbeddedStore::in_memory().unwrap());
    let control = Faults::mixed(seed).late(0.02).store(control).unwrap();
    let source = Faults::mixed(seed + 1).store(Arc::new(service.clone())).unwrap();
    control.disable();
    let world = World { seed, ..World::of(service, control.clone()).await };
    control.enable();
    (world.reading(source.clone()), control, source)
}

#[test]
fn nothing_is_lost_under_many_faults() {
    for seed in 0..crate::dose::dose(8, 40) {
        run(async {
            let (world, control, source) = stormy(seed).await;
            world.queues.fail(0.2, seed);
            while world.scan().start().await.is_err() {}
            let worker = || {
                let world = &world;
                async move {
                    let (mut lost, mut errors) = (0_u64, 0_u64);
                    loop {
                        match world.work(Duration::from_millis(500)).await {
                            Ok(report) => return (lost + report.lost, errors),
                            Err(error) if errors > 50 => panic!("seed {seed}: {error}"),
                            Err(_) => errors += 1,
                        }
                        lost += 1;
                    }
                }
            };
            let ends = tokio::join!(worker(), worker(), worker());
            let again = ends.0.0 + ends.1.0 + ends.2.0;
            control.disable();
            source.disable();
            let status = world.scan().status().await.unwrap();
            assert!(status.is_complete() && status.poisoned == 0, "seed {seed}: {status:?}");
            // Each worker that ended, or lost a range, was handling a page.
            world.assert_all_handled(usize::try_from(10 * again).unwrap());
            assert_eq!(status.rows, 600, "seed {seed}");
        });
    }
}

#[test]
fn an_unreachable_table_puts_no_range_aside() {
    run(async {
        let service = FakeService::new(KeySet::new(numbered(300)), ServiceSettings::default());
        let source = Faults::seeded(1).errors_before(1.0).store(Arc::new(service.clone())).unwrap();
        let world = World::of(service, EmbeddedStore::in_memory().unwrap()).await;
        let world = world.reading(source.clone());
        world.scan().start().await.unwrap();
        let back = async {
            tokio::time::sleep(Duration::from_hours(1)).await;
            source.disable();
        };
        let scan = world.scan().continue_on_failure();
        let (report, ()) = tokio::join!(world.work_on(&scan, seconds(1)), back);
        let report = report.unwrap();
        assert!(report.failures > 100 && report.poisoned == 0, "{report:?}");
        world.assert_all_handled(0);
    });
}

#[test]
fn a_service_that_throttles_slows_a_worker_down_and_no_more() {
    run(async {
        let settings = ServiceSettings { page_rows: 100, ..ServiceSettings::measured(30_000) };
        let settings = ServiceSettings { account_target: Some(2_000.0), ..settings };
        let service = FakeService::new(KeySet::new(numbered(30_000)), settings);
        let world = World::of(service, EmbeddedStore::in_memory().unwrap()).await;
        let plain = world.plain().concurrency(8);
        let scan = plain.distributed("test", &world.control(), world.queues.clone(), QUEUE);
        scan.start().await.unwrap();
        let report = world.work_on(&scan, Duration::ZERO).await.unwrap();
        world.assert_all_handled(0);
        assert!(report.throttled > 0 && report.lost == 0, "{report:?}");
        assert!(report.throttled < report.requests / 4, "{report:?}");
    });
}
