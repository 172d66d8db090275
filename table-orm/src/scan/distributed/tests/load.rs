//! The cost of a scan in requests to the control table and the queue.

use super::*;
use crate::embedded::EmbeddedStore;
use crate::scan::Splitter;
use crate::scan::distributed::LEASE;
use crate::scan::tests::run;
use crate::testing::{FakeService, KeySet, ServiceSettings};
use futures_util::future::join_all;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

#[test]
fn a_page_costs_a_write_and_a_range_about_four_calls_to_the_queue() {
    run(async {
        let world = World::counting(numbered(1000), 10).await;
        let scan = world.distribute(world.plain().split(Splitter::Serial));
        scan.start().await.unwrap();
        let before = world.writes();
        assert_eq!(before, 2, "the table, and one transaction");
        let report = world.work_on(&scan, Duration::from_millis(100)).await.unwrap();
        // A claim, and a write for each page; the last page is noted together with the end of the
        // range.
        assert_eq!(world.writes() - before, 1 + report.pages);
        // Sent, received and deleted, and one more receive.
        assert_eq!(world.queues.all_calls(), 4);
        assert_eq!(world.service.figures().requests, report.pages);
    });
}

#[test]
fn workers_that_share_a_range_send_few_requests() {
    run(async {
        let world = World::counting(numbered(10_000), 10).await;
        world.scan().start().await.unwrap();
        let began = Instant::now();
        let before = world.writes();
        let reports = join_all((0..8).map(|_| world.work(seconds(1)))).await;
        let reports: Vec<_> = reports.into_iter().map(Result::unwrap).collect();
        world.assert_all_handled(0);
        let sum = |figure: fn(&crate::scan::distributed::WorkerReport) -> u64| {
            reports.iter().map(figure).sum::<u64>()
        };
        let (pages, claims, splits) =
            (sum(|report| report.pages), sum(|report| report.claims), sum(|report| report.splits));
        assert_eq!(claims, splits + 1);
        // A range's last page may be empty, and is noted nevertheless.
        assert!(world.writes() - before <= pages + 2 * claims + splits, "{reports:?}");
        assert!(pages <= 1000 + splits, "{reports:?}");
        let idle = 8 * (began.elapsed().as_secs() / 15 + 5);
        let renewals = 8 * began.elapsed().as_secs() / (LEASE.as_secs() / 2);
        let calls = 4 * claims + pages / 4 + claims + idle + renewals;
        assert!(world.queues.all_calls() <= calls, "{} {calls}", world.queues.all_calls());
        assert!(splits <= 100, "{splits}");
    });
}

#[test]
fn an_idle_worker_asks_ever_less_often() {
    run(async {
        let world = World::new(numbered(100), 100).await;
        let scan = world.distribute(world.plain().split(Splitter::Serial));
        scan.start().await.unwrap();
        let busy = world.work_on(&scan, seconds(1800));
        let idle = async {
            tokio::time::sleep(seconds(1)).await;
            let before = world.queues.calls("receive");
            world.work(seconds(1)).await.unwrap_err();
            let scan = world.distribute(world.plain().split(Splitter::Serial));
            world.work_on(&scan, seconds(1)).await.unwrap();
            world.queues.calls("receive") - before
        };
        let (report, asked) = tokio::join!(busy, idle);
        assert_eq!(report.unwrap().pages, 1);
        // 1, 2, 4, 8 and then 15 s, or up to a fifth less.
        assert!((100..=156).contains(&asked), "{asked}");
    });
}

#[test]
fn messages_are_short_and_plain() {
    run(async {
        let world = World::new(numbered(2000), 10).await;
        let id = "x".repeat(80);
        let plain = world.plain().concurrency(4);
        let scan = plain.distributed(id, &world.control(), world.queues.clone(), QUEUE);
        scan.start().await.unwrap();
        world.work_on(&scan, seconds(1)).await.unwrap();
        let texts = world.queues.texts();
        assert!(texts.len() >= 5);
        for text in texts {
            let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '<' | '&' | '>');
            assert!(text.len() < 200 && text.chars().all(plain), "{text}");
        }
    });
}

#[test]
fn one_page_of_a_range_is_in_memory_at_a_time() {
    run(async {
        let latency = (Duration::from_millis(5), Duration::from_millis(20));
        let settings =
            ServiceSettings { page_rows: 10, latency, recorded: true, ..Default::default() };
        let service = FakeService::new(KeySet::new(numbered(2000)), settings);
        let world = World::of(service, EmbeddedStore::in_memory().unwrap()).await;
        let plain = world.plain().concurrency(3);
        let scan = plain.distributed("test", &world.control(), world.queues.clone(), QUEUE);
        scan.start().await.unwrap();
        let finished = AtomicU64::new(0);
        let work = scan.work(|_| {
            // A part that is split off may have its first rows on their way.
            let wasted = world.queues.calls("send");
            // One row shows whether there are rows to split off.
            let queries = world.service.queries();
            let pages = queries.iter().filter(|query| query.top != Some(1)).count() as u64;
            let read = pages - finished.load(Ordering::Relaxed);
            assert!(read <= 3 + wasted, "{read} {wasted}");
            let finished = &finished;
            async move {
                tokio::time::sleep(seconds(1)).await;
                finished.fetch_add(1, Ordering::Relaxed);
                Ok::<_, crate::Error>(())
            }
        });
        assert!(work.await.unwrap().pages >= 200);
    });
}
