//! `table-orm import`: the rows of a file into a table.
//!
//! Invariant: nothing is written before the whole text has the hash of its manifest.

mod checkpoint;

use crate::counted;
use crate::failure::Failure;
use crate::manifest::{Manifest, ManifestError};
use crate::printable::printable;
use crate::progress::Progress;
use crate::selection::requests;
use crate::store::{STORES, StoreName, create};
use crate::text_file::{Form, NoForm, TextFile, digest, hex};
use checkpoint::{Checkpoint, Job, Position};
use indicatif::HumanCount;
use serde_json::json;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, Write as _, stderr, stdout};
use std::path::{Path, PathBuf};
use table_orm::transfer::{RefusedRow, TransferError};
use table_orm::{Error, TableName};

const EXAMPLES: &str = "\
Examples:
  table-orm import race.redb --from results.jsonl.zst           # into the table that was exported
  table-orm import env:STORAGE copy --from results.csv --insert-only
  table-orm import race.redb results --from rows.jsonl --no-manifest --go-on
  table-orm import env:STORAGE --from results.jsonl.zst --checkpoint import.json   # may be interrupted

Rows that exist are replaced, unless --insert-only. A file of `export --select` lacks properties, which replaced
rows would lose, so it needs --insert-only or --replace. The table is created if it does not exist. An import may
be repeated: rows that were written are written again, with the same content. Rows that are refused are
reported on stderr with their lines; the first one ends the import, unless --go-on.

With --checkpoint, the same command continues after Ctrl-C, a crash or a failure: at most 10,000 rows are
written again. The file is deleted when the import is whole.
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
    /// Replaces rows that exist, although the file has some of their properties only
    #[arg(long, conflicts_with = "insert_only")]
    replace: bool,
    /// Goes on after rows that are refused
    #[arg(long)]
    go_on: bool,
    /// Imports a file that has no manifest, or another text than its manifest says
    #[arg(long)]
    no_manifest: bool,
    /// Where to keep the progress; if the file exists, continues from it
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// Transactions at a time
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = requests)]
    writers: usize,
    /// Prints a JSON object, `rows` and `refused` of all runs, and refused rows as objects
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
        "`{}` differs from its manifest: it has {found} bytes with the hash {hash}; nothing was \
         written: export again, or give --no-manifest to import it as it is",
        .path.display()
    )]
    Different { path: PathBuf, found: u64, hash: String },
    #[error(
        "`{}` was exported with `{selection}`, so rows that exist would lose their other properties; nothing was \
         written: give --insert-only to leave them, or --replace to replace them",
        .path.display()
    )]
    Narrow { path: PathBuf, selection: String },
    #[error("the checkpoint `{}` cannot be read or written: name another file, and import again", .path.display())]
    Checkpoint { path: PathBuf, source: io::Error },
    #[error("the import is complete, but its checkpoint `{}` cannot be removed: delete it", .path.display())]
    CheckpointLeft { path: PathBuf, source: io::Error },
    #[error("{0}; what was done since the last checkpoint is not saved")]
    Unsaved(Box<Self>, #[source] Box<Self>),
    #[error(
        "the checkpoint `{}` is of another import, or the text was changed; nothing was written: name \
         another file, or delete it to start anew",
        .0.display()
    )]
    OtherImport(PathBuf),
    #[error(
        "the rows of `{}` were read, and written unless refused, but its manifest says {expected}, and it has {found}: \
         it is not what was exported, so export again",
        .path.display()
    )]
    Numbers { path: PathBuf, expected: Numbers, found: Numbers },
    #[error(
        "{refused} {} refused, and {rows} {} written",
        counted::rows_were(*.refused), counted::rows_were(*.rows)
    )]
    Refused { refused: u64, rows: u64 },
    #[error("stopped; at least {rows} {} written: {again}", counted::rows_were(*.rows))]
    Stopped { rows: u64, again: &'static str },
    #[error(
        "line {line} was refused, and {rows} {} written: correct the line, or give --go-on to \
         leave it out; then {again}",
        counted::rows_were(*.rows)
    )]
    Line { line: u64, rows: u64, again: &'static str, source: Box<Error> },
    #[error("`{}` has no header that can be read; no row was written: correct it, then {again}", .path.display())]
    Header { path: PathBuf, again: &'static str, source: Box<Error> },
    #[error(
        "the import is incomplete, and at least {rows} {} written: once the cause is removed, {again}",
        counted::rows_were(*.rows)
    )]
    Incomplete { rows: u64, again: &'static str, source: Box<Error> },
}

/// How many rows and partitions a text has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Numbers {
    rows: u64,
    partitions: u64,
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, partitions } = *self;
        let nouns = (counted::rows(rows), counted::partitions(partitions));
        write!(f, "{rows} {} of {partitions} {}", nouns.0, nouns.1)
    }
}

impl From<ImportFailure> for Failure {
    fn from(failure: ImportFailure) -> Self {
        let exit_code = match failure {
            ImportFailure::NoForm(_) => 2,
            ImportFailure::Refused { .. } => 3,
            ImportFailure::Stopped { .. } => 130,
            _ => 1,
        };
        Self::new(failure, exit_code)
    }
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
    if let Some(Manifest { selection, .. }) = manifest.as_ref().filter(|manifest| {
        manifest.is_of_some_properties() && !(arguments.insert_only || arguments.replace)
    }) {
        let (path, selection) = (path.clone(), selection.clone());
        return Err(ImportFailure::Narrow { path, selection }.into());
    }
    let text = match (&manifest, &arguments.checkpoint) {
        (None, None) => None,
        _ => Some(Text::of(path, file)?),
    };
    if let (Some(manifest), Some(text)) = (&manifest, &text) {
        text.check(path, manifest)?;
    }
    let named = manifest.as_ref().map(|manifest| TableName::new(&manifest.table)).transpose();
    let table = match (arguments.table.clone(), named.map_err(Error::from)?) {
        (Some(table), _) | (None, Some(table)) => table,
        // The command line does not allow it.
        (None, None) => {
            return Err(ImportFailure::from(ManifestError::Missing(path.clone())).into());
        }
    };
    let (checkpoint, before) = match (&arguments.checkpoint, text) {
        (Some(checkpoint), Some(Text { bytes, sha256 })) => {
            let (store, table) = (arguments.store.name()?, table.to_string());
            let job = Job { store, table, bytes, sha256 };
            let (checkpoint, before) = Checkpoint::resume(checkpoint.clone(), job)?;
            (Some(checkpoint), before)
        }
        _ => (None, Position::default()),
    };
    // A checkpoint that cannot be written shows now, not after hours.
    checkpoint.as_ref().map_or(Ok(()), |checkpoint| checkpoint.save(before))?;
    let tables = arguments.store.open_to_write()?;
    create(&tables, &table).await?;
    let expected = manifest.map(|Manifest { rows, partitions, .. }| Numbers { rows, partitions });
    let total = expected.map(|expected| expected.rows);
    let progress = Progress::resumed("importing", total, before.rows + before.refused);
    let (mut done, mut unsaved) = (before, None);
    let mut import = tables.import(table.clone()).parallelism(arguments.writers);
    import = import.after_line(before.line);
    if file.form == Form::Csv {
        import = import.csv();
    }
    if arguments.insert_only {
        import = import.insert_only();
    }
    if arguments.go_on {
        import = import.on_refused(|row| report(&row, arguments.json));
    }
    let import = import.on_progress(|imported| {
        done = before.and(imported);
        progress.reach(done.rows + done.refused);
        // The import goes on without: the progress that was saved before holds.
        unsaved = checkpoint.as_ref().and_then(|checkpoint| checkpoint.save(done).err());
    });
    let text = open(path, file)?;
    let ended = tokio::select! {
        imported = import.read_from(text) => Some(imported),
        () = stop => None,
    };
    let (_, speed) = progress.finish();
    let failure = match ended {
        Some(Ok(imported)) => Ok((before.and(imported), imported.partitions)),
        Some(Err(error)) => Err(arguments.early(error, before, done)),
        None => Err(ImportFailure::Stopped { rows: done.rows, again: arguments.again() }),
    };
    let (Position { rows, refused, .. }, partitions) = match (failure, unsaved) {
        (Ok(whole), _) => whole,
        (Err(failure), None) => return Err(failure.into()),
        (Err(failure), Some(unsaved)) => {
            return Err(ImportFailure::Unsaved(Box::new(failure), Box::new(unsaved)).into());
        }
    };
    let removed = checkpoint.map_or(Ok(()), Checkpoint::remove);
    let line = match arguments.json {
        true => json!({ "rows": rows, "refused": refused }).to_string(),
        false => {
            format!("imported {} {} to `{table}`: {speed}", HumanCount(rows), counted::rows(rows))
        }
    };
    let printed = writeln!(stdout(), "{line}");
    if let Some(expected) = expected {
        // Of rows that an earlier run has written, or that have no key, the partitions are not known.
        let knows_partitions = before.line == 0 && refused == 0;
        let partitions = if knows_partitions { partitions } else { expected.partitions };
        let found = Numbers { rows: rows + refused, partitions };
        if found != expected {
            return Err(ImportFailure::Numbers { path: path.clone(), expected, found }.into());
        }
    }
    match refused {
        0 => {
            removed?;
            Ok(printed?)
        }
        refused => Err(ImportFailure::Refused { refused, rows }.into()),
    }
}

/// What to do after the text of an import with a checkpoint was corrected: a checkpoint knows its text.
const ANEW: &str = "import again, with another checkpoint if the text is another";

impl Arguments {
    /// Why an import ended before its end.
    fn early(&self, error: Error, before: Position, done: Position) -> ImportFailure {
        let again = self.again();
        let corrected = self.checkpoint.as_ref().map(|_| ANEW);
        match error {
            Error::Transfer(TransferError::Refused { line, rows, source }) => {
                let again = corrected.unwrap_or(again);
                ImportFailure::Line { line, rows: before.rows + rows, again, source }
            }
            Error::Transfer(TransferError::Header(_) | TransferError::RepeatedColumn(_)) => {
                let again = corrected.unwrap_or("import again");
                let path = self.from.clone();
                ImportFailure::Header { path, again, source: Box::new(error) }
            }
            error => ImportFailure::Incomplete { rows: done.rows, again, source: Box::new(error) },
        }
    }

    /// What to do after an import that is not whole.
    const fn again(&self) -> &'static str {
        match (&self.checkpoint, self.insert_only) {
            (None, false) => "import again, and the rows that were written stay the same",
            (None, true) => "import again with --go-on, which leaves out the rows that exist",
            (Some(_), false) => "the same command continues from the checkpoint",
            (Some(_), true) => {
                "the same command with --go-on continues from the checkpoint, and leaves out the rows that exist"
            }
        }
    }
}

fn open(path: &Path, file: TextFile) -> Result<Box<dyn BufRead + Send>, ImportFailure> {
    let text = File::open(path).and_then(|source| file.read(source));
    text.map_err(|source| ImportFailure::File { path: path.to_owned(), source })
}

/// What distinguishes a text from others.
struct Text {
    bytes: u64,
    sha256: String,
}

impl Text {
    /// Reads the whole text.
    fn of(path: &Path, file: TextFile) -> Result<Self, ImportFailure> {
        let digest = digest(open(path, file)?);
        let (bytes, hash) =
            digest.map_err(|source| ImportFailure::File { path: path.to_owned(), source })?;
        Ok(Self { bytes, sha256: hex(hash) })
    }

    /// Compares it with its manifest.
    fn check(&self, path: &Path, manifest: &Manifest) -> Result<(), ImportFailure> {
        if (self.bytes, &self.sha256) == (manifest.bytes, &manifest.sha256) {
            return Ok(());
        }
        let (path, found, hash) = (path.to_owned(), self.bytes, self.sha256.clone());
        Err(ImportFailure::Different { path, found, hash })
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
