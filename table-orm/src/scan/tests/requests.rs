//! The cost of a scan.

use super::*;
use crate::testing::KeyKind;

#[test]
fn up_to_a_page_of_rows_costs_exactly_one_request() {
    for rows in [0, 1, 999, 1000] {
        for ordered in [false, true] {
            let service = service((0..rows).map(|row| (format!("{row}"), String::new())), 1000);
            let report = run(scan(&service).ordered(ordered).count()).unwrap();
            assert_eq!((report.rows, report.requests, report.ranges), (rows, 1, 1));
        }
    }
}

#[test]
fn uniform_keys_take_few_requests_more_than_a_serial_scan() {
    // Each split may cost a page, and each worker's share is halved several times.
    for workers in [1, 4, 16] {
        let keys = KeyKind::UniformHex.generate(100_000, 3);
        let service = fake(keys, ServiceSettings::measured(100_000));
        let report = run(scan(&service).concurrency(workers).count()).unwrap();
        assert_eq!(report.rows, 100_000);
        let pages = 102.0;
        let splits = if workers == 1 { 0.0 } else { workers as f64 * f64::log2(pages) };
        assert!(report.requests as f64 <= pages + splits, "{workers}: {report:?}");
    }
}

#[test]
fn eight_workers_are_much_faster_than_one_on_every_kind_of_keys() {
    for kind in KeyKind::ALL.into_iter().step_by(crate::dose::dose(2, 1)) {
        let keys = kind.generate(100_000, 7);
        let settings = ServiceSettings::measured(keys.len());
        let time = |workers: usize| {
            let service = fake(keys.clone(), settings.clone());
            run(scan(&service).concurrency(workers).count()).unwrap().elapsed.as_secs_f64()
        };
        let gain = time(1) / time(8);
        assert!(gain >= 3.0, "{kind}: {gain:.1}x");
    }
}

#[test]
fn partition_keys_cost_at_most_a_request_for_each_partition_and_range() {
    let keys: Vec<_> = grid("tenant", 40, 500);
    let service = service(keys, 100);
    let report = run(async {
        let mut stream = scan(&service).partition_keys();
        while stream.next().await.unwrap().is_some() {}
        stream.report()
    });
    assert_eq!(report.rows, 40);
    assert!(report.requests <= 40 + report.ranges, "{report:?}");
    let select = service.queries().into_iter().map(|query| query.select.unwrap());
    assert!(select.into_iter().all(|names| names == ["PartitionKey"]));
}

#[test]
fn split_keys_start_the_workers_at_once() {
    let service = service((0..4000).map(|row| (format!("{row:04}"), String::new())), 1000);
    let keys = ["1000", "2000", "3000", "9999", "1000"].map(str::to_owned).to_vec();
    let scan = scan(&service).split(Splitter::Keys(keys)).partition_range("0500".to_owned()..);
    let report = run(scan.count()).unwrap();
    assert_eq!((report.rows, report.requests), (3500, 5));
    let first = service.queries()[1].filter_text();
    assert_eq!(first.as_deref(), Some("PartitionKey ge '1000' and PartitionKey lt '2000'"));
}

#[test]
fn no_more_requests_are_under_way_than_there_are_workers() {
    for workers in [1, 3, 16] {
        let service = service((0..3000).map(|row| (format!("{row:06}"), String::new())), 10);
        run(scan(&service).concurrency(workers).count()).unwrap();
        assert!(service.figures().busiest <= workers as u64);
    }
}

#[test]
fn partitions_of_about_a_page_are_not_read_twice() {
    for rows in [50_usize, 99, 100, 101, 150] {
        let partition = |p| (0..rows).map(move |row| (format!("{p:03}"), format!("{row:03}")));
        for workers in [2, 8] {
            let service = service((0..200).flat_map(partition), 100);
            let report = run(scan(&service).concurrency(workers).count()).unwrap();
            let pages = (200 * rows).div_ceil(100) as f64;
            assert!(report.requests as f64 <= 1.5 * pages, "{rows} {workers}: {report:?}");
        }
    }
}

#[test]
fn scans_that_are_throttled_at_a_time_do_not_come_back_at_a_time() {
    let service = service(grid("heat", 3, 3), 2);
    let table = TableName::new("things").unwrap();
    let scan = || Tables::new(service.clone()).scan(table.clone(), ScanPermit::because("test"));
    assert_ne!(scan().random().next(), scan().random().next());
    assert_eq!(scan().seed(1).random().next(), scan().seed(1).random().next());
}
