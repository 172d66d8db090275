//! `table-orm export`: rows to a file, with exact types.

mod output;
#[cfg(test)]
mod tests;

use crate::count::count;
use crate::counted;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::selection::{Selection, permit, property, requests};
use crate::store::{STORES, StoreName};
use crate::text_file::{Form, NoForm, TextFile};
use indicatif::HumanCount;
use output::{Job, Output};
use std::io::{self, Write as _, stdout};
use std::path::PathBuf;
use std::pin::pin;
use table_orm::transfer::{Columns, Export, TransferError};
use table_orm::{TableName, Tables};

const EXAMPLES: &str = "\
Examples:
  table-orm export race.redb results --to results.jsonl
  table-orm export env:STORAGE results --to results.jsonl.zst        # zstd; .gz is gzip
  table-orm export env:STORAGE results --to boston.csv --partition Boston --select Name,Seconds

Each line is a row as the service returns it, so values come back with their exact types. CSV has a header
with the types; to find its columns, the rows are read twice. Rows are in key order: the same rows are the
same text.

The export is in FILE.part until it is whole. Ctrl-C or SIGTERM ends it early; the same command continues
from FILE.checkpoint.json. FILE.manifest.json has the table, the rows, and a hash of the text.
";

/// Writes the rows of a table to a file, with exact types
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n{STORES}"))]
pub(crate) struct Arguments {
    /// Where the table is
    store: StoreName,
    /// The table
    table: TableName,
    /// The file: .jsonl or .csv, with .gz or .zst after it to compress it
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    #[command(flatten)]
    selection: Selection,
    /// Only these properties
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = property)]
    select: Vec<String>,
    /// Replaces a file that exists, and an export that ended early
    #[arg(long)]
    over: bool,
    /// Requests at a time
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = requests)]
    readers: usize,
    /// Counts the rows first, to show the end: reads the table once more
    #[arg(long)]
    count: bool,
    /// Prints the manifest
    #[arg(long)]
    json: bool,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ExportFailure {
    #[error(transparent)]
    NoForm(#[from] NoForm),
    #[error("the file `{}` exists; name another one, or give --over to replace it", .0.display())]
    Exists(PathBuf),
    #[error("`{}` cannot be read or written; what was exported so far is kept", .path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(
        "`{}` is of another export, or its file was changed; give the options with which it was \
         started, or --over to start anew",
        .0.display()
    )]
    Checkpoint(PathBuf),
    #[error("another process writes `{}`; nothing was changed: wait, or name another file", .0.display())]
    Busy(PathBuf),
    #[error(
        "stopped after {rows} {}; the same command continues from {}", counted::rows(*.rows), .checkpoint.display()
    )]
    Stopped { rows: u64, checkpoint: PathBuf },
    #[error("stopped before the first row; the same command starts anew")]
    StoppedEarly,
    #[error(
        "{rows} {} exported; once the cause is removed, the same command continues from there",
        counted::rows_were(*.rows)
    )]
    Incomplete { rows: u64, source: Box<table_orm::Error> },
}

impl From<ExportFailure> for Failure {
    fn from(failure: ExportFailure) -> Self {
        let exit_code = match failure {
            ExportFailure::NoForm(_) => 2,
            ExportFailure::Stopped { .. } | ExportFailure::StoppedEarly => 130,
            _ => 1,
        };
        Self::new(failure, exit_code)
    }
}

impl Arguments {
    /// The export of the selected rows and properties.
    fn export(&self, tables: &Tables) -> Export {
        tables.export(self.table.clone(), permit()).scan(|scan| {
            let scan = self.selection.of(scan).concurrency(self.readers);
            if self.select.is_empty() { scan } else { scan.select(self.select.clone()) }
        })
    }

    fn job(&self, file: TextFile) -> Result<Job, Failure> {
        let mut selection = self.selection.to_string();
        if !self.select.is_empty() {
            selection = format!("{selection} --select {}", self.select.join(",")).trim().to_owned();
        }
        let table = self.table.to_string();
        Ok(Job { store: self.store.name()?, table, selection, form: file.name().to_owned() })
    }
}

/// Exports until `stop` ends.
pub(crate) async fn run(
    arguments: Arguments,
    stop: impl Future<Output = ()>,
) -> Result<(), Failure> {
    arguments.selection.check()?;
    let file = TextFile::of(&arguments.to).map_err(ExportFailure::from)?;
    if arguments.to.exists() && !arguments.over {
        return Err(ExportFailure::Exists(arguments.to).into());
    }
    let job = arguments.job(file)?;
    let resumed = match arguments.over {
        true => None,
        false => Output::resume(&arguments.to, file, &job)?,
    };
    let mut stop = pin!(stop);
    let tables = arguments.store.open_to_read(&arguments.table).await?;
    let total = match arguments.count {
        true => {
            let Arguments { table, selection, readers, .. } = &arguments;
            tokio::select! {
                rows = count(&tables, table, selection, *readers) => Some(rows?),
                () = stop.as_mut() => return Err(match resumed {
                    Some(output) => stopped(&arguments, output.rows()),
                    None => ExportFailure::StoppedEarly.into(),
                }),
            }
        }
        false => None,
    };
    // After the count: if that fails, it leaves no file behind.
    let mut output = match (resumed, file.form) {
        (Some(output), _) => output,
        (None, Form::JsonLines) => Output::create(&arguments.to, file, job, None)?,
        (None, Form::Csv) => {
            let columns = tokio::select! {
                columns = arguments.export(&tables).columns() => columns?.to_string(),
                () = stop.as_mut() => return Err(ExportFailure::StoppedEarly.into()),
            };
            Output::create(&arguments.to, file, job, Some(columns))?
        }
    };
    let progress = Progress::resumed("exporting", total, output.rows());
    tokio::select! {
        written = write(arguments.export(&tables), &mut output, &progress) => written?,
        () = stop => {
            output.save()?;
            return Err(stopped(&arguments, output.rows()));
        }
    }
    let (_, speed) = progress.finish();
    let manifest = output.finish()?;
    match arguments.json {
        true => {
            let text = serde_json::to_string(&manifest).map_err(io::Error::from)?;
            writeln!(stdout(), "{text}")?;
        }
        false => {
            let [rows, partitions] = [manifest.rows, manifest.partitions].map(HumanCount);
            let row_noun = counted::rows(manifest.rows);
            let partition_noun = counted::partitions(manifest.partitions);
            let path = arguments.to.display();
            writeln!(
                stdout(),
                "exported {rows} {row_noun} of {partitions} {partition_noun} to {path}: {speed}"
            )?;
        }
    }
    Ok(())
}

fn stopped(arguments: &Arguments, rows: u64) -> Failure {
    let checkpoint = output::checkpoint_path(&arguments.to);
    ExportFailure::Stopped { rows, checkpoint }.into()
}

/// Writes the rows that the output does not have yet.
async fn write(
    mut export: Export,
    output: &mut Output,
    progress: &Progress,
) -> Result<(), Failure> {
    if let Some(header) = output.columns() {
        let columns: Columns = header.parse().map_err(table_orm::Error::from)?;
        export = export.csv(columns);
    }
    if let Some(last) = output.last() {
        export = export.after(last);
    }
    let mut pages = export.pages();
    loop {
        match pages.next().await {
            Ok(Some(page)) => {
                progress.add(page.rows);
                output.write(page)?;
            }
            Ok(None) => return Ok(output.text(pages.header())?),
            // These rows need another header, so what was written is of no use.
            Err(error @ table_orm::Error::Transfer(TransferError::Column { .. })) => {
                output.discard()?;
                return Err(error.into());
            }
            Err(error) if output.rows() == 0 => {
                output.discard()?;
                return Err(error.into());
            }
            Err(error) => {
                let source = Box::new(error);
                output.save()?;
                return Err(ExportFailure::Incomplete { rows: output.rows(), source }.into());
            }
        }
    }
}
