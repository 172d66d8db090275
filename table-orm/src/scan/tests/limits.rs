//! Scans of some rows only: they return no more rows than their limit, and send few requests.

use super::*;
use crate::Error;
use crate::query::{Comparison, Filter};
use futures_util::FutureExt as _;

fn numbered(rows: usize, page_rows: usize) -> FakeService {
    service((0..rows).map(|row| (format!("{row:05}"), String::new())), page_rows)
}

#[test]
fn a_few_rows_of_a_large_table_cost_one_request() {
    for splitter in [Splitter::Adaptive, Splitter::Serial] {
        let service = numbered(5000, 1000);
        let scan = || scan(&service).split(splitter.clone());
        assert_eq!(run(scan().take(5).collect()).unwrap().len(), 5);
        assert_eq!(
            run(scan().first()).unwrap().map(|row| row.partition_key).as_deref(),
            Some("00000")
        );
        assert!(run(scan().exists()).unwrap());
        assert_eq!(service.figures().requests, 3);
        assert_eq!(service.figures().rows, 5 + 1 + 1);
        assert!(matches!(run(scan().one()), Err(Error::RowCount(found)) if found.found == 2));
        assert_eq!(service.figures().requests, 4);
    }
}

#[tokio::test(start_paused = true)]
async fn a_scan_whose_pages_were_read_ahead_lets_others_run() {
    let service = numbered(50, 5);
    let mut pages = scan(&service).page_stream();
    pages.next().await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(pages.next().now_or_never().is_none(), "the next page is there");
    assert!(pages.next().await.unwrap().is_some());
}

#[test]
fn no_row_costs_no_request() {
    let service = numbered(50, 10);
    assert_eq!(run(scan(&service).take(0).collect()).unwrap(), []);
    assert_eq!(run(scan(&service).take(9).take(0).count()).unwrap().rows, 0);
    assert_eq!(service.figures().requests, 0);
}

#[test]
fn an_empty_range_has_no_first_row() {
    let service = numbered(50, 10);
    let beside = || scan(&service).prefix("9");
    assert!(run(beside().first()).unwrap().is_none());
    assert!(!run(beside().exists()).unwrap());
    assert!(matches!(run(beside().one()), Err(Error::RowCount(found)) if found.found == 0));
    let only = run(scan(&service).prefix("00042").one()).unwrap();
    assert_eq!(only.partition_key, "00042");
}

#[test]
fn as_many_rows_come_as_were_asked_for_each_once() {
    let keys = || grid("tenant", 12, 30).into_iter().chain(grid("x", 200, 1));
    for splitter in splitters() {
        for ordered in [false, true] {
            for rows in [1, 7, 40, 41, 399, 560, 1000] {
                let service = service(keys(), 20);
                let scan = scan(&service).split(splitter.clone()).ordered(ordered).take(rows);
                let found = self::keys(&run(scan.collect()).unwrap());
                let all = all(&service);
                assert_eq!(found.len(), rows.min(560));
                if ordered {
                    assert_eq!(found, all[..rows.min(560)]);
                }
                let mut once = sorted(found);
                once.dedup();
                assert_eq!(once.len(), rows.min(560));
            }
        }
    }
}

#[test]
fn no_request_is_sent_once_enough_rows_are_found() {
    let service = numbered(5000, 10);
    let filter = Filter::compare("N", Comparison::GreaterOrEqual, 2000);
    let found = run(scan(&service).filter(filter).take(30).collect()).unwrap();
    assert_eq!(found.len(), 30);
    let requests = service.figures().requests;
    // Three pages hold the rows; each worker may have had one more request in flight.
    assert!(requests <= 3 + 16, "{requests}");
    let service = numbered(5000, 10);
    assert_eq!(run(scan(&service).take(95).count()).unwrap().rows, 95);
    assert!(service.figures().requests <= 10 + 10, "{:?}", service.figures());
}

#[test]
fn partition_keys_are_limited_by_their_number() {
    for splitter in splitters() {
        for most in [1, 6, 29, 30, 50] {
            let service = service(grid("tenant", 30, 20), 50);
            let found = run(async {
                let scan = scan(&service).split(splitter.clone()).ordered(true).take(most);
                let mut keys = scan.partition_keys();
                let mut found = Vec::new();
                while let Some(key) = keys.next().await.unwrap() {
                    found.push(key);
                }
                found
            });
            let mut expected: Vec<_> = all(&service).into_iter().map(|(pk, _)| pk).collect();
            expected.dedup();
            expected.truncate(most);
            assert_eq!(found, expected);
        }
    }
}

#[test]
fn a_limited_scan_is_resumed_behind_the_rows_it_returned() {
    let directory = tempfile::tempdir().unwrap();
    for splitter in splitters() {
        for ordered in [false, true] {
            let path = directory.path().join(format!("{splitter:?}{ordered}"));
            let service = service(grid("tenant", 12, 30), 20);
            let mut found = Vec::new();
            loop {
                let scan = scan(&service).split(splitter.clone()).checkpoint(path.clone());
                let some = keys(&run(scan.ordered(ordered).take(47).collect()).unwrap());
                if some.is_empty() {
                    break;
                }
                found.extend(some);
            }
            let found = if ordered { found } else { sorted(found) };
            assert_eq!(found, all(&service), "{splitter:?} {ordered}");
        }
    }
}

#[test]
fn pages_and_plans_know_the_limit() {
    let service = numbered(100, 10);
    let plan = scan(&service).take(25).plan().unwrap().to_string();
    assert!(plan.contains("at most       25 rows in all"), "{plan}");
    let sizes = run(async {
        let mut pages = scan(&service).take(25).pages(10);
        let mut sizes = Vec::new();
        while let Some(page) = pages.next().await.unwrap() {
            sizes.push(page.len());
        }
        sizes
    });
    assert_eq!(sizes, [10, 10, 5]);
}
