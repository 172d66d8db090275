//! `table-orm import`: the rows of a file into a table.
//!
//! Invariant: nothing is written before the whole text has the hash of its manifest.

use crate::failure::Failure;
use crate::manifest::{Manifest, ManifestError};
use crate::printable::printable;
use crate::progress::Progress;
use crate::selection::requests;
use crate::store::{STORES, StoreName, create};
use crate::text_file::{Form, NoForm, TextFile, digest, hex};
use indicatif::HumanCount;
use serde_json::json;
use std::fs::File;
use std::io::{self, BufRead, Write as _, stderr, stdout};
use std::path::{Path, PathBuf};
use table_orm::transfer::{Imported, RefusedRow, TransferError};
use table_orm::{Error, TableName};

const EXAMPLES: &str = "\
Examples:
  table-orm import race.redb --from results.jsonl.zst           # into the table that was exported
  table-orm import env:STORAGE copy --from results.csv --insert-only
  table-orm import race.redb results --from rows.jsonl --no-manifest --go-on

Rows that exist are replaced, unless --insert-only. The table is created if it does not exist. An import may
be repeated: rows that were written are written again, with the same content. Rows that are refused are
reported on stderr with their lines; the first one ends the import, unless --go-on.
";

/// Writes the rows of an exported file to a table
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n{STORES}"))]
pub(crate) struct Arguments {
    /// Where the table is to be
    store: StoreName,
    /// The table; that of the manifest unless given
    #[arg(required_if_eq("no_manifest", "true"))]
    table: Option<TableName>,
    /// The file, as `export` has named it
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    /// Refuses rows that exist
    #[arg(long)]
    insert_only: bool,
    /// Goes on after rows that are refused
    #[arg(long)]
    go_on: bool,
    /// Imports a file that has no manifest, or another text than its manifest says
    #[arg(long)]
    no_manifest: bool,
    /// Transactions at a time
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = requests)]
    writers: usize,
    /// Prints a JSON object, `rows` and `refused`, and refused rows as objects
    #[arg(long)]
    json: bool,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ImportFailure {
    #[error(transparent)]
    NoForm(#[from] NoForm),
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    #[error("`{}` cannot be read; nothing was written", .path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(
        "`{}` has another text than its manifest says: {found} bytes with the hash {hash}; nothing was \
         written: export again, or give --no-manifest to import it as it is",
        .path.display()
    )]
    Different { path: PathBuf, found: u64, hash: String },
    #[error("{refused} rows were refused, and {rows} rows were written")]
    Refused { refused: u64, rows: u64 },
    #[error("stopped; about {rows} rows were written: {again}")]
    Stopped { rows: u64, again: &'static str },
    #[error(
        "line {line} was refused, and {rows} rows were written: correct the line, or give --go-on to \
         leave it out; then {again}"
    )]
    Line { line: u64, rows: u64, again: &'static str, source: Box<Error> },
    #[error("the import is not whole, and about {rows} rows were written: {again}")]
    Incomplete { rows: u64, again: &'static str, source: Box<Error> },
}

/// Imports until `stop` ends.
pub(crate) async fn run(
    arguments: Arguments,
    stop: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let path = &arguments.from;
    let file = TextFile::of(path).map_err(ImportFailure::from)?;
    let manifest = match arguments.no_manifest {
        true => None,
        false => Some(Manifest::of(path).map_err(ImportFailure::from)?),
    };
    if let Some(manifest) = &manifest {
        check(path, file, manifest)?;
    }
    let named = manifest.as_ref().map(|manifest| TableName::new(&manifest.table)).transpose();
    let table = match (arguments.table.clone(), named.map_err(Error::from)?) {
        (Some(table), _) | (None, Some(table)) => table,
        // The command line does not allow it.
        (None, None) => {
            return Err(ImportFailure::from(ManifestError::Missing(path.clone())).into());
        }
    };
    let tables = arguments.store.open_to_write()?;
    create(&tables, &table).await?;
    let progress = Progress::new("importing", manifest.map(|manifest| manifest.rows));
    let mut done = Imported::default();
    let mut import = tables.import(table.clone()).parallelism(arguments.writers);
    if file.form == Form::Csv {
        import = import.csv();
    }
    let again = match arguments.insert_only {
        true => "import again with --go-on, since the rows that were written are refused then",
        false => "import again, and the rows that were written stay the same",
    };
    if arguments.insert_only {
        import = import.insert_only();
    }
    if arguments.go_on {
        import = import.on_refused(|row| report(&row, arguments.json));
    }
    let import = import.on_progress(|imported| {
        progress.reach(imported.rows + imported.refused);
        done = imported;
    });
    let text = open(path, file)?;
    let ended = tokio::select! {
        imported = import.read_from(text) => Some(imported),
        () = stop => None,
    };
    let (_, speed) = progress.finish();
    let Imported { rows, refused, .. } = match ended {
        Some(Ok(imported)) => imported,
        Some(Err(error)) => return Err(early(error, done.rows, again).into()),
        None => return Err(ImportFailure::Stopped { rows: done.rows, again }.into()),
    };
    let line = match arguments.json {
        true => json!({ "rows": rows, "refused": refused }).to_string(),
        false => format!("imported {} rows to `{table}`: {speed}", HumanCount(rows)),
    };
    let printed = writeln!(stdout(), "{line}");
    match refused {
        0 => Ok(printed?),
        refused => Err(ImportFailure::Refused { refused, rows }.into()),
    }
}

/// Why an import ended before its end.
fn early(error: Error, rows: u64, again: &'static str) -> ImportFailure {
    match error {
        Error::Transfer(TransferError::Refused { line, rows, source }) => {
            ImportFailure::Line { line, rows, again, source }
        }
        error => ImportFailure::Incomplete { rows, again, source: Box::new(error) },
    }
}

fn open(path: &Path, file: TextFile) -> Result<Box<dyn BufRead + Send>, ImportFailure> {
    let text = File::open(path).and_then(|source| file.read(source));
    text.map_err(|source| ImportFailure::File { path: path.to_owned(), source })
}

/// Reads the whole text, and compares it with its manifest.
fn check(path: &Path, file: TextFile, manifest: &Manifest) -> Result<(), ImportFailure> {
    let digest = digest(open(path, file)?);
    let (found, hash) =
        digest.map_err(|source| ImportFailure::File { path: path.to_owned(), source })?;
    let hash = hex(hash);
    match (found, &hash) == (manifest.bytes, &manifest.sha256) {
        true => Ok(()),
        false => Err(ImportFailure::Different { path: path.to_owned(), found, hash }),
    }
}

/// Reports a row that was refused.
fn report(row: &RefusedRow, json: bool) {
    let RefusedRow { line, key, error, .. } = row;
    let error = crate::with_causes(error);
    let text = match (json, key) {
        (true, key) => json!({
            "line": line,
            "partitionKey": key.as_ref().map(|key| &key.partition_key),
            "rowKey": key.as_ref().map(|key| &key.row_key),
            "error": error,
        })
        .to_string(),
        (false, Some(key)) => {
            let [partition, row] = [&key.partition_key, &key.row_key].map(|key| printable(key));
            format!("line {line} ({partition} / {row}): {}", printable(&error))
        }
        (false, None) => format!("line {line}: {}", printable(&error)),
    };
    // Nobody may be reading.
    let _ = writeln!(stderr(), "{text}");
}
