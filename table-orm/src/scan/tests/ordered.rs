//! Scans in key order: fast on every kind of keys, within their buffer, whatever happens meanwhile.

use super::checkpoints::until;
use super::*;
use crate::dose::dose;
use crate::embedded::EmbeddedStore;
use crate::model::Edm;
use crate::query::RowQuery;
use crate::scan::{ScanError, ScanReport};
use crate::store::{Middleware, Page, Store, StoreError};
use crate::testing::{KeyKind, Random};
use std::sync::Mutex;

/// The buffer for about 230 pages of generated keys.
const BUFFER: usize = 16 * 1024 * 1024;

fn timed(keys: &KeySet, settings: &ServiceSettings, workers: usize) -> ScanReport {
    let service = fake(keys.clone(), settings.clone());
    let splitter = if workers == 1 { Splitter::Serial } else { Splitter::Adaptive };
    let scan = scan(&service).split(splitter).concurrency(workers).ordered(true).buffer(BUFFER);
    let report = run(scan.count()).unwrap();
    assert_eq!(report.rows, keys.len() as u64);
    assert!(report.held_bytes <= BUFFER as u64, "{report:?}");
    report
}

/// The speed-up of 16 workers over one, and their requests over the least.
fn gain(keys: &KeySet) -> (f64, f64) {
    let settings = ServiceSettings::measured(keys.len());
    let (one, many) = (timed(keys, &settings, 1), timed(keys, &settings, 16));
    let least = keys.len().div_ceil(settings.page_rows) as f64;
    (one.elapsed.as_secs_f64() / many.elapsed.as_secs_f64(), many.requests as f64 / least)
}

#[test]
fn rows_in_order_come_much_faster_than_one_by_one_on_every_kind_of_keys() {
    for kind in KeyKind::ALL {
        // A short scan spends much of its time until all workers are busy.
        let (rows, least) = dose((100_000, 4.5), (1_000_000, 10.0));
        let (speed, requests) = gain(&kind.generate(rows, 7));
        assert!(speed >= least && requests <= 1.6, "{kind}: {speed:.1}x, {requests:.2}");
    }
}

#[test]
fn partitions_of_some_pages_are_read_side_by_side() {
    let mut random = Random::new(5);
    for rows in [1000_usize, 1300, 5000] {
        let count = dose(200_000, 1_000_000) / rows;
        let names: Vec<_> = (0..count).map(|_| format!("{:08x}", random.bits() >> 32)).collect();
        let partition = |pk: &String| {
            let pk = pk.clone();
            (0..rows).map(move |row| (pk.clone(), format!("{:019}", row as u64 * 6_000_000_000)))
        };
        let (speed, requests) = gain(&KeySet::new(names.iter().flat_map(partition)));
        let least = dose(4.5, 9.0);
        assert!(speed >= least && requests <= 1.7, "{rows}: {speed:.1}x, {requests:.2}");
    }
}

#[test]
fn a_cut_in_one_partition_costs_no_rows() {
    let keys = KeyKind::OnePartition.generate(100_000, 3);
    let report = timed(&keys, &ServiceSettings::measured(keys.len()), 16);
    assert!(report.ranges > 10 && report.dropped == 0, "{report:?}");
}

#[test]
fn no_more_bytes_wait_than_the_buffer_holds() {
    let page = ServiceSettings { page_rows: 100, ..ServiceSettings::measured(20_000) };
    let throttled = ServiceSettings { account_target: Some(5_000.0), ..page.clone() };
    let troubled = ServiceSettings { empty_every: Some(7), short_every: Some(5), ..page.clone() };
    for kind in [KeyKind::PackageIds, KeyKind::ZipfTenants] {
        let keys = kind.generate(20_000, 7);
        for settings in [&page, &throttled, &troubled] {
            for (buffer, busy) in [(1, 0), (50_000, 3), (200_000, 0), (1_000_000, 30)] {
                let service = fake(keys.clone(), settings.clone());
                let scan = scan(&service).ordered(true).buffer(buffer);
                let mut found = Vec::new();
                let report = run(scan.on_page(|page| {
                    found.extend(super::keys(&page.rows));
                    async move {
                        tokio::time::sleep(Duration::from_millis(busy)).await;
                        Ok::<_, crate::Error>(())
                    }
                }))
                .unwrap();
                assert_eq!(found, all(&service));
                // The page that the consumer waits for, and pages larger than those before. Of a row's bytes, most
                // are those of its map.
                let pages = 2 * 100 * 900;
                let most = buffer + pages;
                assert!(report.held_bytes <= most as u64, "{kind}, {buffer}: {report:?}");
                assert!(buffer > 1 || report.held_bytes <= pages as u64, "{report:?}");
            }
        }
    }
}

#[test]
fn a_row_of_any_shape_counts_with_the_memory_of_its_map() {
    let service = service(grid("p", 1, 100), 100);
    let mut pages = scan(&service).ordered(true).page_stream();
    let held = run(async {
        while pages.next().await.unwrap().is_some() {}
        pages.report().held_bytes as usize
    });
    // Of a map with one property, the node has room for eleven.
    let row = size_of::<DynamicEntity>() + 11 * size_of::<(String, Edm)>();
    assert!(held > 100 * row && held < 100 * (row + 200), "{held}");
    let keys = run(scan(&service).ordered(true).count()).unwrap().held_bytes;
    assert!(keys < 100 * 200, "{keys}");
}

#[test]
fn a_larger_buffer_is_faster_and_a_small_one_still_ends() {
    let keys = KeyKind::PackageIds.generate(50_000, 7);
    let time = |buffer| {
        let settings = ServiceSettings { page_rows: 100, ..ServiceSettings::measured(keys.len()) };
        let service = fake(keys.clone(), settings);
        run(scan(&service).ordered(true).buffer(buffer).count()).unwrap().elapsed
    };
    let times = [1, 100_000, 2_000_000].map(time);
    assert!(times[0] > 2 * times[1] && times[1] > times[2], "{times:?}");
}

#[test]
fn an_ordered_scan_killed_at_any_page_goes_on_with_the_next_row() {
    let directory = tempfile::tempdir().unwrap();
    for pages in (0..60).step_by(dose(5, 1)) {
        let path = directory.path().join(pages.to_string());
        let service = service(grid("tenant", 9, 30), 5);
        let scan = || {
            let scan = scan(&service).ordered(true).concurrency(6).buffer(20_000);
            scan.checkpoint(path.clone())
        };
        let (mut found, flying, _) = run(until(scan(), pages));
        let rest = keys(&run(scan().collect()).unwrap());
        assert!(rest.starts_with(&flying));
        found.extend(rest);
        assert_eq!(found, all(&service), "{pages}");
    }
}

/// Before each query, other clients insert a row and delete another one.
#[derive(Debug)]
struct Written {
    store: EmbeddedStore,
    random: Mutex<Random>,
}

impl Middleware for Written {
    fn inner(&self) -> &dyn Store {
        &self.store
    }

    async fn query(&self, query: &RowQuery) -> Result<Page, StoreError> {
        let (new, old, wait) = {
            let mut random = self.random.lock().unwrap();
            let mut key = |low: usize| format!("{:04}", low + 2 * random.below(600));
            (key(1), key(0), random.below(9) as u64)
        };
        let rows = Tables::new(self.store.clone()).table(query.table.clone());
        rows.insert_or_replace(&DynamicEntity::new(&new[..1], &new)).await.unwrap();
        if old.ends_with('0')
            && let Some(old) = rows.get(&old[..1], &old).await.unwrap()
        {
            // Another query may delete it first.
            drop(rows.delete(&old).await);
        }
        tokio::time::sleep(Duration::from_millis(wait)).await;
        self.store.query(query).await
    }
}

#[test]
fn rows_stay_in_order_and_single_while_others_write() {
    for seed in 0..dose(5, 50) {
        let found = run(async {
            let store = EmbeddedStore::in_memory().unwrap();
            let table = TableName::new("things").unwrap();
            let tables = Tables::new(store.clone());
            tables.create(&table).await.unwrap();
            // Even numbers, of which those that end in 0 may be deleted.
            let row = |at: u32| format!("{:04}", 2 * at);
            let rows = (0..600).map(row).map(|rk| DynamicEntity::new(&rk[..1], &rk));
            tables.table(table.clone()).insert_or_replace_many(rows).await.all().unwrap();
            let written = Written { store, random: Mutex::new(Random::new(seed)) };
            let scan = Tables::new(written).scan(table, ScanPermit::because("test"));
            let scan = scan.ordered(true).page_size(7).concurrency(8).buffer(30_000);
            keys(&scan.collect().await.unwrap())
        });
        assert!(found.is_sorted_by(|before, after| before < after), "{found:?}");
        let stays = |(_, rk): &&Key| rk.ends_with(['2', '4', '6', '8']);
        assert_eq!(found.iter().filter(stays).count(), 480);
    }
}

/// A service that forgets where a scan was.
#[derive(Debug)]
struct Forgetful(FakeService);

impl Middleware for Forgetful {
    fn inner(&self) -> &dyn Store {
        &self.0
    }

    async fn query(&self, query: &RowQuery) -> Result<Page, StoreError> {
        self.0.query(&RowQuery { continuation: None, ..query.clone() }).await
    }
}

#[test]
fn rows_that_come_out_of_order_end_an_ordered_scan() {
    let store = Forgetful(service(grid("heat", 9, 5), 4));
    let table = TableName::new("things").unwrap();
    let scan = Tables::new(store).scan(table, ScanPermit::because("test")).ordered(true);
    let error = run(scan.collect()).unwrap_err();
    assert!(matches!(error, crate::Error::Scan(ScanError::OutOfOrder { .. })), "{error}");
}
