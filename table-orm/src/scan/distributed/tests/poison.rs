//! Ranges without progress are put aside, and opened again.

use super::*;
use crate::embedded::EmbeddedStore;
use crate::entity::RowHead;
use crate::layer::Faults;
use crate::queue::Queues as _;
use crate::scan::Splitter;
use crate::scan::distributed::rows::{RangeRow, RangeState};
use crate::scan::distributed::{LEASE, MOST_LISTED, WorkerReport, clock};
use crate::scan::engine::Position;
use crate::scan::tests::run;
use crate::testing::{FakeService, KeySet, ServiceSettings};
use crate::{Error, Tables};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

/// Works on a scan whose page of that row fails.
async fn fail_at(world: &World, number: u64, row: &str, fails: &AtomicBool) -> WorkerReport {
    let scan = world.scan().seeded(number).continue_on_failure();
    let work = scan.work(|page| {
        let bad = page.rows.iter().any(|entity| entity.partition_key == row);
        let fails = bad && fails.load(Ordering::Relaxed);
        if !fails {
            drop(world.note(page));
        }
        async move {
            sleep(seconds(1)).await;
            if fails { Err(Error::PageSize(0)) } else { Ok(()) }
        }
    });
    work.await.unwrap()
}

#[test]
fn a_page_that_fails_five_times_puts_its_range_aside_until_it_is_redriven() {
    run(async {
        let world = World::new(numbered(1000), 10).await;
        let fails = AtomicBool::new(true);
        world.scan().start().await.unwrap();
        let reports = tokio::join!(
            fail_at(&world, 1, "000420", &fails),
            fail_at(&world, 2, "000420", &fails),
        );
        // In five claims without a page, and perhaps in one that had handled pages before.
        let failures = reports.0.failures + reports.1.failures;
        assert!((5..=6).contains(&failures), "{reports:?}");
        assert_eq!(reports.0.poisoned + reports.1.poisoned, 1);
        assert!(reports.0.complete && reports.1.complete);
        let status = world.scan().status().await.unwrap();
        assert!(status.is_complete() && status.poisoned == 1, "{status:?}");
        assert!(status.rows < 1000);
        assert!(world.queues.inner.peek(POISON).await.unwrap());

        fails.store(false, Ordering::Relaxed);
        assert_eq!(world.scan().redrive().await.unwrap(), 1);
        assert!(!world.scan().status().await.unwrap().is_complete());
        fail_at(&world, 3, "000420", &fails).await;
        world.assert_all_handled(0);
        let status = world.scan().status().await.unwrap();
        assert!(status.is_complete() && status.poisoned == 0 && status.rows == 1000);
        assert_eq!(world.scan().redrive().await.unwrap(), 0);
        sleep(2 * LEASE).await;
        assert!(!world.queues.inner.peek(POISON).await.unwrap());
    });
}

#[test]
fn workers_that_die_of_a_page_put_its_range_aside_too() {
    run(async {
        let world = World::new(numbered(30), 10).await;
        let scan = world.distribute(world.plain().split(Splitter::Serial));
        scan.start().await.unwrap();
        let mut deaths = 0;
        loop {
            let work = world.work_on(&scan, seconds(3600));
            match timeout(seconds(100), work).await {
                Ok(report) => {
                    assert_eq!(report.unwrap().poisoned, 1);
                    break;
                }
                Err(_) => deaths += 1,
            }
        }
        assert_eq!(deaths, 5);
        let status = scan.status().await.unwrap();
        assert_eq!((status.poisoned, status.rows), (1, 0));
    });
}

#[test]
fn a_page_that_ends_its_process_puts_no_range_aside_but_its_own() {
    run(async {
        for concurrency in [2, 8] {
            let world = World::new(numbered(2000), 50).await;
            let keys = (1..10).map(|at| format!("{:06}", at * 200)).collect();
            let plain = world.plain().split(Splitter::Keys(keys)).concurrency(concurrency);
            let scan = plain.distributed("test", &world.control(), world.queues.clone(), QUEUE);
            scan.start().await.unwrap();
            let mut deaths = 0;
            loop {
                let died = Notify::new();
                let work = scan.work(|page| {
                    let deadly = page.rows[0].partition_key == "000600";
                    if !deadly {
                        drop(world.note(page));
                    }
                    let died = &died;
                    async move {
                        sleep(Duration::from_millis(50)).await;
                        if deadly {
                            died.notify_one();
                        }
                        sleep(seconds(2)).await;
                        Ok::<_, Error>(())
                    }
                });
                tokio::select! {
                    report = work => break assert!(report.unwrap().complete),
                    () = died.notified() => deaths += 1,
                }
            }
            assert_eq!(deaths, 5);
            let status = scan.status().await.unwrap();
            assert!(status.is_complete() && !status.is_whole(), "{status:?}");
            assert_eq!((status.poisoned, status.rows), (1, 1800), "{concurrency}: {status:?}");
        }
    });
}

#[test]
fn a_range_with_progress_is_not_put_aside_however_often_it_fails() {
    run(async {
        let world = World::new(numbered(300), 10).await;
        world.scan().start().await.unwrap();
        let calls = AtomicUsize::new(0);
        let scan = world.scan().continue_on_failure();
        let work = scan.work(|page| {
            let fails = calls.fetch_add(1, Ordering::Relaxed) % 2 == 1;
            if !fails {
                drop(world.note(page));
            }
            async move { if fails { Err(Error::PageSize(0)) } else { Ok(()) } }
        });
        let report = work.await.unwrap();
        world.assert_all_handled(0);
        assert!(report.failures >= 15 && report.poisoned == 0, "{report:?}");
    });
}

#[test]
fn the_error_of_a_handler_ends_its_worker_and_releases_all_ranges() {
    run(async {
        let world = World::new(numbered(1000), 10).await;
        world.scan().start().await.unwrap();
        let scan = world.plain().concurrency(4);
        let scan = scan.distributed("test", &world.control(), world.queues.clone(), QUEUE);
        let calls = AtomicUsize::new(0);
        let work = scan.work(|page| {
            let fails = calls.fetch_add(1, Ordering::Relaxed) == 30;
            if !fails {
                drop(world.note(page));
            }
            async move {
                sleep(seconds(1)).await;
                if fails { Err(Error::PageSize(7)) } else { Ok(()) }
            }
        });
        let error = work.await.unwrap_err();
        assert!(matches!(error, Error::PageSize(7)), "{error}");
        let status = scan.status().await.unwrap();
        assert!(status.leased == 0 && status.open >= 3, "{status:?}");
        let began = tokio::time::Instant::now();
        world.work_on(&scan, Duration::from_millis(100)).await.unwrap();
        world.assert_all_handled(0);
        assert!(began.elapsed() < seconds(30), "no lease is waited for: {:?}", began.elapsed());
    });
}

/// An app's own error.
#[derive(Debug, thiserror::Error)]
enum Bad {
    #[error("the runner {0} has no name")]
    Name(String),
    #[error(transparent)]
    Store(#[from] Error),
}

#[test]
fn a_range_put_aside_shows_its_bounds_and_its_error() {
    run(async {
        let world = World::new(numbered(500), 10).await;
        let keys = ["000200", "000300"].map(str::to_owned).to_vec();
        let scan = world.distribute(world.plain().split(Splitter::Keys(keys)));
        let scan = scan.continue_on_failure();
        scan.start().await.unwrap();
        let mended = AtomicBool::new(false);
        let work = async |number| {
            let scan = scan.clone().seeded(number);
            scan.work(|page| {
                let bad = page.rows.iter().find(|row| row.partition_key == "000242");
                let bad = bad.filter(|_| !mended.load(Ordering::Relaxed));
                let bad = bad.map(|row| Bad::Name(row.partition_key.clone()));
                async { bad.map_or(Ok(()), Err) }
            })
            .await
            .unwrap()
        };
        work(1).await;
        let status = scan.status().await.unwrap();
        assert_eq!(status.poisoned, 1);
        let [range] = &status.poisoned_ranges[..] else { panic!("{status:?}") };
        assert_eq!(range.error.as_deref(), Some("the runner 000242 has no name"));
        let key = |pk: &str| RowHead { partition_key: pk.to_owned(), row_key: String::new() };
        assert!(range.from <= key("000242") && range.to.as_ref() > Some(&key("000242")));
        // It was handled up to the page that fails.
        assert_eq!(range.last, Some(key("000239")), "{range:?}");
        let row = world.control().get("test", &format!("p:{}", range.range)).await.unwrap();
        assert!(row.is_some());

        scan.redrive().await.unwrap();
        mended.store(true, Ordering::Relaxed);
        work(2).await;
        let status = scan.status().await.unwrap();
        assert!(status.is_whole() && status.poisoned_ranges.is_empty(), "{status:?}");
        let kept = world.control().list("test", ..).collect().await.unwrap();
        assert!(!kept.iter().any(|row| row.properties.contains_key("Error")), "{kept:?}");
    });
}

#[test]
fn a_range_whose_workers_died_has_no_error() {
    run(async {
        let world = World::new(numbered(30), 10).await;
        let scan = world.distribute(world.plain().split(Splitter::Serial));
        scan.start().await.unwrap();
        while timeout(seconds(100), world.work_on(&scan, seconds(3600))).await.is_err() {}
        let status = scan.status().await.unwrap();
        let [range] = &status.poisoned_ranges[..] else { panic!("{status:?}") };
        assert_eq!((&range.from, &range.to), (&RowHead::default(), &None));
        assert_eq!((&range.last, &range.error), (&None, &None));
    });
}

#[test]
fn a_range_that_changes_its_state_concurrently_is_counted_once() {
    use RangeState::{Done, Open, Poisoned};
    run(async {
        let store = Arc::new(EmbeddedStore::in_memory().unwrap());
        let slow = Faults::seeded(1).slow(1.0).store(store.clone()).unwrap();
        slow.disable();
        let service = FakeService::new(KeySet::new(numbered(30)), ServiceSettings::default());
        let world = World::of(service, slow.clone()).await;
        world.scan().start().await.unwrap();
        let fast = World { control: Tables::new(store), ..World::new([], 10).await };
        let control = fast.scan().control().unwrap();
        let range = control.load_ranges().await.unwrap().remove(0).range;
        let change = async |from, to| {
            let mut row = control.load("test", from, &range).await.unwrap().unwrap();
            row.state = to;
            control.ranges.save(row).await.unwrap();
        };
        let mut now = Open;
        for (from, to) in [(Poisoned, Open), (Open, Poisoned), (Open, Done)] {
            for moment in 0..50 {
                if now != from {
                    change(now, from).await;
                }
                slow.enable();
                let scan = world.scan();
                let status = scan.status();
                let (status, ()) = tokio::join!(status, async {
                    sleep(Duration::from_millis(100) * moment).await;
                    change(from, to).await;
                });
                slow.disable();
                now = to;
                let status = status.unwrap();
                assert_eq!(status.open + status.done + status.poisoned, 1, "{status:?}");
                assert!(to == Done || !status.is_whole(), "{status:?}");
            }
        }
    });
}

#[test]
fn messages_of_other_scans_do_not_hold_up_a_redrive() {
    run(async {
        let world = World::new(numbered(30), 10).await;
        world.scan().start().await.unwrap();
        let range = world.scan().control().unwrap().load_ranges().await.unwrap().remove(0).range;
        let own = format!(r#"{{"scan":"test","range":"{range}"}}"#);
        for at in 0..50 {
            let text = if at == 40 { &own } else { "another's" };
            world.queues.inner.send(POISON, text, Duration::ZERO).await.unwrap();
        }
        // The messages of the first receive are visible again before the third.
        world.queues.slow_receives(seconds(35));
        let redriven = timeout(3 * LEASE, world.scan().redrive()).await.unwrap();
        assert_eq!(redriven.unwrap(), 0);
        sleep(LEASE).await;
        let mut left = world.queues.inner.receive(POISON, 32, LEASE).await.unwrap();
        left.extend(world.queues.inner.receive(POISON, 32, LEASE).await.unwrap());
        assert_eq!(left.len(), 49);
        assert!(left.iter().all(|message| message.text == "another's"));
    });
}

#[test]
fn status_lists_a_hundred_ranges_and_counts_all() {
    run(async {
        let world = World::new(numbered(30), 10).await;
        world.scan().start().await.unwrap();
        let control = world.scan().control().unwrap();
        for at in (0..120).rev() {
            let from = Position::partition(format!("{at:03}"));
            let row = RangeRow::new("test", format!("{at}"), &from, None, clock::now());
            control.ranges.insert(&RangeRow { state: RangeState::Poisoned, ..row }).await.unwrap();
        }
        let status = world.scan().status().await.unwrap();
        assert_eq!(status.poisoned, 120);
        let listed: Vec<_> =
            status.poisoned_ranges.iter().map(|range| range.from.partition_key.clone()).collect();
        let first: Vec<_> = (0..MOST_LISTED).map(|at| format!("{at:03}")).collect();
        assert_eq!(listed, first);
    });
}
