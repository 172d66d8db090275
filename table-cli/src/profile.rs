//! `table-orm profile`: what a table stores, and what stands out.

use crate::failure::Failure;
use crate::progress::Progress;
use crate::selection::{Selection, permit, requests};
use crate::store::{STORES, StoreName};
use std::io::{Write as _, stdout};
use table_orm::TableName;
use table_orm::profile::MAX_TOP;

const EXAMPLES: &str = "\
Examples:
  table-orm profile race.redb results
  table-orm profile env:STORAGE results --keys-only     # without sizes and properties: less transfer
  table-orm profile env:STORAGE results --prefix Boston --json > profile.json

A profile reads every row of the range with its properties, at most 1,000 a request, and the service bills
each request. Memory does not grow with the table. The output has stored keys and some stored values.
";

/// Says what a table stores: partitions, sizes, kinds of rows, properties, and advice
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n{STORES}"))]
pub(crate) struct Arguments {
    /// Where the table is
    store: StoreName,
    /// The table
    table: TableName,
    /// Reads keys and Timestamps only: without sizes and properties
    #[arg(long)]
    keys_only: bool,
    /// How many of the largest partitions to list
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = top)]
    top: usize,
    #[command(flatten)]
    selection: Selection,
    /// Requests at a time
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = requests)]
    readers: usize,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

fn top(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if (1..=MAX_TOP).contains(&number) => Ok(number),
        _ => Err(format!("it is no number from 1 to {MAX_TOP}")),
    }
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let Arguments { store, table, keys_only, top, selection, readers, json } = arguments;
    let tables = store.open_to_read(&table).await?;
    let progress = Progress::new("reading", None);
    let mut profile = tables
        .table(table)
        .profile(permit())
        .scan(|scan| selection.of(scan).concurrency(readers))
        .top(top)
        .on_progress(|so_far| progress.reach(so_far.rows));
    if keys_only {
        profile = profile.keys_only();
    }
    let report = profile.await?;
    progress.finish();
    if json {
        let text = serde_json::to_string(&report).map_err(std::io::Error::from)?;
        writeln!(stdout(), "{text}")?;
    } else {
        write!(stdout(), "{report}")?;
    }
    Ok(())
}
