//! Queries of one partition that several workers read: the answer of one worker, sooner.

use super::*;
use crate::dose::dose;
use crate::error::Error;
use crate::query::class::Partition;
use crate::repo::List;
use crate::scan::ScanError;
use crate::testing::Random;
use crate::{Projection, TableEntity};
use proptest::prelude::*;
use tokio::time::Instant;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "readings", partition = "{sensor}", row = "{at:09}", crate = crate)]
struct Reading {
    #[table(key_only)]
    sensor: String,
    #[table(key_only)]
    at: u32,
    n: i32,
}

#[derive(Debug, PartialEq, Projection)]
#[projection(of = Reading, crate = crate)]
struct Moment {
    at: u32,
}

type Roof = List<<Reading as TableEntity>::Canonical, Partition, Reading>;

/// A service with three partitions of about that many rows, at irregular moments.
fn readings(rows: usize, settings: ServiceSettings) -> FakeService {
    let mut random = Random::new(3);
    let mut moments: Vec<u64> = (0..rows).map(|_| random.bits() % 1_000_000_000).collect();
    moments.sort_unstable();
    moments.dedup();
    let of =
        |name: &'static str| moments.iter().map(move |at| (name.to_owned(), format!("{at:09}")));
    fake(KeySet::new(["attic", "roof", "roof2"].into_iter().flat_map(of)), settings)
}

fn roof(service: &FakeService) -> Roof {
    Tables::new(service.clone()).repo::<Reading>().list(Reading::partition("roof"))
}

#[test]
fn a_large_partition_is_read_in_order_in_a_fraction_of_the_time() {
    let rows = dose(60_000, 300_000);
    let settings = ServiceSettings::measured(rows);
    let pages = rows.div_ceil(settings.page_rows) as u64;
    let timed = |workers: Option<usize>| {
        let service = readings(rows, settings.clone());
        let (read, time) = run(async {
            let start = Instant::now();
            let read = match workers {
                Some(workers) => roof(&service).workers(workers).seed(1).collect().await,
                None => roof(&service).collect().await,
            };
            (read.unwrap(), start.elapsed())
        });
        (read, time.as_secs_f64(), service.figures().requests)
    };
    let (expected, one, _) = timed(None);
    let (read, eight, requests) = timed(Some(8));
    assert!(read == expected, "the rows, or their order, differ");
    assert!(expected.is_sorted_by_key(|reading| reading.at));
    assert!(one / eight >= 4.0, "{:.1} times as fast", one / eight);
    assert!(requests * 2 <= pages * 3, "{requests} requests for {pages} pages");
}

#[test]
fn a_page_takes_one_request_and_a_limit_no_request_beyond_it() {
    let settings = || ServiceSettings { recorded: true, ..ServiceSettings::default() };
    let small = readings(500, settings());
    assert_eq!(run(roof(&small).workers(8).collect()).unwrap().len(), 500);
    assert_eq!(small.figures().requests, 1);
    let large = readings(20_000, settings());
    let some = run(roof(&large).take(1500).workers(8).collect()).unwrap();
    assert_eq!((some.len(), large.figures().requests), (1500, 2));
    assert_eq!(some, run(roof(&large).take(1500).collect()).unwrap());
}

#[test]
fn a_number_of_workers_that_makes_no_sense_is_rejected() {
    let service = readings(10, ServiceSettings::default());
    let rejected = |workers| match run(roof(&service).workers(workers).collect()) {
        Err(Error::Scan(error)) => error,
        other => panic!("{other:?}"),
    };
    assert!(matches!(rejected(0), ScanError::NoWorkers));
    assert!(matches!(rejected(1 << 20), ScanError::TooManyWorkers { .. }));
    assert_eq!(service.figures().requests, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(dose(40, 400)))]

    #[test]
    fn workers_return_what_one_worker_returns(
        rows in 0..400_usize,
        page_rows in 1..40_usize,
        (from, to) in (0..1_000_000_000_u32, 0..1_000_000_000_u32),
        least in prop::option::of(0..400_i32),
        (empty, short) in (prop::option::of(2..5_u64), prop::option::of(2..5_u64)),
        workers in 1..12_usize,
        seed in any::<u64>(),
    ) {
        let latency = (Duration::from_millis(1), Duration::from_millis(9));
        let settings = ServiceSettings {
            page_rows, latency, empty_every: empty, short_every: short, seed, ..Default::default()
        };
        let service = readings(rows, settings);
        let repo = Tables::new(service).repo::<Reading>();
        let keys = Reading::partition("roof").row().at_in(from.min(to)..from.max(to));
        let list = match least {
            Some(least) => repo.list(keys).filter(|row| row.n.ge(least)),
            None => repo.list(keys),
        };
        let (expected, read) = run(async {
            let expected = list.clone().collect().await.unwrap();
            (expected, list.clone().workers(workers).seed(seed).collect().await.unwrap())
        });
        prop_assert_eq!(&read, &expected);
        let moments = run(list.project::<Moment>().workers(workers).collect()).unwrap();
        let expected: Vec<_> = expected.into_iter().map(|reading| Moment { at: reading.at }).collect();
        prop_assert_eq!(moments, expected);
    }
}
