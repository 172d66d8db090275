//! Copies a table to another, of the same store or of another one, whatever its rows are.
//!
//! ```text
//! cargo run --release --example table_copy -- --from sample:100000 --to copy.redb
//! cargo run --release --example table_copy --features azure -- \
//!     --from "UseDevelopmentStorage=true" --table results --to copy.redb
//! ```

mod content;
mod copy;
mod location;
#[cfg(test)]
mod tests;

use content::Content;
use copy::{Copying, Ended};
use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use location::{Location, LocationError};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::pin::pin;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use table_orm::entity::TableNameError;
use table_orm::layer::Retry;
use table_orm::repo::Table;
use table_orm::{Error, ScanPermit, TableName, Tables};

const HELP: &str = "\
table_copy: copies a table, with exact types, and checks the copy

usage: cargo run --release --example table_copy -- --from STORE --to STORE [options]

  --from STORE       where the table is
  --to STORE         where the copy is to be
  --table NAME       the table; `results` unless given
  --to-table NAME    the name of the copy; that of the table unless given
  --checkpoint FILE  where to keep the progress; TABLE-to-COPY.json unless given
  --over             write into a table that holds rows already
  --readers N        requests to the source under way at a time; 16 unless given
  --writers N        transactions to the target under way at a time; 16 unless given
  --no-count         do not count the rows first: saves reading the table once, shows no end
  --no-verify        do not check the copy: saves reading both tables once
  --help             this text

STORE is the path of a database file; `memory`; `sample:ROWS`, rows made up in memory; or, in a build
with `--features azure`, the connection string of a storage account: UseDevelopmentStorage=true is
Azurite's.

Ctrl-C ends it early. The same command then goes on where it was: the few pages that were being
written are written again, which changes nothing. The checkpoint is deleted when the copy is whole
and, unless --no-verify, has the rows of the table, type by type and bit by bit.
";

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
    #[error("the copy is not whole: {0}; the same command goes on from where it is")]
    NotWhole(#[source] Error),
    #[error(
        "the copy has {} rows and content {:032x}, the table {} rows and content {:032x}; one of \
         them was written meanwhile, or the copy held other rows before: run it again, with --over",
        .copy.rows, .copy.hash, .table.rows, .table.hash
    )]
    Different { table: Content, copy: Content },
    #[error("stopped; the same command goes on from {}", .0.display())]
    Stopped(PathBuf),
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
    let interrupted = async {
        // Without the signal there is nothing to wait for.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    match run(lexopt::Parser::from_env(), interrupted).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("table_copy: {failure}");
            ExitCode::FAILURE
        }
    }
}

async fn run(parser: lexopt::Parser, stop: impl Future<Output = ()>) -> Result<(), Failure> {
    let Some(arguments) = Arguments::read(parser)? else {
        return Ok(io::stdout().write_all(HELP.as_bytes())?);
    };
    let (source, target) = arguments.open().await?;
    let copying = Copying {
        source,
        target,
        checkpoint: arguments.checkpoint.clone(),
        readers: arguments.readers,
        pages: PAGES,
        writers: arguments.writers.div_ceil(PAGES),
    };
    let resumed = copying.checkpoint.exists();
    if !resumed && !arguments.over && holds_rows(&copying.target).await? {
        return Err(Failure::NotEmpty(arguments.to_table));
    }
    let mut stop = pin!(stop);
    copy(&arguments, &copying, resumed, stop.as_mut()).await?;
    let verified = match arguments.no_verify {
        true => Ok(()),
        false => tokio::select! {
            verified = verify(&copying) => verified,
            // The checkpoint says that all is copied: what is left is to check it.
            () = stop => Err(Failure::Stopped(copying.checkpoint.clone())),
        },
    };
    // A copy that differs is made anew, too.
    if matches!(verified, Ok(()) | Err(Failure::Different { .. })) {
        let path = arguments.checkpoint;
        std::fs::remove_file(&path).map_err(|source| Failure::Checkpoint { path, source })?;
    }
    verified
}

/// Copies what is not copied yet, and says how fast.
async fn copy(
    arguments: &Arguments,
    copying: &Copying,
    resumed: bool,
    stop: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let total = match arguments.no_count {
        true => None,
        false => Some(count(&copying.source, copying.readers).await?),
    };
    let before = match (total, resumed) {
        (Some(_), true) => count(&copying.target, copying.readers).await?,
        _ => 0,
    };
    let bar = progress("copying", total);
    bar.set_position(before);
    bar.reset_eta();
    let started = Instant::now();
    let ended = copying.run(stop, |rows| bar.inc(rows)).await;
    let (copied, elapsed) = (bar.position() - before, started.elapsed());
    bar.finish_and_clear();
    let ended = ended.map_err(|error| match error {
        // These say themselves what to do.
        Error::Scan(error) => Failure::Store(error.into()),
        error => Failure::NotWhole(error),
    })?;
    println!("copied {} rows: {}", HumanCount(copied), speed(copied, elapsed));
    match ended {
        Ended::Whole => Ok(()),
        Ended::Stopped => Err(Failure::Stopped(copying.checkpoint.clone())),
    }
}

/// Reads both tables, and compares them.
async fn verify(copying: &Copying) -> Result<(), Failure> {
    let started = Instant::now();
    let bar = progress("checking", None);
    let of = |table| Content::of(table, copying.readers, |rows| bar.inc(rows));
    let table = of(&copying.source).await?;
    bar.set_length(2 * table.rows);
    let copy = of(&copying.target).await?;
    bar.finish_and_clear();
    if table != copy {
        return Err(Failure::Different { table, copy });
    }
    let (rows, hash) = (HumanCount(table.rows), table.hash);
    let speed = speed(2 * table.rows, started.elapsed());
    println!("checked: both have {rows} rows and content {hash:032x}: {speed}");
    Ok(())
}

async fn count(table: &Table, readers: usize) -> Result<u64, Error> {
    let permit = ScanPermit::because("count of what is to be copied");
    Ok(table.scan(permit).concurrency(readers).count().await?.rows)
}

async fn holds_rows(table: &Table) -> Result<bool, Error> {
    table.scan(ScanPermit::because("the copy's table must be empty")).exists().await
}

/// A progress bar of rows; not shown unless stderr is a terminal.
fn progress(what: &'static str, rows: Option<u64>) -> ProgressBar {
    let (bar, template) = match rows {
        Some(rows) => {
            (ProgressBar::new(rows), "  {msg} {bar:28} {percent:>3} %  {per_sec}, {eta} left")
        }
        None => (ProgressBar::no_length(), "  {msg} {human_pos} rows, {per_sec}"),
    };
    let bar = bar.with_message(what);
    bar.enable_steady_tick(Duration::from_millis(250));
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn speed(rows: u64, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64().max(f64::EPSILON);
    format!("{} rows/s, {seconds:.1} s", HumanCount((rows as f64 / seconds) as u64))
}

/// What the command line asks for.
#[derive(Debug)]
struct Arguments {
    from: Location,
    to: Location,
    table: TableName,
    to_table: TableName,
    checkpoint: PathBuf,
    over: bool,
    readers: usize,
    writers: usize,
    no_count: bool,
    no_verify: bool,
}

impl Arguments {
    /// `None` when the help text is asked for.
    fn read(mut parser: lexopt::Parser) -> Result<Option<Self>, Failure> {
        use lexopt::Arg::{Long, Short};
        let wrong = |error: lexopt::Error| Failure::Arguments(error.to_string());
        let (mut from, mut to, mut to_table, mut checkpoint) = (None, None, None, None);
        let mut table = TableName::new("results")?;
        let (mut readers, mut writers) = (16, 16);
        let [mut over, mut no_count, mut no_verify] = [false; 3];
        while let Some(argument) = parser.next().map_err(wrong)? {
            match argument {
                Long("from") => from = Some(Location::read(&text(&mut parser)?)?),
                Long("to") => to = Some(Location::read(&text(&mut parser)?)?),
                Long("table") => table = TableName::new(&text(&mut parser)?)?,
                Long("to-table") => to_table = Some(TableName::new(&text(&mut parser)?)?),
                Long("checkpoint") => checkpoint = Some(PathBuf::from(text(&mut parser)?)),
                Long("readers") => readers = positive("--readers", &text(&mut parser)?)?,
                Long("writers") => writers = positive("--writers", &text(&mut parser)?)?,
                Long("over") => over = true,
                Long("no-count") => no_count = true,
                Long("no-verify") => no_verify = true,
                Long("help") | Short('h') => return Ok(None),
                _ => return Err(wrong(argument.unexpected())),
            }
        }
        let missing = |option: &str| Failure::Arguments(format!("{option} STORE is missing"));
        let to_table = to_table.unwrap_or_else(|| table.clone());
        let checkpoint =
            checkpoint.unwrap_or_else(|| PathBuf::from(format!("{table}-to-{to_table}.json")));
        let from = from.ok_or_else(|| missing("--from"))?;
        let to = to.ok_or_else(|| missing("--to"))?;
        Ok(Some(Self {
            from,
            to,
            table,
            to_table,
            checkpoint,
            over,
            readers,
            writers,
            no_count,
            no_verify,
        }))
    }

    /// Both tables; that of the copy is created if it is not there.
    async fn open(&self) -> Result<(Table, Table), Failure> {
        let shared = self.from.is(&self.to);
        if shared && self.table == self.to_table {
            return Err(Failure::Same(self.table.to_string(), self.to_table.to_string()));
        }
        let from = self.from.open(&self.table, true).await?;
        let to = if shared { from.clone() } else { self.to.open(&self.to_table, false).await? };
        match to.create(&self.to_table).await {
            Ok(()) | Err(Error::AlreadyExists(_)) => {}
            Err(error) => return Err(error.into()),
        }
        // The scan answers the source's 503s itself.
        let to: Tables = to.layer(Retry::interactive())?;
        Ok((from.table(self.table.clone()), to.table(self.to_table.clone())))
    }
}

fn text(parser: &mut lexopt::Parser) -> Result<String, Failure> {
    let text = parser.value().and_then(lexopt::ValueExt::string);
    text.map_err(|error| Failure::Arguments(error.to_string()))
}

fn positive(option: &str, text: &str) -> Result<usize, Failure> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(Failure::Arguments(format!("{option} {text} is no number of 1 or more"))),
    }
}
