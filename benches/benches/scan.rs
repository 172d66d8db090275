//! Whole-table scans of a database file against a plain iteration over the same bytes in redb.
//!
//! `cargo bench -p benches --bench scan [-- ROWS]`; two million rows unless given.
//!
//! Every scan reads and decodes all rows. Scans alternate in rounds, and each cell is the median of
//! the rounds.

#![allow(missing_docs, clippy::unwrap_used)]

#[allow(dead_code)] // Criterion is for the other benchmarks.
mod ratio;

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use std::borrow::Cow;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};
use table_orm::embedded::{EmbeddedStore, FileOptions};
use table_orm::entity::EntityRows;
use table_orm::scan::Splitter;
use table_orm::{Projection, Repo, ScanPermit, TableEntity, Tables};
use tokio::runtime::Runtime;

const ROWS: u32 = 2_000_000;
const ROUNDS: usize = 5;
/// redb's default, which holds the whole file, and that of the store.
const LARGE_CACHE: usize = 1 << 30;
const STORE_CACHE: usize = 64 << 20;
const RAW: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("rows");

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "finishers", partition = "race-{race:05}", row = "{bib:08}")]
struct Finisher {
    race: u32,
    bib: u32,
    name: String,
    age: u8,
    rank: i32,
    seconds: f64,
}

/// All fields of the entity, with texts that are slices of the page.
#[derive(Projection)]
#[projection(of = Finisher, borrow)]
#[expect(dead_code, reason = "only read from JSON")]
struct Borrowed<'a> {
    race: u32,
    bib: u32,
    name: Cow<'a, str>,
    age: u8,
    rank: i32,
    seconds: f64,
}

/// A runner; a thousand in each race.
fn finisher(bib: u32) -> Finisher {
    let (rank, seconds) = ((bib % 1000) as i32, f64::from(bib) / 8.0);
    Finisher { race: bib / 1000, bib, name: format!("Runner {bib}"), age: 55, rank, seconds }
}

fn main() {
    let rows = std::env::args().find_map(|text| text.parse().ok()).unwrap_or(ROWS);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let raw_path = folder.path().join("raw.redb");
    drop(raw(&raw_path, rows));
    let path = folder.path().join("tables.redb");
    drop(repo(&runtime, &path, STORE_CACHE, rows));

    println!("| scan of {rows} rows in a file | rows/s | time over raw | time over serial |");
    println!("|---|---|---|---|");
    for (name, cache, goal) in
        [("a cache of 1 GiB", LARGE_CACHE, Some(3.0)), ("the default cache", STORE_CACHE, None)]
    {
        let raw = Database::builder().set_cache_size(cache).open(&raw_path).unwrap();
        let repo = Tables::new(open(&path, cache)).repo::<Finisher>();
        let mut times = [const { Vec::new() }; 5];
        // The first round fills the caches.
        for _ in 0..=ROUNDS {
            times[0].push(timed(|| iterate(&raw, rows)));
            times[1].push(timed(|| scan(&runtime, &repo, Splitter::Serial, 1, rows)));
            times[2].push(timed(|| scan(&runtime, &repo, Splitter::Adaptive, 2, rows)));
            times[3].push(timed(|| scan(&runtime, &repo, Splitter::Adaptive, 16, rows)));
            times[4].push(timed(|| map(&runtime, &repo, rows)));
        }
        let [raw, serial, two, sixteen, mapped] = times.map(|mut times| {
            times.remove(0);
            times.sort_unstable();
            times[ROUNDS / 2].as_secs_f64()
        });
        let print = |what: &str, time: f64| {
            let speed = f64::from(rows) / time;
            println!("| {what}, {name} | {speed:.0} | {:.2} | {:.2} |", time / raw, time / serial);
        };
        print("raw redb, not decoded", raw);
        print("serial", serial);
        print("2 workers", two);
        print("16 workers", sixteen);
        print("16 workers, `map`", mapped);
        println!("scan: 16 workers / raw redb, {name} = {}", ratio::verdict(sixteen / raw, goal));
        println!(
            "scan: 16 workers, map / raw redb, {name} = {}",
            ratio::verdict(mapped / raw, goal)
        );
    }
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn raw(path: &Path, rows: u32) -> Database {
    let database = Database::create(path).unwrap();
    let write = database.begin_write().unwrap();
    {
        let mut table = write.open_table(RAW).unwrap();
        for bib in 0..rows {
            let rows = EntityRows::of(&finisher(bib)).unwrap();
            let key = format!("{}\0{}", rows.partition_key, rows.rows[0].row_key);
            let mut value = br#"{"Timestamp":"2011-11-06T14:10:00.1234567Z","#.to_vec();
            value.extend_from_slice(&rows.rows[0].body[1..]);
            table.insert(key.as_bytes(), value.as_slice()).unwrap();
        }
    }
    write.commit().unwrap();
    database
}

fn open(path: &Path, cache: usize) -> EmbeddedStore {
    EmbeddedStore::open_with(path, FileOptions::default().cache_bytes(cache)).unwrap()
}

fn repo(runtime: &Runtime, path: &Path, cache: usize, rows: u32) -> Repo<Finisher> {
    let repo = Tables::new(open(path, cache)).repo::<Finisher>();
    runtime.block_on(async {
        repo.create_table().await.unwrap();
        repo.insert_many((0..rows).map(finisher)).parallelism(256).await.all().unwrap();
    });
    repo
}

fn iterate(database: &Database, rows: u32) {
    let read = database.begin_read().unwrap();
    let table = read.open_table(RAW).unwrap();
    let mut found = 0;
    for entry in table.iter().unwrap() {
        black_box(entry.unwrap().1.value());
        found += 1;
    }
    assert_eq!(found, rows);
}

fn scan(runtime: &Runtime, repo: &Repo<Finisher>, splitter: Splitter, workers: usize, rows: u32) {
    let scan = repo.scan(ScanPermit::because("benchmark")).split(splitter).concurrency(workers);
    let mut found = 0;
    let handle = scan.on_page(|page| {
        found += page.rows.len();
        black_box(page);
        std::future::ready(Ok::<_, table_orm::Error>(()))
    });
    runtime.block_on(handle).unwrap();
    assert_eq!(found, rows as usize);
}

/// The same, of which only a number is kept. The workers read the texts where they are in the page.
fn map(runtime: &Runtime, repo: &Repo<Finisher>, rows: u32) {
    let scan = repo.scan(ScanPermit::because("benchmark")).concurrency(16);
    let mut found = 0;
    let handle = scan.map::<Borrowed<'_>, _>(|row| black_box(row).seconds).on_page(|page| {
        found += page.rows.len();
        black_box(page);
        std::future::ready(Ok::<_, table_orm::Error>(()))
    });
    runtime.block_on(handle).unwrap();
    assert_eq!(found, rows as usize);
}
