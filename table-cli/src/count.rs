//! `table-orm count`: how many rows tables have.

use crate::failure::Failure;
use crate::selection::{Selection, permit, requests};
use crate::store::{STORES, StoreName};
use serde_json::json;
use std::io::{Write as _, stdout};
use table_orm::{TableName, Tables};

const EXAMPLES: &str = "\
Examples:
  table-orm count race.redb                             # every table
  table-orm count race.redb results
  table-orm count env:STORAGE results --prefix Boston --filter 'Seconds lt 9000.0'

A count reads every row of the range, and the service bills them. A filter does not change that.
";

/// Counts the rows of a table, or of every table of a store
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n{STORES}"))]
pub(crate) struct Arguments {
    /// Where the tables are
    store: StoreName,
    /// The table; every table if it is not given
    table: Option<TableName>,
    #[command(flatten)]
    selection: Selection,
    /// Requests at a time
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = requests)]
    readers: usize,
    /// Prints a JSON object in each line: `table` and `rows`
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let Arguments { store, table, selection, readers, json } = arguments;
    selection.check()?;
    let sample = table.clone().map_or_else(|| TableName::new("results"), Ok);
    let tables = store.open_to_read(&sample.map_err(table_orm::Error::from)?).await?;
    let all = table.is_none();
    let names = match table {
        Some(name) => vec![name],
        None => tables.list().await?,
    };
    for name in names {
        let rows = count(&tables, &name, &selection, readers).await?;
        let line = match (json, all) {
            (true, _) => json!({ "table": name.as_str(), "rows": rows }).to_string(),
            (false, true) => format!("{rows:>12}  {name}"),
            (false, false) => rows.to_string(),
        };
        writeln!(stdout(), "{line}")?;
    }
    Ok(())
}

/// Counts the selected rows of a table.
pub(crate) async fn count(
    tables: &Tables,
    table: &TableName,
    selection: &Selection,
    readers: usize,
) -> Result<u64, table_orm::Error> {
    let scan = selection.of(tables.scan(table.clone(), permit()));
    Ok(scan.concurrency(readers).count().await?.rows)
}
