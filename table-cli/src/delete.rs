//! `table-orm delete`: rows, partitions or a table.
//!
//! Invariant: with a filter, a row is deleted in the version that was found to match, so a row that has
//! changed since stays.

use crate::consent::{ask, can_ask};
use crate::count::count;
use crate::counted;
use crate::failure::Failure;
use crate::interrupt::interrupted;
use crate::progress::Progress;
use crate::selection::{Selection, permit, requests};
use crate::store::{STORES, StoreName};
use indicatif::HumanCount;
use std::io::{Write as _, stdout};
use table_orm::{DynamicEntity, Error, TableName, Tables};

const EXAMPLES: &str = "\
Examples:
  table-orm delete race.redb results --partition Boston      # asks first
  table-orm delete race.redb results --filter 'Seconds gt 50000.0' --yes
  table-orm delete env:STORAGE results --whole-table

These are rows as they are stored: where an app keeps several rows of an entity, select the partition.
";

/// Deletes rows, a partition or a table
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n{STORES}"))]
pub(crate) struct Arguments {
    /// Where the table is
    store: StoreName,
    /// The table
    table: TableName,
    #[command(flatten)]
    selection: Selection,
    /// The table, with all its rows
    #[arg(long, conflicts_with_all = ["partition", "prefix", "from_partition", "to_partition", "from_row", "to_row", "filter"])]
    whole_table: bool,
    /// Does not ask
    #[arg(long)]
    yes: bool,
    /// Requests at a time, to read and to delete
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = requests)]
    readers: usize,
    /// Prints a JSON object: `deleted` and `changed`, or the `table`
    #[arg(long)]
    json: bool,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum DeleteFailure {
    #[error(
        "nothing says which rows to delete, and nothing was deleted; select rows, or give \
         --whole-table"
    )]
    NoSelection,
    #[error(
        "there is no terminal to ask at, and nothing was deleted; give --yes to delete without being asked"
    )]
    NotAsked,
    #[error("nothing was deleted, since the answer was not `y`")]
    Declined,
    #[error(
        "{0} {were} left, because of a change since it was read; the same command finds what still matches",
        were = counted::rows_were(*.0)
    )]
    Changed(u64),
    #[error(
        "stopped; at least {0} {were} deleted, and the same command deletes the others", were = counted::rows_were(*.0)
    )]
    Stopped(u64),
    #[error(
        "stopped; the table may have been deleted, and the same command deletes it if it was not"
    )]
    StoppedTable,
    #[error(
        "at least {deleted} {} deleted; once the cause is removed, the same command deletes the others",
        counted::rows_were(*.deleted)
    )]
    Incomplete { deleted: u64, source: Box<Error> },
}

impl From<DeleteFailure> for Failure {
    fn from(failure: DeleteFailure) -> Self {
        let exit_code = match failure {
            DeleteFailure::NoSelection | DeleteFailure::NotAsked => 2,
            DeleteFailure::Changed(_) => 3,
            DeleteFailure::Stopped(_) | DeleteFailure::StoppedTable => 130,
            DeleteFailure::Declined | DeleteFailure::Incomplete { .. } => 1,
        };
        Self::new(failure, exit_code)
    }
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let Arguments { store, table, selection, whole_table, yes, readers, json } = arguments;
    selection.check()?;
    if !whole_table && selection.is_all() {
        return Err(DeleteFailure::NoSelection.into());
    }
    if !yes && !can_ask() {
        return Err(DeleteFailure::NotAsked.into());
    }
    let tables = store.open_to_change(&table).await?;
    if !yes {
        let rows = count(&tables, &table, &selection, readers).await?;
        let what = if whole_table { "the table with its" } else { "these" };
        let (number, rows) = (HumanCount(rows), counted::rows(rows));
        if !ask(&format!("Delete {what} {number} {rows} of `{table}` in {store}?"))? {
            return Err(DeleteFailure::Declined.into());
        }
    }
    if whole_table {
        tokio::select! {
            deleted = tables.delete(&table) => deleted?,
            () = interrupted() => return Err(DeleteFailure::StoppedTable.into()),
        }
        return match json {
            true => Ok(writeln!(stdout(), "{}", serde_json::json!({ "table": table.as_str() }))?),
            false => Ok(writeln!(stdout(), "deleted the table `{table}`")?),
        };
    }
    let progress = Progress::new("deleting", None);
    let mut counts = Counts::default();
    let ended = tokio::select! {
        ended = delete(&tables, &table, &selection, readers, &progress, &mut counts) => Some(ended),
        () = interrupted() => None,
    };
    let (_, speed) = progress.finish();
    match ended {
        None => return Err(DeleteFailure::Stopped(counts.deleted).into()),
        Some(Err(error)) if counts.deleted == 0 => return Err(error.into()),
        Some(Err(error)) => {
            let (deleted, source) = (counts.deleted, Box::new(error));
            return Err(DeleteFailure::Incomplete { deleted, source }.into());
        }
        Some(Ok(())) => {}
    }
    let Counts { deleted, changed } = counts;
    let line = match json {
        true => serde_json::json!({ "deleted": deleted, "changed": changed }).to_string(),
        false => {
            format!("deleted {} {}: {speed}", HumanCount(deleted), counted::rows(deleted))
        }
    };
    let printed = writeln!(stdout(), "{line}");
    if changed > 0 { Err(DeleteFailure::Changed(changed).into()) } else { Ok(printed?) }
}

/// What became of the rows.
#[derive(Default)]
struct Counts {
    deleted: u64,
    changed: u64,
}

async fn delete(
    tables: &Tables,
    table: &TableName,
    selection: &Selection,
    readers: usize,
    progress: &Progress,
    counts: &mut Counts,
) -> Result<(), Error> {
    let scan = selection.of(tables.scan(table.clone(), permit())).concurrency(readers);
    let mut pages = scan.select::<&'static str>([]).page_stream();
    let rows = tables.table(table.clone());
    while let Some(page) = pages.next().await? {
        let version = |row: DynamicEntity| match selection.has_filter() {
            true => row,
            false => DynamicEntity { etag: None, ..row },
        };
        let found: Vec<_> = page.rows.into_iter().map(version).collect();
        let report = rows.delete_many(found).parallelism(readers).continue_on_failure().await;
        counts.deleted += report.written.rows;
        progress.add(report.written.rows);
        for failure in report.failures {
            match failure.error {
                // Somebody else deleted it.
                Error::NotFound(_) => {}
                Error::Conflict(_) => counts.changed += 1,
                error => return Err(error),
            }
        }
    }
    Ok(())
}
