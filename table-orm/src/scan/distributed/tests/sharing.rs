//! Workers soon share a small scan evenly.

use super::*;
use crate::embedded::EmbeddedStore;
use crate::model::Edm;
use crate::scan::Splitter;
use crate::scan::tests::run;
use crate::testing::{FakeService, KeyKind, KeySet, ServiceSettings};
use futures_util::future::join_all;
use tokio::time::{Instant, sleep};

/// Rows of a page.
const PAGE: usize = 20;

async fn world(keys: KeySet, seed: u64) -> World {
    let settings =
        ServiceSettings { page_rows: PAGE, seed, ..ServiceSettings::measured(keys.len()) };
    let store = EmbeddedStore::in_memory().unwrap();
    World { seed, ..World::of(FakeService::new(keys, settings), store).await }
}

/// Seconds until all workers have ended, when each page takes them a second.
async fn time(keys: KeySet, workers: u64, seed: u64) -> f64 {
    let world = world(keys, seed).await;
    world.scan().start().await.unwrap();
    let began = Instant::now();
    for report in join_all((0..workers).map(|_| world.work(seconds(1)))).await {
        assert!(report.unwrap().complete);
    }
    world.assert_all_handled(0);
    began.elapsed().as_secs_f64()
}

#[test]
fn four_workers_read_sixty_pages_nearly_three_times_as_fast_as_one() {
    let mut all = Vec::new();
    for kind in KeyKind::ALL {
        let faster = (1..=5).map(|seed| {
            let keys = || kind.generate(60 * PAGE, seed);
            run(time(keys(), 1, seed)) / run(time(keys(), 4, seed))
        });
        let faster: Vec<f64> = faster.collect();
        println!("{kind}: {faster:.2?}");
        assert!(faster.iter().all(|faster| *faster >= 1.8), "{kind}: {faster:?}");
        all.extend(faster);
    }
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    println!("on average: {mean:.2}");
    assert!(mean >= 2.9, "{mean}: {all:?}");
}

#[test]
fn every_part_that_is_split_off_has_rows() {
    for kind in KeyKind::ALL {
        run(async {
            let world = world(kind.generate(300 * PAGE, 7), 7).await;
            world.scan().start().await.unwrap();
            let reports = join_all((0..6).map(|_| world.work(seconds(1)))).await;
            let splits: u64 = reports.iter().map(|report| report.as_ref().unwrap().splits).sum();
            let done = world.control().list("test", "d:".to_owned()..).collect().await.unwrap();
            let done: Vec<_> = done.iter().filter(|row| row.row_key.starts_with("d:")).collect();
            assert_eq!(done.len() as u64, 1 + splits);
            let empty = done.iter().filter(|row| row.properties["Rows"] == Edm::Int64(0));
            assert_eq!(empty.count(), 0, "{kind}");
        });
    }
}

#[test]
fn all_workers_have_a_range_within_the_first_page() {
    for keys in [numbered(4000).collect::<Vec<_>>(), one_partition(4000).collect()] {
        run(async {
            let world = world(KeySet::new(keys), 3).await;
            world.scan().start().await.unwrap();
            let work = join_all((0..8).map(|_| world.work(seconds(60))));
            let leased = async {
                sleep(seconds(5)).await;
                world.scan().status().await.unwrap().leased
            };
            let (_, leased) = tokio::join!(work, leased);
            assert_eq!(leased, 8);
            world.assert_all_handled(0);
        });
    }
}

#[test]
fn status_estimates_the_share_that_is_done() {
    for kind in KeyKind::ALL {
        run(async {
            let world = world(kind.generate(200 * PAGE, 5), 5).await;
            world.scan().start().await.unwrap();
            let status = world.scan().status().await.unwrap();
            assert_eq!((status.rows_left, status.share_done()), (None, None));
            let watch = async {
                loop {
                    sleep(seconds(1)).await;
                    let status = world.scan().status().await.unwrap();
                    if status.is_whole() {
                        assert_eq!((status.rows_left, status.share_done()), (Some(0), Some(1.0)));
                        break;
                    }
                    let done = status.rows as f64 / (200 * PAGE) as f64;
                    let Some(estimate) = status.share_done() else {
                        assert_eq!(status.rows, 0);
                        continue;
                    };
                    let most = if done < 0.75 { 0.55 } else { 0.25 };
                    assert!((estimate - done).abs() <= most, "{kind}: {done:.2} {estimate:.2}");
                }
            };
            tokio::join!(join_all((0..4).map(|_| world.work(seconds(1)))), watch);
        });
    }
}

#[test]
fn a_scan_with_bounds_has_no_estimate_before_it_has_begun() {
    run(async {
        let world = World::new(numbered(500), 10).await;
        let scan = world.distribute(world.plain().prefix("5"));
        scan.start().await.unwrap();
        let status = scan.status().await.unwrap();
        assert_eq!((status.rows_left, status.share_done()), (None, None));
        assert!(world.work_on(&scan, seconds(1)).await.unwrap().complete);
        assert_eq!(scan.status().await.unwrap().rows_left, Some(0));
    });
}

#[test]
fn a_scan_that_is_never_split_has_no_share_before_its_end() {
    run(async {
        let world = World::new(numbered(500), 10).await;
        let scan = world.distribute(world.plain().split(Splitter::Serial));
        scan.start().await.unwrap();
        let share = async {
            sleep(seconds(20)).await;
            scan.status().await.unwrap().share_done()
        };
        let (report, share) = tokio::join!(world.work_on(&scan, seconds(1)), share);
        assert!(report.unwrap().complete && share.is_none());
        assert_eq!(scan.status().await.unwrap().share_done(), Some(1.0));
    });
}
