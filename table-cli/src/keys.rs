//! `table-orm keys`: the partitions of a table.

use crate::failure::Failure;
use crate::printable::printable;
use crate::progress::Progress;
use crate::selection::{Selection, permit, requests, table_name};
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
    #[arg(value_parser = table_name)]
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
struct Partition {
    key: String,
    rows: u64,
    bytes: u64,
}

impl Partition {
    fn line(&self, json: bool) -> String {
        let Self { key, rows, bytes } = self;
        match json {
            true => json!({ "partition": key, "rows": rows, "bytes": bytes }).to_string(),
            false => format!("{rows:>12} rows {bytes:>14} bytes  {}", printable(key)),
        }
    }
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let tables = arguments.store.open_to_read(&arguments.table).await?;
    let scan = arguments.selection.of(tables.scan(arguments.table.clone(), permit()));
    let scan = scan.concurrency(arguments.readers).ordered(true);
    match arguments.largest {
        None if arguments.sizes => sizes(scan, |partition| arguments.print(&partition)).await,
        None => keys(scan, arguments.json).await,
        Some(most) => {
            let mut all = Vec::new();
            sizes(scan, |partition| {
                all.push(partition);
                Ok(())
            })
            .await?;
            all.sort_by_key(|partition| Reverse(partition.bytes));
            all.truncate(most);
            all.iter().try_for_each(|partition| arguments.print(partition))
        }
    }
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
    mut each: impl FnMut(Partition) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let progress = Progress::new("reading", None);
    let mut pages = scan.page_stream();
    let mut current: Option<Partition> = None;
    while let Some(page) = pages.next().await? {
        progress.add(page.rows.len() as u64);
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
    progress.finish();
    current.map_or(Ok(()), each)
}
