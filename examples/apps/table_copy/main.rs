//! Copies a table of any rows to another table, in the same store or in another one.
//!
//! ```text
//! cargo run --release --example table_copy -- --from sample:100000 --to copy.redb
//! cargo run --release --example table_copy --features azure -- \
//!     --from "UseDevelopmentStorage=true" --table results --to copy.redb
//! cargo run --release --example table_copy --features azure -- --workers 3 \
//!     --from "UseDevelopmentStorage=true" --to "UseDevelopmentStorage=true" --to-table copy
//! ```

mod arguments;
mod content;
mod copy;
#[path = "../from_env.rs"]
mod from_env;
mod hash;
mod location;
mod progress;
#[cfg(any(test, feature = "azure"))]
mod shared;
#[cfg(test)]
mod tests;
#[cfg(feature = "azure")]
mod workers;

use arguments::{Arguments, HELP, Part};
use content::Content;
use copy::{Copying, Ended};
use indicatif::HumanCount;
use location::LocationError;
use progress::{CopyProgress, progress, speed};
use std::future::pending;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::process::ExitCode;
use std::time::Instant;
use table_orm::model::TableNameError;
use table_orm::repo::Table;
use table_orm::{Error, ScanPermit, TableName};

/// Pages that are written at a time: enough for some to wait for the slowest write of another.
const PAGES: usize = 4;

/// Why the program ends early: one line, with what to do.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0}; --help lists the options")]
    Arguments(String),
    #[error("{0} and {1} are the same table; name the copy with --to-table")]
    Same(String, String),
    #[error(
        "`{0}` holds rows already, and no checkpoint says that they are of this copy; give another \
         --to-table, or --over to write into it"
    )]
    NotEmpty(TableName),
    #[error("the copy is not whole: {0}; the same command continues from there")]
    Incomplete(#[source] Error),
    #[error(
        "the copy has {} rows and content {:032x}, the table {} rows and content {:032x}; one of \
         them was written meanwhile, or the copy held other rows before: run it again, with --over",
        .copy.rows, .copy.hash, .table.rows, .table.hash
    )]
    Different { table: Content, copy: Content },
    #[error("stopped; the same command continues from {0}")]
    Stopped(String),
    #[error(
        "--workers and --worker need the connection strings of storage accounts: processes can share nothing else, and it takes a build with `--features azure`"
    )]
    NoAccount,
    #[cfg(feature = "azure")]
    #[error(transparent)]
    Workers(#[from] workers::WorkersError),
    #[error("the checkpoint {} cannot be deleted: {source}; delete it before the next copy", .path.display())]
    Checkpoint { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Location(#[from] LocationError),
    #[error(transparent)]
    TableName(#[from] TableNameError),
    #[error(transparent)]
    Store(#[from] Error),
    #[error("the output cannot be written")]
    Output(#[from] io::Error),
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(lexopt::Parser::from_env(), interrupted()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("table_copy: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Waits for Ctrl-C, or on unix for SIGTERM. A signal that cannot be waited for has its usual effect.
async fn interrupted() {
    let interrupt = async {
        if tokio::signal::ctrl_c().await.is_err() {
            pending().await
        }
    };
    #[cfg(unix)]
    let terminate = async {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminate = pending();
    tokio::select! {
        () = interrupt => {}
        () = terminate => {}
    }
}

async fn run(parser: lexopt::Parser, stop: impl Future<Output = ()>) -> Result<(), Failure> {
    let Some(arguments) = Arguments::read(parser)? else {
        return Ok(io::stdout().write_all(HELP.as_bytes())?);
    };
    let (source, target) = arguments.open().await?;
    match arguments.part {
        Part::All => copy_in_process(arguments, source, target, stop).await,
        #[cfg(feature = "azure")]
        Part::Coordinator(workers) => {
            workers::coordinate(arguments, source, target, workers, stop).await
        }
        #[cfg(feature = "azure")]
        Part::Worker => workers::work(arguments, source, target, stop).await,
        // This build has no accounts, and without accounts there are no workers.
        #[cfg(not(feature = "azure"))]
        Part::Coordinator(_) | Part::Worker => Err(Failure::NoAccount),
    }
}

/// Copies and checks in this process.
async fn copy_in_process(
    arguments: Arguments,
    source: Table,
    target: Table,
    stop: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let copying = Copying {
        source,
        target,
        checkpoint: arguments.checkpoint.clone(),
        readers: arguments.readers,
        pages: PAGES,
        writers: arguments.writers.div_ceil(PAGES),
    };
    let resumed = copying.checkpoint.exists();
    check_target(&arguments, &copying.target, resumed).await?;
    let mut stop = pin!(stop);
    copy(&arguments, &copying, resumed, stop.as_mut()).await?;
    let checked = check(&arguments, [&copying.source, &copying.target], stop, || copying.stopped());
    let checked = checked.await;
    if is_over(&checked) {
        let path = arguments.checkpoint;
        std::fs::remove_file(&path).map_err(|source| Failure::Checkpoint { path, source })?;
    }
    checked
}

impl Copying {
    fn stopped(&self) -> Failure {
        Failure::Stopped(format!("the checkpoint {}", self.checkpoint.display()))
    }
}

/// Copies what is not copied yet, and prints how fast.
async fn copy(
    arguments: &Arguments,
    copying: &Copying,
    resumed: bool,
    stop: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let total = total(arguments, &copying.source).await?;
    let before = match (total, resumed) {
        (Some(_), true) => count(&copying.target, copying.readers).await?,
        _ => 0,
    };
    let progress = CopyProgress::new(total, before);
    let ended = copying.run(stop, |rows| progress.add(rows)).await;
    let copied = progress.finish();
    let ended = ended.map_err(|error| match error {
        // The text of these says what to do.
        Error::Scan(error) => Failure::Store(error.into()),
        error => Failure::Incomplete(error),
    })?;
    println!("{copied}");
    match ended {
        Ended::Whole => Ok(()),
        Ended::Stopped => Err(copying.stopped()),
    }
}

/// Compares both tables, unless the arguments say not to, or `stop` ends. The progress says that
/// everything is copied, so a later run starts here.
async fn check(
    arguments: &Arguments,
    [source, target]: [&Table; 2],
    stop: Pin<&mut impl Future<Output = ()>>,
    stopped: impl FnOnce() -> Failure,
) -> Result<(), Failure> {
    if arguments.no_verify {
        return Ok(());
    }
    tokio::select! {
        verified = verify(source, target, arguments.readers) => verified,
        () = stop => Err(stopped()),
    }
}

/// Whether nothing is left to continue: a copy that differs starts from the beginning.
const fn is_over(checked: &Result<(), Failure>) -> bool {
    matches!(checked, Ok(()) | Err(Failure::Different { .. }))
}

/// Reads both tables, and compares them.
async fn verify(source: &Table, target: &Table, readers: usize) -> Result<(), Failure> {
    let started = Instant::now();
    let bar = progress("checking", None);
    let of = |table| Content::of(table, readers, |rows| bar.inc(rows));
    let table = of(source).await?;
    bar.set_length(2 * table.rows);
    let copy = of(target).await?;
    bar.finish_and_clear();
    if table != copy {
        return Err(Failure::Different { table, copy });
    }
    let (rows, hash) = (HumanCount(table.rows), table.hash);
    let speed = speed(2 * table.rows, started.elapsed());
    println!("checked: both have {rows} rows and content {hash:032x}: {speed}");
    Ok(())
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
async fn check_target(arguments: &Arguments, target: &Table, resumed: bool) -> Result<(), Failure> {
    if resumed || arguments.over {
        return Ok(());
    }
    let permit = ScanPermit::because("the copy's table must be empty");
    match target.scan(permit).exists().await? {
        true => Err(Failure::NotEmpty(arguments.to_table.clone())),
        false => Ok(()),
    }
}
