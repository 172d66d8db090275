//! `table-orm keys`: the partitions of a table.

use crate::counted;
use crate::failure::Failure;
use crate::printable::printable;
use crate::progress::Progress;
use crate::selection::{Selection, permit, requests};
use crate::store::{STORES, StoreName};
use serde_json::json;
use std::cmp::Reverse;
use std::io::{Write as _, stdout};
use table_orm::scan::Scan;
use table_orm::{DynamicEntity, TableName};

const EXAMPLES: &str = "\
Examples:
  table-orm keys race.redb results                      # about one request for each partition
  table-orm keys race.redb results --sizes              # reads every row
  table-orm keys env:STORAGE results --largest 10 --json
";

/// Lists the PartitionKeys of a table, with rows and bytes on request
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n{STORES}"))]
pub(crate) struct Arguments {
    /// Where the table is
    store: StoreName,
    /// The table
    table: TableName,
    /// Shows the rows of each partition, and the bytes of their JSON
    #[arg(long)]
    sizes: bool,
    /// Shows the partitions with most bytes only, the largest first
    #[arg(long, value_name = "N")]
    largest: Option<usize>,
    #[command(flatten)]
    selection: Selection,
    /// Requests at a time
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = requests)]
    readers: usize,
    /// Prints a JSON object in each line: `partition`, and with sizes `rows` and `bytes`
    #[arg(long)]
    json: bool,
}

/// A partition and its size.
pub(crate) struct Partition {
    pub key: String,
    pub rows: u64,
    /// The bytes of its rows' JSON.
    pub bytes: u64,
}

impl Partition {
    fn line(&self, json: bool) -> String {
        let Self { key, rows, bytes } = self;
        match json {
            true => json!({ "partition": key, "rows": rows, "bytes": bytes }).to_string(),
            false => {
                let noun = counted::rows(*rows);
                format!("{rows:>12} {noun:4} {bytes:>14} bytes  {}", printable(key))
            }
        }
    }
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    arguments.selection.check()?;
    let tables = arguments.store.open_to_read(&arguments.table).await?;
    let scan = arguments.selection.of(tables.scan(arguments.table.clone(), permit()));
    let scan = scan.concurrency(arguments.readers).ordered(true);
    if arguments.largest.is_none() && !arguments.sizes {
        return keys(scan, arguments.json).await;
    }
    let progress = Progress::new("reading", None);
    let partitions = match arguments.largest {
        Some(most) => largest(scan, most, |rows| progress.add(rows)).await?,
        None => {
            let print = |partition| arguments.print(&partition);
            sizes(scan, |rows| progress.add(rows), print).await?;
            Vec::new()
        }
    };
    progress.finish();
    partitions.iter().try_for_each(|partition| arguments.print(partition))
}

/// The partitions with most bytes, the largest first. Calls `read` with the rows of each page.
pub(crate) async fn largest(
    scan: Scan<DynamicEntity>,
    most: usize,
    read: impl Fn(u64),
) -> Result<Vec<Partition>, Failure> {
    let mut found: Vec<Partition> = Vec::new();
    let add = |partition| {
        found.push(partition);
        if found.len() >= most.max(50).saturating_mul(2) {
            keep_largest(&mut found, most);
        }
        Ok(())
    };
    sizes(scan, read, add).await?;
    keep_largest(&mut found, most);
    Ok(found)
}

fn keep_largest(partitions: &mut Vec<Partition>, most: usize) {
    partitions.sort_by_key(|partition| Reverse(partition.bytes));
    partitions.truncate(most);
}

impl Arguments {
    fn print(&self, partition: &Partition) -> Result<(), Failure> {
        Ok(writeln!(stdout(), "{}", partition.line(self.json))?)
    }
}

async fn keys(scan: Scan<DynamicEntity>, json: bool) -> Result<(), Failure> {
    let mut keys = scan.partition_keys();
    while let Some(key) = keys.next().await? {
        match json {
            true => writeln!(stdout(), "{}", json!({ "partition": key }))?,
            false => writeln!(stdout(), "{}", printable(&key))?,
        }
    }
    Ok(())
}

/// Reads all rows, in key order, and calls `each` with every partition once it is whole.
async fn sizes(
    scan: Scan<DynamicEntity>,
    read: impl Fn(u64),
    mut each: impl FnMut(Partition) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut pages = scan.page_stream();
    let mut current: Option<Partition> = None;
    while let Some(page) = pages.next().await? {
        read(page.rows.len() as u64);
        for row in page.rows {
            let bytes = row.to_json().map_err(table_orm::Error::from)?.len() as u64;
            match &mut current {
                Some(partition) if partition.key == row.partition_key => {
                    partition.rows += 1;
                    partition.bytes += bytes;
                }
                _ => {
                    let next = Partition { key: row.partition_key, rows: 1, bytes };
                    current.replace(next).map_or(Ok(()), &mut each)?;
                }
            }
        }
    }
    current.map_or(Ok(()), each)
}
