//! `table-orm profile`: what a table stores, and what stands out.

use crate::failure::Failure;
use crate::progress::Progress;
use crate::selection::{Selection, permit, requests};
use crate::store::{STORES, StoreName};
use std::fs;
use std::io::{Write as _, stdout};
use std::path::PathBuf;
use table_orm::TableName;
use table_orm::profile::{MAX_TOP, Profile};
use table_orm::schema_lock::LockedTypeError;

const EXAMPLES: &str = "\
Examples:
  table-orm profile race.redb results
  table-orm profile env:STORAGE results --keys-only     # without sizes and properties: less transfer
  table-orm profile env:STORAGE results --prefix Boston --json > profile.json
  table-orm profile race.redb results --lock tables.lock    # tells entities, index rows and guards apart

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
    /// The lock of an app's types, such as tables.lock: rows are then named by the types that store them in the table
    #[arg(long, value_name = "FILE")]
    lock: Option<PathBuf>,
    /// A type of the lock; default: all that have rows in a table of this name. May be repeated
    #[arg(long = "type", value_name = "NAME", requires = "lock")]
    types: Vec<String>,
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
    let Arguments { store, table, keys_only, lock, types, top, selection, readers, json } =
        arguments;
    selection.check()?;
    let lock = lock.map(text_of).transpose()?;
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
    if let Some(lock) = lock {
        profile = knowing(profile, &lock, &types)?;
    }
    let report = profile.await?;
    progress.finish();
    if json {
        let text = report.json().map_err(std::io::Error::from)?;
        writeln!(stdout(), "{text}")?;
    } else {
        write!(stdout(), "{report}")?;
    }
    Ok(())
}

/// A lock that no profile can use.
#[derive(Debug, thiserror::Error)]
#[error("{} cannot be read", path.display())]
struct LockFileError {
    path: PathBuf,
    source: std::io::Error,
}

impl From<LockedTypeError> for Failure {
    fn from(error: LockedTypeError) -> Self {
        let names =
            matches!(error, LockedTypeError::Absent { .. } | LockedTypeError::NoneOfTable { .. });
        Self::new(error, if names { 2 } else { 1 })
    }
}

fn text_of(path: PathBuf) -> Result<String, Failure> {
    fs::read_to_string(&path).map_err(|source| Failure::new(LockFileError { path, source }, 1))
}

/// The profile with types of a lock.
fn knowing<'a>(
    profile: Profile<'a>,
    lock: &str,
    types: &[String],
) -> Result<Profile<'a>, LockedTypeError> {
    if types.is_empty() {
        return profile.with_lock(lock);
    }
    types.iter().try_fold(profile, |profile, name| profile.with_type_of_lock(lock, name))
}
