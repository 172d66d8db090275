//! `table-orm copy`: a table of any rows to another table, in the same store or in another one.

mod arguments;
mod content_hash;
mod copying;
mod shared;
mod stable_hash;
#[cfg(test)]
mod tests;
mod workers;

pub(crate) use arguments::Arguments;

use crate::counted;
use crate::failure::{self, Failure};
use crate::progress::{Progress, speed};
use crate::store::StoreNameError;
use content_hash::Content;
use copying::{Copying, Ended};
use indicatif::HumanCount;
use serde_json::json;
use std::io::{self, Write as _, stdout};
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::time::{Duration, Instant};
use table_orm::repo::Table;
use table_orm::{Error, ScanPermit, TableName};

/// Pages that are written at a time: enough for some to wait for the slowest write of another.
const PAGES: usize = 4;

/// Why a copy ends early: one line, with what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CopyFailure {
    #[error("{0}")]
    Arguments(&'static str),
    #[error("{0} and {1} are the same table; name the copy with --to-table")]
    Same(TableName, TableName),
    #[error(
        "`{0}` holds rows already, and no checkpoint says that they are of this copy; give another \
         --to-table, or --over to write into it"
    )]
    NotEmpty(TableName),
    #[error(
        "the copy is incomplete: {0}; once the cause is removed, the same command continues from there"
    )]
    Incomplete(#[source] Error),
    #[error(
        "the copy has {} {} and content {:032x}, the table {} {} and content {:032x}; one of \
         them was written meanwhile, or the copy held other rows before: run it again, with --over",
        .copy.rows, counted::rows(.copy.rows), .copy.hash, .table.rows, counted::rows(.table.rows), .table.hash
    )]
    Different { table: Content, copy: Content },
    #[error("stopped; the same command {0}")]
    Stopped(String),
    #[error(transparent)]
    Workers(#[from] workers::WorkersError),
    #[error("the checkpoint {} cannot be deleted; delete it before the next copy", .path.display())]
    Checkpoint { path: PathBuf, source: io::Error },
    #[error(transparent)]
    StoreName(#[from] StoreNameError),
    #[error(transparent)]
    Store(#[from] Error),
}

impl From<CopyFailure> for Failure {
    fn from(failure: CopyFailure) -> Self {
        let exit_code = match &failure {
            CopyFailure::Arguments(_) | CopyFailure::Same(..) => 2,
            CopyFailure::StoreName(error) => error.exit_code(),
            CopyFailure::Store(error) => failure::exit_code(error),
            CopyFailure::Different { .. } => 3,
            CopyFailure::Stopped(_) => 130,
            _ => 1,
        };
        Self::new(failure, exit_code)
    }
}

/// Copies until `stop` ends.
pub(crate) async fn run(
    arguments: Arguments,
    stop: impl Future<Output = ()>,
) -> Result<(), CopyFailure> {
    let (source, target) = arguments.open().await?;
    match (arguments.workers, arguments.worker) {
        (Some(workers), _) => workers::coordinate(arguments, source, target, workers, stop).await,
        (None, true) => workers::work(arguments, source, target, stop).await,
        (None, false) => copy_in_process(arguments, source, target, stop).await,
    }
}

/// Copies and checks in this process.
async fn copy_in_process(
    arguments: Arguments,
    source: Table,
    target: Table,
    stop: impl Future<Output = ()>,
) -> Result<(), CopyFailure> {
    let copying = Copying {
        source,
        target,
        checkpoint: arguments.checkpoint()?,
        readers: arguments.readers,
        pages: PAGES,
        writers: arguments.writers.div_ceil(PAGES),
    };
    let resumed = copying.checkpoint.exists();
    check_target(&arguments, &copying.target, resumed).await?;
    let mut stop = pin!(stop);
    let copied = copy(&arguments, &copying, resumed, stop.as_mut()).await?;
    let checked = check(&arguments, [&copying.source, &copying.target], stop, || copying.stopped());
    let checked = checked.await;
    arguments.report(copied, &checked);
    if is_over(&checked) {
        let path = copying.checkpoint;
        std::fs::remove_file(&path).map_err(|source| CopyFailure::Checkpoint { path, source })?;
    }
    checked.map(drop)
}

impl Copying {
    fn stopped(&self) -> CopyFailure {
        CopyFailure::Stopped(match self.checkpoint.exists() {
            true => format!("continues from the checkpoint {}", self.checkpoint.display()),
            false => "starts anew".to_owned(),
        })
    }
}

/// Copies what is not copied yet, and prints how fast. Returns the number of rows.
async fn copy(
    arguments: &Arguments,
    copying: &Copying,
    resumed: bool,
    stop: impl Future<Output = ()>,
) -> Result<u64, CopyFailure> {
    let mut stop = pin!(stop);
    let counts = async {
        let total = total(arguments, &copying.source).await?;
        let before = match (total, resumed) {
            (Some(_), true) => count(&copying.target, copying.readers).await?,
            _ => 0,
        };
        Ok::<_, Error>((total, before))
    };
    let (total, before) = tokio::select! {
        counts = counts => counts?,
        () = stop.as_mut() => return Err(copying.stopped()),
    };
    let progress = Progress::resumed("copying", total, before);
    let ended = copying.run(stop, |rows| progress.add(rows)).await;
    let (copied, speed) = progress.finish();
    let ended = ended.map_err(|error| match error {
        // The text of these says what to do.
        Error::Scan(error) => CopyFailure::Store(error.into()),
        error => CopyFailure::Incomplete(error),
    })?;
    arguments.say_copied(copied, &speed);
    match ended {
        Ended::Whole => Ok(copied),
        Ended::Stopped => Err(copying.stopped()),
    }
}

impl Arguments {
    /// Prints how many rows were copied, and how fast.
    fn say_copied(&self, rows: u64, speed: &str) {
        if !self.json {
            say(&format!("copied {} {}: {speed}", HumanCount(rows), counted::rows(rows)));
        }
    }

    /// Prints what both tables have, and how fast they were read.
    fn say_checked(&self, Content { rows, hash }: Content, elapsed: Duration) {
        if !self.json {
            let (count, speed) = (HumanCount(rows), speed(2 * rows, elapsed));
            let rows = counted::rows(rows);
            say(&format!("checked: both have {count} {rows} and content {hash:032x}: {speed}"));
        }
    }

    /// Prints the outcome, if it was asked for as JSON.
    fn report(&self, copied: u64, checked: &Checked) {
        let report = match checked {
            _ if !self.json => return,
            Ok(None) => json!({ "copied": copied }),
            Ok(Some(Content { rows, hash })) => {
                let content = format!("{hash:032x}");
                json!({ "copied": copied, "same": true, "rows": rows, "content": content })
            }
            Err(CopyFailure::Different { .. }) => json!({ "copied": copied, "same": false }),
            Err(_) => return,
        };
        say(&report.to_string());
    }
}

/// Prints a line. That nobody reads it changes nothing about the copy.
fn say(line: &str) {
    let _ = writeln!(stdout(), "{line}");
}

/// What both tables have; `None` if they were not compared.
type Checked = Result<Option<Content>, CopyFailure>;

/// Compares both tables, unless the arguments say not to, or `stop` ends. The progress says that
/// everything is copied, so a later run starts here.
async fn check(
    arguments: &Arguments,
    [source, target]: [&Table; 2],
    stop: Pin<&mut impl Future<Output = ()>>,
    stopped: impl FnOnce() -> CopyFailure,
) -> Checked {
    if arguments.no_verify {
        return Ok(None);
    }
    tokio::select! {
        verified = verify(arguments, source, target) => verified.map(Some),
        () = stop => Err(stopped()),
    }
}

/// Whether nothing is left to continue: a copy that differs starts from the beginning.
const fn is_over(checked: &Checked) -> bool {
    matches!(checked, Ok(_) | Err(CopyFailure::Different { .. }))
}

/// Reads both tables, and compares them.
async fn verify(
    arguments: &Arguments,
    source: &Table,
    target: &Table,
) -> Result<Content, CopyFailure> {
    let started = Instant::now();
    let progress = Progress::new("checking", None);
    let of = |table| Content::of(table, arguments.readers, |rows| progress.add(rows));
    let table = of(source).await?;
    progress.lengthen(2 * table.rows);
    let copy = of(target).await?;
    progress.finish();
    if table != copy {
        return Err(CopyFailure::Different { table, copy });
    }
    arguments.say_checked(table, started.elapsed());
    Ok(table)
}

/// The total number of rows to copy, unless the arguments say not to count them.
async fn total(arguments: &Arguments, source: &Table) -> Result<Option<u64>, Error> {
    match arguments.no_count {
        true => Ok(None),
        false => count(source, arguments.readers).await.map(Some),
    }
}

async fn count(table: &Table, readers: usize) -> Result<u64, Error> {
    let permit = ScanPermit::because("count of what is to be copied");
    Ok(table.scan(permit).concurrency(readers).count().await?.rows)
}

/// Rejects a target whose rows were not written by a copy in progress.
async fn check_target(
    arguments: &Arguments,
    target: &Table,
    resumed: bool,
) -> Result<(), CopyFailure> {
    if resumed || arguments.over {
        return Ok(());
    }
    let permit = ScanPermit::because("the copy's table must be empty");
    match target.scan(permit).exists().await? {
        true => Err(CopyFailure::NotEmpty(arguments.copy().clone())),
        false => Ok(()),
    }
}
