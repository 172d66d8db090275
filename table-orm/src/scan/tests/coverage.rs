//! Every row once, whatever the keys, the workers and the pages.

use super::*;
use crate::entity::RowHead;
use crate::query::{Comparison, Filter};
use proptest::prelude::*;
use proptest::sample::select;

/// Keys as nasty as the service allows: empty, quotes, percent, U+FFFF, surrogates, shared starts.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => select(vec!["a", "b", "aa", "z", "A", "0", "-", "_", " ", "~"]),
        1 => select(vec!["'", "''", "%", "%2F", "\"", "&", "+", ".", "{", "|"]),
        1 => select(vec!["\u{FFFF}", "\u{E000}", "\u{D7FF}", "\u{1F3C3}", "\u{10FFFF}", "é"]),
    ];
    prop::collection::vec(piece, 0..5).prop_map(|pieces| pieces.concat())
}

pub(in crate::scan) fn rows() -> impl Strategy<Value = Vec<Key>> {
    let spread = prop::collection::vec((text(), text()), 0..150);
    let few =
        (prop::collection::vec(text(), 1..4), prop::collection::vec((0..4_usize, text()), 0..150))
            .prop_map(|(pks, rows)| {
                rows.into_iter().map(|(pk, rk)| (pks[pk % pks.len()].clone(), rk)).collect()
            });
    prop_oneof![spread, few]
}

pub(in crate::scan) fn troubled(keys: Vec<Key>, page_rows: usize, trouble: u64) -> FakeService {
    let every = |at: u64| trouble.is_multiple_of(at).then_some(at + trouble % 3);
    let settings = ServiceSettings {
        page_rows,
        latency: (Duration::from_millis(1), Duration::from_millis(9)),
        empty_every: every(2),
        short_every: every(3),
        servers: 1 + (trouble % 4) as usize,
        seed: trouble,
        ..Default::default()
    };
    fake(KeySet::new(keys), settings)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::dose::dose(60, 300), max_shrink_time: 20_000, ..Default::default() })]

    #[test]
    fn every_row_comes_once(
        rows in rows(),
        page in 1..8_usize,
        workers in 1..=64_usize,
        splitter in select(splitters().to_vec()),
        trouble in 1..1000_u64,
    ) {
        let service = troubled(rows, page, trouble);
        let scan = scan(&service).split(splitter).concurrency(workers);
        let found = run(scan.collect()).unwrap();
        prop_assert_eq!(sorted(keys(&found)), all(&service));
    }

    #[test]
    fn ordered_rows_come_sorted(
        rows in rows(),
        page in 1..8_usize,
        workers in 1..=64_usize,
        splitter in select(splitters().to_vec()),
        trouble in 1..1000_u64,
    ) {
        let service = troubled(rows, page, trouble);
        let scan = scan(&service).split(splitter).concurrency(workers).ordered(true);
        let found = run(scan.collect()).unwrap();
        prop_assert_eq!(keys(&found), all(&service));
    }

    #[test]
    fn partition_keys_come_once(
        rows in rows(),
        page in 1..8_usize,
        workers in 1..=64_usize,
        splitter in select(splitters().to_vec()),
        ordered: bool,
        trouble in 1..1000_u64,
    ) {
        let service = troubled(rows, page, trouble);
        let scan = scan(&service).split(splitter).concurrency(workers).ordered(ordered);
        let mut found = run(async {
            let mut stream = scan.partition_keys();
            let mut keys = Vec::new();
            while let Some(key) = stream.next().await.unwrap() {
                keys.push(key);
            }
            keys
        });
        if !ordered {
            found.sort_by(|left, right| order::compare(left, right));
        }
        let mut expected: Vec<_> = all(&service).into_iter().map(|(pk, _)| pk).collect();
        expected.dedup();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn a_range_and_a_prefix_limit_the_partitions(
        rows in rows(),
        (lo, hi, prefix) in (text(), text(), select(vec!["", "a", "aa", "'", "\u{1F3C3}", "\u{FFFF}"])),
        page in 1..8_usize,
        splitter in select(splitters().to_vec()),
    ) {
        let service = service(rows, page);
        let inside = |pk: &str| {
            order::compare(pk, &lo).is_ge() && order::compare(pk, &hi).is_lt() && pk.starts_with(prefix)
        };
        let expected: Vec<_> = all(&service).into_iter().filter(|(pk, _)| inside(pk)).collect();
        let scan = scan(&service).split(splitter).partition_range(lo.clone()..hi.clone()).prefix(prefix);
        match run(scan.collect()) {
            Ok(found) => prop_assert_eq!(sorted(keys(&found)), expected),
            Err(crate::Error::Scan(crate::scan::ScanError::EmptyRange { .. })) => {
                prop_assert!(expected.is_empty());
                prop_assert_eq!(service.figures().requests, 0);
            }
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn a_scan_behind_a_row_reads_the_later_rows_once(
        rows in rows(),
        (partition_key, row_key) in (text(), text()),
        prefix in select(vec!["", "a", "'", "\u{1F3C3}"]),
        page in 1..8_usize,
        workers in 1..=64_usize,
        splitter in select(splitters().to_vec()),
        ordered: bool,
        trouble in 1..1000_u64,
    ) {
        let last = RowHead { partition_key, row_key };
        // Every other time, a row that is there.
        let last = match rows.get(trouble as usize % (2 * rows.len()).max(1)) {
            Some((pk, rk)) => RowHead { partition_key: pk.clone(), row_key: rk.clone() },
            None => last,
        };
        let service = troubled(rows, page, trouble);
        let scan = scan(&service).split(splitter).concurrency(workers).ordered(ordered);
        let scan = scan.prefix(prefix).after(last.clone());
        let found = keys(&run(scan.clone().collect()).unwrap());
        let is_later = |(pk, rk): &Key| {
            let head = RowHead { partition_key: pk.clone(), row_key: rk.clone() };
            head > last && pk.starts_with(prefix)
        };
        let expected: Vec<_> = all(&service).into_iter().filter(is_later).collect();
        prop_assert_eq!(if ordered { found } else { sorted(found) }, expected.clone());
        let report = run(scan.count()).unwrap();
        prop_assert_eq!(report.rows, expected.len() as u64);
        prop_assert!(!report.already_complete);
    }

    #[test]
    fn filtered_rows_come_once(
        rows in rows(),
        page in 1..8_usize,
        workers in 1..=64_usize,
        (from, to) in (0..50_i32, 50..150_i32),
    ) {
        let service = service(rows, page);
        let filter = Filter::compare("N", Comparison::GreaterOrEqual, from)
            .and(Filter::compare("N", Comparison::Less, to));
        let found = run(scan(&service).filter(filter).concurrency(workers).collect()).unwrap();
        let mut expected = all(&service);
        expected.truncate(to as usize);
        expected.drain(..(from as usize).min(expected.len()));
        prop_assert_eq!(sorted(keys(&found)), expected);
    }
}

#[test]
fn one_big_partition_is_split_by_row_key() {
    let service = service((0..5000).map(|row| ("all".to_owned(), format!("{row:06}"))), 50);
    let report = run(scan(&service).count()).unwrap();
    assert_eq!(report.rows, 5000);
    assert!(service.figures().busiest >= 12, "{:?}", service.figures());
    assert!(report.dropped > 0, "a split while a page is in flight costs rows: {report:?}");
}

#[test]
fn a_scan_survives_throttling_and_says_which_partition_was_hot() {
    let keys = (0..20_000).map(|row| ("hot".to_owned(), format!("{row:06}")));
    let settings = ServiceSettings::measured(20_000).with_targets();
    let service = fake(KeySet::new(keys), settings);
    let report = run(scan(&service).count()).unwrap();
    assert_eq!(report.rows, 20_000);
    assert!(report.throttled > 0);
    assert_eq!(report.throttled, service.figures().throttled);
    assert_eq!(report.hot_partitions, ["hot"]);
    assert!(report.elapsed >= Duration::from_secs(8), "{report:?}");
}

#[test]
fn a_slow_consumer_stops_the_workers() {
    for ordered in [false, true] {
        let service = service((0..3000).map(|row| (format!("{row:06}"), String::new())), 10);
        let rows = run(async {
            let mut rows = scan(&service).concurrency(4).ordered(ordered).buffer(50_000).stream();
            while rows.next().await.unwrap().is_some() {
                tokio::time::sleep(Duration::from_millis(100)).await;
                let report = rows.report();
                let waiting = service.figures().rows - report.dropped - report.rows;
                // Two pages for each worker, or where rows are ordered those of the buffer, and the
                // pages that wait for the consumer.
                assert!(waiting <= if ordered { 250 } else { 80 }, "{waiting}");
            }
            rows.report().rows
        });
        assert_eq!(rows, 3000);
    }
}

#[test]
fn a_stream_returns_rows_and_its_report() {
    let service = service(grid("heat", 7, 5), 4);
    run(async {
        let mut rows = scan(&service).select(["Other"]).stream();
        let mut found = Vec::new();
        while let Some(row) = rows.next().await.unwrap() {
            assert!(row.etag.is_some() && row.properties.is_empty());
            found.push(key(&row));
        }
        assert_eq!(sorted(found), all(&service));
        let report = rows.report();
        assert_eq!((report.rows, report.requests), (35, service.figures().requests));
    });
}

#[test]
fn an_error_ends_the_scan() {
    let settings = ServiceSettings { account_target: Some(0.5), ..Default::default() };
    let service = fake(KeySet::new(grid("heat", 5, 5)), settings);
    let error = run(scan(&service).split(Splitter::Serial).count()).unwrap_err();
    assert!(matches!(error, crate::Error::Throttled(_)), "{error}");
    let handled = run(scan(&super::service(grid("heat", 5, 5), 2))
        .on_page(|_| async { Err::<(), _>(crate::Error::PageSize(0)) }));
    assert!(matches!(handled, Err(crate::Error::PageSize(0))));
}

#[test]
fn workers_on_several_threads_lose_and_double_nothing() {
    run_on(Builder::new_multi_thread().worker_threads(4), async {
        for round in 0..crate::dose::dose(6, 30) {
            let big = (0..1500).map(|row| ("m".to_owned(), format!("{row:05}")));
            let small = (0..1500).map(|row| (format!("s{row:05}"), String::new()));
            let settings = ServiceSettings { page_rows: 20, ..Default::default() };
            let service = fake(KeySet::new(big.chain(small)), settings);
            for splitter in splitters() {
                let ordered = round % 2 == 0;
                let rows = scan(&service).split(splitter).ordered(ordered).collect().await.unwrap();
                let found = if ordered { keys(&rows) } else { sorted(keys(&rows)) };
                assert_eq!(found, all(&service));
            }
        }
    });
}
