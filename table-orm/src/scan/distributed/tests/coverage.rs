//! Every row once, whatever the keys, the pages and the number of workers.

use super::*;
use crate::query::{Comparison, Filter, ScanPermit};
use crate::queue::MemoryQueues;
use crate::scan::Splitter;
use crate::scan::tests::run;
use crate::testing::{FakeService, KeyKind, KeySet, ServiceSettings};
use crate::{Projection, TableEntity, Tables};
use futures_util::future::join_all;
use proptest::prelude::*;
use std::time::Duration;

async fn all_work(world: &World, workers: u64) -> Vec<crate::scan::distributed::WorkerReport> {
    let reports = (0..workers).map(|_| world.work(Duration::from_millis(30)));
    join_all(reports).await.into_iter().map(Result::unwrap).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::dose::dose(20, 80), max_shrink_time: 20_000, ..Default::default() })]

    #[test]
    fn every_row_comes_once(
        rows in crate::scan::tests::coverage::rows(),
        page in 1..8_usize,
        workers in 1..=8_u64,
        concurrency in 1..4_usize,
        seed: u64,
        trouble in 1..1000_u64,
    ) {
        run(async {
            let service = crate::scan::tests::coverage::troubled(rows, page, trouble);
            let store = crate::embedded::EmbeddedStore::in_memory().unwrap();
            let world = World { seed: seed % 1_000_000, ..World::of(service, store).await };
            world.scan().start().await.unwrap();
            let plain = world.plain().concurrency(concurrency);
            let scan = plain.distributed("test", &world.control(), world.queues.clone(), QUEUE);
            let work = (0..workers).map(|_| world.work_on(&scan, Duration::from_millis(50)));
            for report in join_all(work).await {
                assert!(report.unwrap().complete);
            }
            world.assert_all_handled(0);
            let status = world.scan().status().await.unwrap();
            assert!(status.is_complete() && status.leased == 0);
            assert_eq!(status.rows, world.service.keys().len() as u64);
        });
    }
}

#[test]
fn every_kind_of_keys_is_shared_among_workers() {
    for kind in KeyKind::ALL {
        run(async {
            let keys = kind.generate(20_000, 5);
            let settings = ServiceSettings { page_rows: 100, ..ServiceSettings::measured(20_000) };
            let store = crate::embedded::EmbeddedStore::in_memory().unwrap();
            let world = World::of(FakeService::new(keys, settings), store).await;
            world.scan().start().await.unwrap();
            let reports = join_all((0..6).map(|_| world.work(seconds(1)))).await;
            world.assert_all_handled(0);
            let busy = reports.iter().filter(|report| report.as_ref().unwrap().pages >= 10);
            assert!(busy.count() >= 4, "{kind}: {reports:?}");
        });
    }
}

#[test]
fn a_big_range_is_split_while_workers_are_idle_and_only_then() {
    for keys in [numbered(2000).collect::<Vec<_>>(), one_partition(2000).collect()] {
        run(async {
            let world = World::new(keys, 10).await;
            world.scan().start().await.unwrap();
            let began = tokio::time::Instant::now();
            let reports = join_all((0..4).map(|_| world.work(seconds(1)))).await;
            let reports: Vec<_> = reports.into_iter().map(Result::unwrap).collect();
            world.assert_all_handled(0);
            // 200 pages of a second each, read by four workers.
            assert!(began.elapsed() < seconds(110), "{:?} {reports:?}", began.elapsed());
            assert!(reports.iter().all(|report| report.pages >= 20), "{reports:?}");
        });
    }
    run(async {
        let world = World::new(numbered(2000), 10).await;
        let report = {
            world.scan().start().await.unwrap();
            world.work(seconds(1)).await.unwrap()
        };
        world.assert_all_handled(0);
        // At most one message waits at a time.
        assert!(report.splits <= 12, "{report:?}");
        assert!(report.pages <= 200 + report.splits, "{report:?}");
    });
}

#[test]
fn a_serial_scan_stays_one_range() {
    run(async {
        let world = World::new(numbered(500), 10).await;
        let scan = world.distribute(world.plain().split(Splitter::Serial));
        scan.start().await.unwrap();
        let reports =
            join_all((0..3).map(|_| world.work_on(&scan, Duration::from_millis(100)))).await;
        let claims: u64 = reports.iter().map(|report| report.as_ref().unwrap().claims).sum();
        assert_eq!((claims, world.queues.calls("peek")), (1, 0));
        world.assert_all_handled(0);
    });
}

#[test]
fn split_keys_begin_as_many_ranges() {
    run(async {
        let world = World::new(numbered(500), 100).await;
        let keys = ["000100", "000200", "000300", "999999", "000100"].map(str::to_owned);
        let scan = world.distribute(world.plain().split(Splitter::Keys(keys.to_vec())));
        scan.start().await.unwrap();
        assert_eq!(scan.status().await.unwrap().open, 5);
        assert_eq!(world.queues.calls("send"), 5);
        // Only `start` uses the first ranges.
        world.work(Duration::ZERO).await.unwrap();
        world.assert_all_handled(0);
    });
}

#[test]
fn a_range_a_prefix_and_a_filter_limit_the_rows() {
    run(async {
        let world = World::new(numbered(2000), 50).await;
        let filter = Filter::compare("N", Comparison::GreaterOrEqual, 1200);
        let plain =
            world.plain().prefix("001").filter(filter).partition_range(.."001500".to_owned());
        let scan = world.distribute(plain.select(["N"]).page_size(20));
        scan.start().await.unwrap();
        join_all((0..3).map(|_| world.work_on(&scan, seconds(1)))).await;
        let handled = world.handled.lock().unwrap();
        let expected = (1200..1500).map(|row| (format!("{row:06}"), String::new()));
        assert_eq!(handled.keys().cloned().collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        assert!(handled.values().all(|count| *count == 1));
    });
}

#[derive(Debug, TableEntity)]
#[table(name = "results", partition = "{race}", row = "{bib:05}", crate = crate)]
struct Finisher {
    race: String,
    bib: u32,
    minutes: u32,
}

#[derive(Debug, Projection)]
#[projection(of = Finisher, crate = crate)]
struct Minutes {
    minutes: u32,
}

#[test]
fn typed_scans_and_projections_are_distributed_too() {
    run(async {
        let tables = Tables::in_memory().unwrap();
        let results = tables.repo::<Finisher>();
        results.create_table().await.unwrap();
        tables.create(&control_name()).await.unwrap();
        for race in ["Boston", "Oslo"] {
            let race = |bib| Finisher { race: race.to_owned(), bib, minutes: 150 + bib };
            results.insert_many((0..100).map(race)).await.all().unwrap();
        }
        let (control, queues) = (tables.table(control_name()), MemoryQueues::new());
        let scan = results
            .scan(ScanPermit::because("test"))
            .filter(|row| row.minutes.lt(200))
            .project::<Minutes>()
            .page_size(7)
            .distributed("typed", &control, queues, QUEUE);
        scan.start().await.unwrap();
        let sum = std::sync::Mutex::new(0);
        let worker = || {
            scan.work(|page| {
                *sum.lock().unwrap() += page.rows.iter().map(|row| row.minutes).sum::<u32>();
                async { Ok::<_, crate::Error>(()) }
            })
        };
        let (one, other) = tokio::join!(worker(), worker());
        assert_eq!(one.unwrap().rows + other.unwrap().rows, 100);
        assert_eq!(*sum.lock().unwrap(), 2 * (150..200).sum::<u32>());
    });
}

#[test]
fn workers_may_be_spawned_on_several_threads() {
    let runtime = &mut tokio::runtime::Builder::new_multi_thread();
    crate::scan::tests::run_on(runtime.worker_threads(4), async {
        let keys = KeySet::new(numbered(3000).chain(one_partition(3000)));
        let settings = ServiceSettings { page_rows: 50, ..Default::default() };
        let store = crate::embedded::EmbeddedStore::in_memory().unwrap();
        let world = std::sync::Arc::new(World::of(FakeService::new(keys, settings), store).await);
        world.scan().start().await.unwrap();
        let workers: Vec<_> = (0..4)
            .map(|_| {
                let world = std::sync::Arc::clone(&world);
                tokio::spawn(async move { world.work(Duration::from_micros(200)).await })
            })
            .collect();
        for worker in workers {
            worker.await.unwrap().unwrap();
        }
        world.assert_all_handled(0);
    });
}

#[test]
fn several_workers_share_the_same_first_messages() {
    run(async {
        let world = World::new(numbered(50), 1000).await;
        world.scan().start().await.unwrap();
        let reports = all_work(&world, 8).await;
        assert_eq!(reports.iter().map(|report| report.claims).sum::<u64>(), 1);
        world.assert_all_handled(0);
    });
}

#[test]
fn a_worker_soon_has_as_many_ranges_as_it_can() {
    // 400 pages, eight at a time once there are as many ranges.
    for (each, most) in [(1, 77), (20, 1200)] {
        run(async {
            let world = World::new(numbered(4000), 10).await;
            let plain = world.plain().concurrency(8);
            let scan = plain.distributed("test", &world.control(), world.queues.clone(), QUEUE);
            scan.start().await.unwrap();
            let began = tokio::time::Instant::now();
            world.work_on(&scan, seconds(each)).await.unwrap();
            world.assert_all_handled(0);
            assert!(began.elapsed() < seconds(most), "{each}: {:?}", began.elapsed());
        });
    }
}
