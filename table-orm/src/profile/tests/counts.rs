//! Counts of partitions are those of a table read into memory, however the workers divide it.

use super::super::Profile;
use super::*;
use crate::dose::dose;
use crate::figures::Percentiles;
use crate::query::ScanPermit;
use crate::scan::Splitter;
use crate::tables::Tables;
use crate::testing::{FakeService, KeyKind, KeySet, ServiceSettings};
use proptest::prelude::*;
use std::time::Duration;
use tokio::runtime::Builder;

/// The rows of each partition, counted in memory.
fn counted(keys: &KeySet) -> Vec<(String, u64)> {
    let mut partitions: Vec<(String, u64)> = Vec::new();
    for (key, _) in keys.iter() {
        match partitions.last_mut() {
            Some((last, rows)) if *last == key => *rows += 1,
            _ => partitions.push((key.into_owned(), 1)),
        }
    }
    partitions
}

fn start(service: &FakeService) -> Profile<'static> {
    let table = TableName::new("things").unwrap();
    let profile = Tables::new(service.clone()).table(table).profile(ScanPermit::because("test"));
    profile.scan(|scan| scan.seed(1))
}

/// On a clock that passes only while all wait.
fn run(profile: Profile<'_>) -> ProfileReport {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async { profile.await.unwrap() })
}

fn assert_exact(report: &ProfileReport, keys: &KeySet, context: &str) {
    let mut partitions = counted(keys);
    let found = &report.partitions;
    assert_eq!(
        (report.rows, found.count),
        (keys.len() as u64, partitions.len() as u64),
        "{context}"
    );
    assert_eq!(found.single_row, partitions.iter().filter(|(_, rows)| *rows == 1).count() as u64);
    // Stable: of equal ones, the first in key order.
    partitions.sort_by_key(|(_, rows)| std::cmp::Reverse(*rows));
    let largest: Vec<_> = partitions.iter().take(10).cloned().collect();
    let listed: Vec<_> = found.most_rows.iter().map(|one| (one.key.clone(), one.rows)).collect();
    assert_eq!(listed, largest, "{context}");
    let Percentiles { least, p50, p90, p99, p999, most, mean } = found.rows;
    let ascending: Vec<_> = partitions.iter().rev().map(|(_, rows)| *rows).collect();
    assert_eq!((least, most), (ascending[0], *ascending.last().unwrap()), "{context}");
    assert!((mean - keys.len() as f64 / ascending.len() as f64).abs() < 1e-6, "{context}");
    for (share, found) in [(0.5, p50), (0.9, p90), (0.99, p99), (0.999, p999)] {
        // That share of the partitions has at most so many rows.
        let exact = ascending[(share * ascending.len() as f64).ceil() as usize - 1];
        let error = found.abs_diff(exact) as f64;
        assert!(error <= (exact as f64 * 0.01).max(1.0), "{context}: {found} for {exact}");
    }
}

#[test]
fn partitions_are_counted_exactly_on_every_kind_of_keys() {
    for kind in KeyKind::ALL {
        let keys = kind.generate(dose(4000, 100_000), 7);
        let settings = ServiceSettings {
            page_rows: 60,
            empty_every: Some(7),
            short_every: Some(5),
            account_target: Some(20_000.0),
            ..ServiceSettings::measured(200_000)
        };
        for (workers, splitter) in
            [(16, Splitter::Adaptive), (5, Splitter::Prefix), (1, Splitter::Serial)]
        {
            let context = format!("{kind}, {workers} workers, {splitter:?}");
            let service = FakeService::new(keys.clone(), settings.clone());
            let profile = start(&service).scan(|scan| scan.concurrency(workers).split(splitter));
            let report = run(profile);
            assert_exact(&report, &keys, &context);
            assert_eq!(report.requests, service.figures().requests, "{context}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn partitions_of_skewed_sizes_are_counted_exactly(
        largest in 1_usize..400,
        partitions in 1_usize..60,
        page_rows in 1_usize..90,
        workers in 1_usize..17,
        seed: u64,
    ) {
        // Zipf: the n-th largest has the n-th part of the rows of the largest.
        let row = |rank: usize| {
            let name = format!("{:08x}", (rank as u64 ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32);
            (0..largest.div_ceil(rank)).map(move |row| (name.clone(), format!("{row:04}")))
        };
        let keys = KeySet::new((1..=partitions).flat_map(row));
        let latency = (Duration::from_millis(1), Duration::from_millis(9));
        let service = FakeService::new(keys.clone(), ServiceSettings { page_rows, latency, seed, ..Default::default() });
        let profile = start(&service).scan(|scan| scan.concurrency(workers));
        assert_exact(&run(profile), &keys, "skewed");
    }
}

#[test]
fn bytes_are_those_of_the_services_formula_and_a_profile_of_keys_reads_none() {
    let keys = KeySet::new((0..10).map(|row| (format!("p{}", row / 5), format!("r{row}"))));
    let settings = ServiceSettings { recorded: true, ..Default::default() };
    let service = FakeService::new(keys, settings);
    let report = run(start(&service));
    // 4, two for each of four characters, and N: 8, 2 and 4.
    let bytes = 10 * (4 + 2 * 4 + 8 + 2 + 4);
    let sizes = report.sizes.as_ref().unwrap();
    assert_eq!((sizes.bytes, sizes.name_bytes), (bytes, 20));
    assert_eq!((sizes.row.least, sizes.row.p50, sizes.row.most), (26, 26, 26));
    assert_eq!(report.partitions.most_bytes[1].bytes, bytes / 2);
    let n = report.property("N").unwrap();
    assert_eq!((n.rows, n.of_rows, n.bytes), (10, 10, 140));
    assert!(service.queries().iter().all(|query| query.select.is_none()));

    let asked = service.queries().len();
    let keys = run(start(&service).keys_only());
    assert_eq!((keys.rows, keys.requests), (report.rows, report.requests));
    assert_eq!((&keys.sizes, keys.properties.len(), keys.partitions.bytes), (&None, 0, None));
    assert_eq!(keys.partitions.most_bytes, []);
    assert_eq!(keys.kinds[0].rows, 10);
    for query in &service.queries()[asked..] {
        let select = query.select.clone().unwrap();
        assert!(select.iter().all(|name| name != "N") && select.len() == 5, "{select:?}");
    }
}

#[test]
fn the_scan_s_options_choose_the_rows_and_progress_counts_them() {
    let service = FakeService::new(KeySet::numbered(40, 5), ServiceSettings::default());
    let mut seen = Vec::new();
    let profile = start(&service)
        .scan(|scan| scan.partition_range("0000000010".to_owned()..).page_size(25))
        .top(2)
        .on_progress(|progress| seen.push((progress.rows, progress.partitions)));
    let plan = profile.plan().unwrap().to_string();
    assert!(plan.contains("PartitionKey ge '0000000010'") && plan.contains("test"), "{plan}");
    let report = run(profile);
    assert_eq!((report.rows, report.partitions.count), (150, 30));
    assert_eq!(report.partitions.most_rows.len(), 2);
    assert!(seen.is_sorted() && seen.last() == Some(&(150, 30)), "{seen:?}");

    let few = run(start(&service).scan(|scan| scan.take(7)));
    assert_eq!((few.rows, few.partitions.count, few.requests), (7, 2, 1));
    let none = run(start(&service).scan(|scan| scan.prefix("x")));
    assert_eq!((none.rows, none.partitions.count, none.advice.len()), (0, 0, 0));
}
