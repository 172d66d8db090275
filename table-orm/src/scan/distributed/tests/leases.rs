//! The cost of workers that die, sleep, stop or fail.

use super::*;
use crate::embedded::EmbeddedStore;
use crate::queue::{MAX_MESSAGE_BYTES, Queues as _};
use crate::scan::Splitter;
use crate::scan::distributed::{LEASE, WorkerReport};
use crate::scan::tests::run;
use crate::testing::{FakeService, KeySet, ServiceSettings};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// The longest that an idle worker waits before it looks again.
const POLL: Duration = Duration::from_secs(18);
/// A hundred pages of ten rows.
const PAGES: u64 = 100;

async fn one_range(concurrency: usize) -> (World, Distributed) {
    let world = World::new(numbered(1000), 10).await;
    let plain = world.plain().split(Splitter::Serial).concurrency(concurrency);
    let scan = world.distribute(plain);
    scan.start().await.unwrap();
    (world, scan)
}

#[test]
fn a_killed_worker_costs_one_lease_and_at_most_a_page() {
    for killed_after in [100, 20_500, 29_990, 30_010, 50_500, 61_300] {
        run(async {
            let (world, scan) = one_range(1).await;
            let killed = Duration::from_millis(killed_after);
            let work = world.work_on(&scan, seconds(1));
            assert!(timeout(killed, work).await.is_err());
            let began = Instant::now();
            let report = world.work_on(&scan, seconds(1)).await.unwrap();
            world.assert_all_handled(10);
            assert_eq!(report.duplicates, 0, "{report:?}");
            let working = seconds(1) * u32::try_from(report.pages).unwrap() + seconds(3);
            let lying = began.elapsed() - working;
            assert!(lying <= LEASE + POLL, "{killed_after}: {lying:?}");
        });
    }
}

#[test]
fn a_page_that_comes_again_has_the_same_id() {
    run(async {
        let (_world, scan) = one_range(1).await;
        let ids = std::sync::Mutex::new(Vec::new());
        let work = || {
            scan.work(|page| {
                ids.lock().unwrap().push((page.id, page.last));
                async {
                    sleep(seconds(1)).await;
                    Ok::<_, crate::Error>(())
                }
            })
        };
        assert!(timeout(Duration::from_millis(5_500), work()).await.is_err());
        work().await.unwrap();
        let mut ids = ids.into_inner().unwrap();
        assert_eq!(ids.len() as u64, PAGES + 1);
        assert_eq!(ids[5], ids[6]);
        ids.dedup();
        let all: std::collections::HashSet<_> = ids.iter().map(|(id, _)| id.clone()).collect();
        assert_eq!(all.len() as u64, PAGES);
    });
}

#[test]
fn workers_killed_again_and_again_repeat_at_most_a_page_each() {
    run(async {
        let world = World::new(numbered(3000).chain(one_partition(1000)), 10).await;
        world.scan().start().await.unwrap();
        let mut random = crate::testing::Random::new(11);
        let mut killed = 0;
        loop {
            let life = Duration::from_millis(500 + random.below(90_000) as u64);
            let four = futures_util::future::join_all(
                (0..4).map(|_| world.work(Duration::from_millis(700))),
            );
            match timeout(life, four).await {
                Ok(_) => break,
                Err(_) => killed += 4,
            }
        }
        assert!(killed >= 12, "{killed}");
        world.assert_all_handled(10 * killed);
        assert_eq!(world.scan().status().await.unwrap().rows, 4000);
    });
}

#[test]
fn a_worker_that_stops_costs_nothing() {
    run(async {
        let (world, scan) = one_range(1).await;
        let began = Instant::now();
        let stopped = scan
            .work_until(sleep(Duration::from_millis(20_500)), |page| {
                drop(world.note(page));
                async {
                    sleep(seconds(1)).await;
                    Ok::<_, crate::Error>(())
                }
            })
            .await
            .unwrap();
        assert!(!stopped.complete && stopped.pages == 21, "{stopped:?}");
        assert!(began.elapsed() < seconds(22));
        let report = world.work_on(&scan, seconds(1)).await.unwrap();
        world.assert_all_handled(0);
        assert_eq!(report.pages + stopped.pages, PAGES);
        assert!(began.elapsed() < seconds(PAGES + 5), "{:?}", began.elapsed());
    });
}

#[test]
fn a_stop_is_no_stall_however_often() {
    run(async {
        let (world, scan) = one_range(1).await;
        for _ in 0..12 {
            let report = scan
                .work_until(sleep(Duration::from_millis(2)), |_| async {
                    Err::<(), _>(crate::Error::PageSize(0))
                })
                .await
                .unwrap();
            assert_eq!(report.pages, 0);
        }
        world.work_on(&scan, Duration::ZERO).await.unwrap();
        world.assert_all_handled(0);
    });
}

#[test]
fn a_long_handler_keeps_its_range() {
    run(async {
        let (world, scan) = one_range(1).await;
        let work = || world.work_on(&scan, 5 * LEASE);
        let both = tokio::join!(work(), work());
        let reports = [both.0.unwrap(), both.1.unwrap()];
        world.assert_all_handled(0);
        assert_eq!(reports.iter().map(|report| report.claims).sum::<u64>(), 1);
    });
}

/// One worker falls asleep during its work while another continues; returns their reports.
async fn sleeper(
    world: &World,
    scan: &Distributed,
    each: Duration,
    awake: Duration,
) -> [WorkerReport; 2] {
    let asleep = Arc::new(AtomicBool::new(false));
    let first = Sleeper::new(world.work_on(scan, each), &asleep);
    let second = async {
        sleep(awake).await;
        asleep.store(true, Ordering::Relaxed);
        let report = world.work_on(scan, each);
        let wake = async {
            sleep(LEASE + LEASE).await;
            asleep.store(false, Ordering::Relaxed);
        };
        tokio::join!(report, wake).0
    };
    let (first, second) = tokio::join!(first, second);
    [first.unwrap(), second.unwrap()]
}

#[test]
fn a_worker_that_sleeps_past_its_lease_moves_no_cursor() {
    for awake in [10_400, 10_995, 11_010, 29_900, 30_300] {
        run(async {
            let (world, scan) = one_range(1).await;
            let awake = Duration::from_millis(awake);
            let [first, second] = sleeper(&world, &scan, seconds(1), awake).await;
            assert_eq!((first.lost, second.lost), (1, 0), "{first:?} {second:?}");
            // The page that it was handling.
            world.assert_all_handled(10);
            let status = scan.status().await.unwrap();
            assert_eq!((status.rows, status.pages), (1000, PAGES), "{status:?}");
            assert_eq!(first.pages + second.pages, PAGES);
        });
    }
}

#[test]
fn a_worker_that_sleeps_while_it_reads_hands_out_nothing_of_anothers() {
    run(async {
        let latency = (seconds(5), seconds(6));
        let settings = ServiceSettings { page_rows: 100, latency, ..Default::default() };
        let service = FakeService::new(KeySet::new(numbered(1000)), settings);
        let world = World::of(service, EmbeddedStore::in_memory().unwrap()).await;
        let scan = world.distribute(world.plain().split(Splitter::Serial));
        scan.start().await.unwrap();
        let [first, _] = sleeper(&world, &scan, Duration::ZERO, seconds(12)).await;
        assert_eq!(first.lost, 1);
        world.assert_all_handled(0);
    });
}

#[test]
fn a_lost_message_is_sent_again_after_a_lease() {
    run(async {
        let world = World::new(numbered(1000), 10).await;
        world.queues.lose_sends(true);
        world.scan().start().await.unwrap();
        world.queues.lose_sends(false);
        let began = Instant::now();
        let work = [world.work(seconds(1)), world.work(seconds(1))];
        let reports = futures_util::future::join_all(work).await;
        world.assert_all_handled(0);
        assert!(began.elapsed() < LEASE + LEASE / 2 + POLL + seconds(70), "{reports:?}");
    });
    run(async {
        // The messages of parts that were split off, too.
        let world = World::new(numbered(1000), 10).await;
        world.scan().start().await.unwrap();
        world.queues.lose_sends(true);
        let all = async {
            sleep(seconds(5)).await;
            world.queues.lose_sends(false);
        };
        let (report, ()) = tokio::join!(world.work(seconds(1)), all);
        assert!(report.unwrap().splits >= 2);
        world.assert_all_handled(0);
    });
}

#[test]
fn a_sweep_sends_what_is_overdue_and_nothing_else() {
    run(async {
        let (world, scan) = one_range(1).await;
        assert_eq!(scan.sweep().await.unwrap(), 0);
        drop(world.queues.inner.receive(QUEUE, 1, seconds(3600)).await.unwrap());
        sleep(LEASE + seconds(1)).await;
        assert_eq!(scan.sweep().await.unwrap(), 1);
        assert_eq!(scan.sweep().await.unwrap(), 0);
        sleep(LEASE + seconds(1)).await;
        scan.start().await.unwrap();
        assert_eq!(world.queues.calls("send"), 3, "started again: overdue ones are sent");
        world.work_on(&scan, Duration::ZERO).await.unwrap();
        world.assert_all_handled(0);
    });
}

#[test]
fn messages_that_come_twice_are_deleted() {
    run(async {
        let world = World::new(numbered(1000), 10).await;
        world.queues.double_sends();
        world.scan().start().await.unwrap();
        let work = (0..4).map(|_| world.work(seconds(1)));
        let reports = futures_util::future::join_all(work).await;
        world.assert_all_handled(0);
        let of = |figure: fn(&WorkerReport) -> u64| {
            reports.iter().map(|report| figure(report.as_ref().unwrap())).sum::<u64>()
        };
        assert_eq!(of(|report| report.claims), of(|report| report.splits) + 1);
        assert!(of(|report| report.duplicates) >= 1, "{reports:?}");
    });
    run(async {
        let world = World::new(numbered(1000), 10).await;
        world.queues.double_sends();
        let scan = world.distribute(world.plain().split(Splitter::Serial));
        scan.start().await.unwrap();
        let (one, other) =
            tokio::join!(world.work_on(&scan, seconds(1)), world.work_on(&scan, seconds(1)));
        // It is not visible again, even after several time-outs.
        assert_eq!(one.unwrap().duplicates + other.unwrap().duplicates, 1);
    });
}

#[test]
fn a_worker_continues_without_its_message() {
    run(async {
        let (world, scan) = one_range(1).await;
        let gone = async {
            sleep(seconds(5)).await;
            // Its receipt is void from now on.
            world.queues.inner.delete(QUEUE).await.unwrap();
            world.queues.inner.create(QUEUE).await.unwrap();
        };
        let (report, ()) = tokio::join!(world.work_on(&scan, seconds(40)), gone);
        let report = report.unwrap();
        assert_eq!((report.pages, report.claims, report.lost), (PAGES, 1, 0));
        world.assert_all_handled(0);
    });
}

#[test]
fn a_message_of_another_program_goes_to_the_poison_queue() {
    run(async {
        let (world, scan) = one_range(1).await;
        let gone = r#"{"scan":"gone","range":"1"}"#;
        for text in ["hello", LONG, gone, r#"{"scan":"test","range":"none"}"#] {
            world.queues.inner.send(QUEUE, text, Duration::ZERO).await.unwrap();
        }
        world.work_on(&scan, seconds(1)).await.unwrap();
        world.work_on(&scan, seconds(1)).await.unwrap();
        world.assert_all_handled(0);
        // A worker of another scan, whose row says that it is done.
        let other = world.plain().concurrency(4);
        let other = other.distributed("other", &world.control(), world.queues.clone(), QUEUE);
        other.start().await.unwrap();
        world.handled.lock().unwrap().clear();
        world.work_on(&other, Duration::ZERO).await.unwrap();
        world.assert_all_handled(0);
        let left = world.queues.inner.receive(POISON, 32, seconds(1)).await.unwrap();
        let cut = format!("x{}", "ß".repeat(MAX_MESSAGE_BYTES / 2 - 1));
        assert_eq!(left.iter().map(|message| &*message.text).collect::<Vec<_>>(), ["hello", &cut]);
        assert!(world.queues.inner.receive(QUEUE, 32, seconds(1)).await.unwrap().is_empty());
    });
}

#[test]
fn scans_that_share_a_queue_leave_each_other_alone() {
    run(async {
        let world = World::new(numbered(1000), 10).await;
        let other = world.plain().page_size(5).concurrency(1);
        let other = other.distributed("other", &world.control(), world.queues.clone(), QUEUE);
        other.start().await.unwrap();
        let scan = world.scan();
        scan.start().await.unwrap();
        world.work_on(&scan, seconds(1)).await.unwrap();
        world.assert_all_handled(0);
        let status = other.status().await.unwrap();
        assert_eq!((status.open, status.rows), (1, 0), "{status:?}");
        world.handled.lock().unwrap().clear();
        assert_eq!(world.work_on(&other, seconds(1)).await.unwrap().rows, 1000);
        world.assert_all_handled(0);
    });
}

#[test]
fn a_removed_scan_stops_its_workers() {
    run(async {
        let (world, scan) = one_range(1).await;
        let remove = async {
            sleep(seconds(5)).await;
            scan.remove().await.unwrap();
            scan.remove().await.unwrap();
        };
        let (report, ()) = tokio::join!(world.work_on(&scan, seconds(1)), remove);
        let report = report.unwrap();
        assert!(report.lost == 1 && report.pages <= 6 && !report.complete, "{report:?}");
        let rows = world.control().list("test", ..).collect().await.unwrap();
        assert!(rows.is_empty(), "{rows:?}");
    });
}
