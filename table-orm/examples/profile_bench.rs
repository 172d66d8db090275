//! The memory that a profile takes, on a fake service and virtual time.
//!
//! `cargo run --release -p table-orm --features testing --example profile_bench [rows] [rows a partition]
//! [buffer in MiB]`
//!
//! Profiles a table whose rows are generated when they are read: 3 million rows, each in a partition of its own,
//! unless given. A row has keys, a Timestamp and one number. It prints the virtual time, the real time, and (on
//! Linux) the most memory the program had.

use std::error::Error;
use std::time::Instant;
use table_orm::testing::{FakeService, KeySet, ServiceSettings};
use table_orm::{ScanPermit, TableName, Tables};

fn main() -> Result<(), Box<dyn Error>> {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<usize>());
    let rows = numbers.next().transpose()?.unwrap_or(3_000_000);
    let in_partition = numbers.next().transpose()?.unwrap_or(1).max(1);
    let buffer = numbers.next().transpose()?.unwrap_or(64) * 1024 * 1024;

    let keys = KeySet::numbered(rows.div_ceil(in_partition), in_partition);
    let settings = ServiceSettings::measured(keys.len());
    let tables = Tables::new(FakeService::new(keys, settings));
    let permit = ScanPermit::because("benchmark");
    let profile = tables.table(TableName::new("keys")?).profile(permit);
    let profile = profile.scan(|scan| scan.buffer(buffer).seed(7));
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    let started = Instant::now();
    let report = runtime.block_on(profile.into_future())?;

    let partitions = report.partitions.count;
    println!("{} rows in {partitions} partitions, {} requests", report.rows, report.requests);
    let real = started.elapsed().as_secs_f64();
    println!("virtual {:.1} s, real {real:.1} s", report.seconds);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if let Some(peak) = status.lines().find_map(|line| line.strip_prefix("VmHWM:")) {
        println!("peak memory {}", peak.trim());
    }
    Ok(())
}
