//! Compares the ways to scan a table, on a fake service and virtual time.
//!
//! `cargo run --release -p table-orm --features testing --example scan_bench [rows] [workers] [seed]`
//!
//! The seed determines the keys, and the waits after 503s.
//!
//! Prints one table: for each kind of keys, without limits and under the documented targets, the
//! time of a serial scan, and of each other way its speed-up over serial, its requests over the
//! least possible, the rows it fetched over those delivered, and its 503s. `ordered` is
//! adaptive with rows in key order and a buffer of 16 MiB, which is about 230 pages of these keys; its
//! last figure is how much of it was used at most.
//!
//! `.. --example scan_bench large [rows] [workers]` scans one table of 35 million rows, in partitions
//! of 500, whose keys are generated when they are read: it prints the virtual time, the real time, and
//! (on Linux) the most memory the program had.
//!
//! `.. --example scan_bench keys FILE [workers]` compares them on keys of your own: a line for each
//! row, its PartitionKey, a tab, and its RowKey.

use std::error::Error;
use std::time::Instant;
use table_orm::scan::{ScanReport, Splitter};
use table_orm::testing::{FakeService, KeyKind, KeySet, ServiceSettings};
use table_orm::{ScanPermit, TableName, Tables};

/// The buffer of ordered scans. It holds as many pages of keys as the default one holds of rows of
/// ten properties.
const BUFFER: usize = 16 * 1024 * 1024;

/// Names of the published scan: 3.56 million draws give about 3.35 million rows.
const PACKAGE_ROWS: usize = 3_558_594;

/// The largest table of the published scans.
const LARGE_ROWS: usize = 35_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    let large = arguments.next_if(|argument| argument == "large").is_some();
    let file = match arguments.next_if(|argument| argument == "keys") {
        Some(_) => Some(arguments.next().ok_or("name the file of the keys")?),
        None => None,
    };
    let mut numbers = arguments.map(|text| text.parse::<usize>());
    let rows = if file.is_some() { None } else { numbers.next().transpose()? };
    let workers = numbers.next().transpose()?.unwrap_or(16);
    let seed = numbers.next().transpose()?.unwrap_or(7) as u64;
    if large {
        return scan_large(rows.unwrap_or(LARGE_ROWS), workers);
    }
    let rows = rows.unwrap_or(1_000_000);
    println!(
        "{workers} workers; cells: speed-up; requests / least; rows fetched / delivered; 503s"
    );
    println!(
        "| keys (rows) | service | serial | prefix | adaptive | ordered |\n|---|---|---|---|---|---|"
    );
    if let Some(file) = file {
        return compare(&file, &read_keys(&file)?, workers, seed);
    }
    for kind in KeyKind::ALL {
        compare(&kind.to_string(), &kind.generate(rows, seed), workers, seed)?;
    }
    if rows >= 1_000_000 {
        let kind = KeyKind::PackageIds;
        compare(&kind.to_string(), &kind.generate(PACKAGE_ROWS, seed), workers, seed)?;
    }
    Ok(())
}

fn read_keys(file: &str) -> Result<KeySet, Box<dyn Error>> {
    let text = std::fs::read_to_string(file)?;
    let rows: Option<Vec<_>> = text.lines().map(|line| line.split_once('\t')).collect();
    let rows = rows.ok_or("a line of the file has no tab")?;
    Ok(KeySet::new(rows.into_iter().map(|(pk, rk)| (pk.to_owned(), rk.to_owned()))))
}

fn scan_large(rows: usize, workers: usize) -> Result<(), Box<dyn Error>> {
    let keys = KeySet::numbered(rows.div_ceil(500), 500);
    let started = Instant::now();
    let settings = ServiceSettings::measured(keys.len());
    let ScanReport { rows, requests, elapsed, .. } =
        scan(&keys, &settings, Splitter::Adaptive, workers, false, 7)?;
    println!("{rows} rows in {requests} requests of {workers} workers");
    println!(
        "virtual {:.1} s, real {:.1} s",
        elapsed.as_secs_f64(),
        started.elapsed().as_secs_f64()
    );
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if let Some(peak) = status.lines().find_map(|line| line.strip_prefix("VmHWM:")) {
        println!("peak memory {}", peak.trim());
    }
    Ok(())
}

fn compare(name: &str, keys: &KeySet, workers: usize, seed: u64) -> Result<(), Box<dyn Error>> {
    let open = ServiceSettings::measured(keys.len());
    for (limits, settings) in [("no limit", open.clone()), ("targets", open.with_targets())] {
        let serial = scan(keys, &settings, Splitter::Serial, 1, false, seed)?;
        let base = serial.elapsed.as_secs_f64();
        let least = keys.len().div_ceil(settings.page_rows) as f64;
        let cell = |report: &ScanReport, ordered: bool| {
            let ScanReport { rows, requests, dropped, throttled, held_bytes, .. } = report;
            let mebibytes = *held_bytes as f64 / 1_048_576.0;
            let held = if ordered { format!("; {mebibytes:.1} MiB") } else { String::new() };
            format!(
                "{:.1}x; {:.2}; {:.3}; {throttled}{held}",
                base / report.elapsed.as_secs_f64(),
                *requests as f64 / least,
                (rows + dropped) as f64 / *rows as f64,
            )
        };
        print!("| {name} ({}) | {limits} | {base:.1} s; {} |", keys.len(), serial.throttled);
        for (splitter, ordered) in
            [(Splitter::Prefix, false), (Splitter::Adaptive, false), (Splitter::Adaptive, true)]
        {
            let report = scan(keys, &settings, splitter, workers, ordered, seed)?;
            print!(" {} |", cell(&report, ordered));
        }
        println!();
    }
    Ok(())
}

/// Counts all rows, in virtual time.
fn scan(
    keys: &KeySet,
    settings: &ServiceSettings,
    splitter: Splitter,
    workers: usize,
    ordered: bool,
    seed: u64,
) -> Result<ScanReport, Box<dyn Error>> {
    let tables = Tables::new(FakeService::new(keys.clone(), settings.clone()));
    let scan = tables
        .scan(TableName::new("keys")?, ScanPermit::because("benchmark"))
        .split(splitter)
        .concurrency(workers)
        .seed(seed)
        .ordered(ordered)
        .buffer(BUFFER);
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    let report = runtime.block_on(scan.count())?;
    if report.rows == keys.len() as u64 {
        Ok(report)
    } else {
        Err(format!("{} rows of {} were delivered", report.rows, keys.len()).into())
    }
}
