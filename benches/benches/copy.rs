//! A copy of a table from one database file to another, by the calls that `table-orm copy` makes, against redb
//! writing the same bytes to a file in one transaction.
//!
//! `cargo bench -p benches --bench copy [-- ROWS]`; 200,000 unless given.

#![allow(missing_docs, clippy::panic, clippy::unwrap_used)]

#[allow(dead_code)] // Criterion is for the other benchmarks.
mod ratio;

use redb::{Database, ReadOnlyTable, ReadableDatabase, ReadableTable, Table, TableDefinition};
use std::ops::Bound;
use std::path::Path;
use std::time::{Duration, Instant};
use table_orm::embedded::{Durability, EmbeddedStore};
use table_orm::entity::{EntityRows, RawRow};
use table_orm::scan::{Checkpoint, ScanPage};
use table_orm::{Error, ScanPermit, TableEntity, TableName, Tables};
use tokio::runtime::Runtime;

const ROWS: u32 = 200_000;
const ROUNDS: usize = 5;
/// The defaults of `table-orm copy`.
const READERS: usize = 16;
const PAGES: usize = 4;
const WRITERS: usize = 16;
type RawRows = ReadOnlyTable<&'static [u8], &'static [u8]>;
type RawTable<'t> = Table<'t, &'static [u8], &'static [u8]>;

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
    let raw_source = folder.path().join("raw.redb");
    fill_raw(&raw_source, rows);
    let source = folder.path().join("tables.redb");
    runtime.block_on(async {
        let repo = Tables::open(&source).unwrap().repo::<Finisher>();
        repo.create_table().await.unwrap();
        repo.insert_many((0..rows).map(finisher)).parallelism(256).await.all().unwrap();
    });
    let target = folder.path().join("copy.redb");
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..ROUNDS {
        times[0].push(timed(&target, || copy_raw(&raw_source, &target)));
        times[3].push(timed(&target, || copy_raw_in_order(&raw_source, &target)));
        let durable = Durability::Immediate;
        times[1].push(timed(&target, || copy(&runtime, &source, &target, durable, rows)));
        let eventual = Durability::Eventual;
        times[2].push(timed(&target, || copy(&runtime, &source, &target, eventual, rows)));
    }
    let [raw, durable, eventual, in_order] = times.map(|mut times| {
        times.sort_unstable();
        times[ROUNDS / 2].as_secs_f64()
    });
    println!("| copy of {rows} rows from file to file | seconds | time over raw |");
    println!("|---|---|---|");
    for (what, time) in [
        ("raw redb, one transaction", raw),
        ("table-orm", durable),
        ("eventual", eventual),
        ("raw redb, by a cursor", in_order),
    ] {
        println!("| {what} | {time:.2} | {:.2} |", time / raw);
    }
    println!("copy: table-orm / raw redb = {}", ratio::verdict(durable / raw, Some(2.0)));
    println!("copy: table-orm, eventual / raw redb = {}", ratio::verdict(eventual / raw, None));
    let ratio = ratio::verdict(durable / in_order, None);
    println!("copy: table-orm / raw redb by a cursor = {ratio}");
}

/// How long it takes to write a new file.
fn timed(target: &Path, work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    let time = start.elapsed();
    std::fs::remove_file(target).unwrap();
    time
}

fn fill_raw(path: &Path, rows: u32) {
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
}

fn copy_raw(source: &Path, target: &Path) {
    copy_raw_by(source, target, |rows, table| {
        for entry in rows.iter().unwrap() {
            let (key, value) = entry.unwrap();
            table.insert(key.value(), value.value()).unwrap();
        }
    });
}

/// The same by a cursor, which takes rows in the order of their keys only.
fn copy_raw_in_order(source: &Path, target: &Path) {
    copy_raw_by(source, target, |rows, table| {
        let mut cursor = table.upper_bound_mut(Bound::<&[u8]>::Unbounded).unwrap();
        for entry in rows.iter().unwrap() {
            let (key, value) = entry.unwrap();
            cursor.insert_before(key.value(), value.value()).unwrap();
        }
        cursor.close().unwrap();
    });
}

/// A copy of one transaction, whose rows `store` stores.
fn copy_raw_by(source: &Path, target: &Path, store: impl FnOnce(&RawRows, &mut RawTable<'_>)) {
    let source = Database::open(source).unwrap();
    let target = Database::create(target).unwrap();
    let read = source.begin_read().unwrap();
    let rows = read.open_table(RAW).unwrap();
    let write = target.begin_write().unwrap();
    store(&rows, &mut write.open_table(RAW).unwrap());
    write.commit().unwrap();
}

fn copy(runtime: &Runtime, source: &Path, target: &Path, durability: Durability, rows: u32) {
    let name = TableName::new("finishers").unwrap();
    let store = EmbeddedStore::open_with(target, durability).unwrap();
    let (source, target) = (Tables::open(source).unwrap(), Tables::new(store.clone()));
    let checkpoint = tempfile::tempdir().unwrap();
    runtime.block_on(async {
        target.create(&name).await.unwrap();
        let target = target.table(name.clone());
        let page = |page: ScanPage<RawRow>| {
            let writes = target.insert_or_replace_raw(page.rows);
            async { writes.parallelism(WRITERS.div_ceil(PAGES)).await.all().map(drop) }
        };
        let scan = source.scan(name, ScanPermit::because("copy of the table")).raw();
        let scan = scan.concurrency(READERS).handlers(PAGES);
        let scan = scan.checkpoint(Checkpoint::file(checkpoint.path().join("copy.json")));
        let report = scan.on_page(page).await.unwrap_or_else(|error: Error| panic!("{error}"));
        assert_eq!(report.rows, u64::from(rows));
        store.sync().await.unwrap();
    });
}
