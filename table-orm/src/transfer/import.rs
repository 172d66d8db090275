//! The rows of a text into a table.
//!
//! Invariants: an import that returns a count has written each row of the text, or reported it as refused.
//! One that fails may have left out rows before the line that it names, because rows are written in
//! parallel. It has left out none up to the line of its last progress.

use super::blocking::Blocking;
use super::destination::Destination;
use super::format::Format;
use super::lines::{Line, Lines};
use crate::entity::{RowHead, TableEntity};
use crate::error::{Error, Result, TransferError};
use crate::repo::{BulkFailure, DEFAULT_PARALLELISM, Repo};
use std::collections::HashMap;
use std::fmt;
use std::io::BufRead;
use tokio::io::AsyncBufRead;

/// The rows and bytes of text that are written at a time.
const BLOCK: (usize, usize) = (10_000, 16 * 1024 * 1024);

/// An import into a table or a repository. Rows that exist are replaced, unless it is
/// [`insert_only`](Self::insert_only). It stops at the first row that is refused, unless
/// [`on_refused`](Self::on_refused) is set.
///
/// It may be repeated: a row that was written is written again, with the same content.
///
/// ```
/// # use table_orm::{TableName, Tables};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let tables = Tables::in_memory()?;
/// # let results = TableName::new("results")?;
/// # tables.create(&results).await?;
/// let text = r#"{"PartitionKey":"Boston","RowKey":"00007","Name":"Ann"}
/// {"PartitionKey":"Boston","RowKey":"no / key","Name":"Bob"}
/// "#;
/// let mut refused = Vec::new();
/// let import = tables.import(results).on_refused(|row| refused.push(row.line));
/// let imported = import.read_from(text.as_bytes()).await?;
/// assert_eq!((imported.rows, imported.refused), (1, 1));
/// assert_eq!(refused, [2]);
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is written until `read_from` or `read_from_async` runs it"]
pub struct Import<'a, D> {
    destination: D,
    is_csv: bool,
    insert_only: bool,
    parallelism: usize,
    after: u64,
    on_refused: Option<Box<dyn FnMut(RefusedRow) + Send + 'a>>,
    on_progress: Option<Box<dyn FnMut(ImportReport) + Send + 'a>>,
}

/// What an import has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ImportReport {
    /// The rows of the text that were written: entities, where it is an import of entities.
    pub rows: u64,
    /// The rows that were refused.
    pub refused: u64,
    /// The partitions of the rows that were read. The rows of a partition are expected one after the other, as
    /// an export writes them; partitions that come again count again.
    pub partitions: u64,
    /// The line of the text, from 1, up to which each row was written or refused; 0 before the first.
    pub line: u64,
}

/// A row that was not written.
#[derive(Debug)]
#[non_exhaustive]
pub struct RefusedRow {
    /// The line of the text on which it starts, from 1. Where two rows have one key, that of the second.
    pub line: u64,
    /// Its key, if that was read.
    pub key: Option<RowHead>,
    /// Why.
    pub error: Error,
}

impl<E: TableEntity + 'static> Repo<E> {
    /// Imports the entities of a text that [`export`](Self::export) wrote, with their index rows and
    /// guard rows.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// #[table(name = "results", partition = "{race}")]
    /// #[row(by_bib, key = "BIB:{bib:05}")]
    /// #[row(by_rank, key = "RANK:{rank:05}__{bib:05}")]
    /// struct Finisher { race: String, bib: u32, rank: u32 }
    ///
    /// let results = Tables::in_memory()?.repo::<Finisher>();
    /// # results.create_table().await?;
    /// let text = "PartitionKey,RowKey,Bib:Edm.Int64,Race:Edm.String,Rank:Edm.Int64\n\
    ///             Boston,BIB:00007,7,Boston,1\n";
    /// results.import().csv().read_from(text.as_bytes()).await?;
    /// let first = results.list(Finisher::partition("Boston").by_rank().rank(1)).collect().await?;
    /// assert_eq!(first[0].bib, 7);
    /// # Ok(())
    /// # }
    /// ```
    pub fn import<'a>(&self) -> Import<'a, Self> {
        Import::new(self.clone())
    }
}

impl<'a, D: Destination> Import<'a, D> {
    pub(crate) fn new(destination: D) -> Self {
        let (on_refused, on_progress) = (None, None);
        let (is_csv, insert_only, parallelism, after) = (false, false, DEFAULT_PARALLELISM, 0);
        Self { destination, is_csv, insert_only, parallelism, after, on_refused, on_progress }
    }

    /// Reads CSV, whose header names the columns, instead of JSON Lines.
    pub const fn csv(mut self) -> Self {
        self.is_csv = true;
        self
    }

    /// Refuses rows that exist, instead of replacing them.
    pub const fn insert_only(mut self) -> Self {
        self.insert_only = true;
        self
    }

    /// Sets the most transactions in flight; 0 counts as 1.
    pub const fn parallelism(mut self, requests: usize) -> Self {
        self.parallelism = requests;
        self
    }

    /// Leaves out the rows up to a line of the text, counted from 1. To continue an earlier import of the same
    /// text, pass the last [`ImportReport::line`] of its [`on_progress`](Self::on_progress).
    ///
    /// ```
    /// # use table_orm::{TableName, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let results = TableName::new("results")?;
    /// # tables.create(&results).await?;
    /// let text = "PartitionKey,RowKey\nBoston,00007\nBoston,00008\n";
    /// let imported = tables.import(results).csv().after_line(2).read_from(text.as_bytes()).await?;
    /// assert_eq!((imported.rows, imported.line), (1, 3)); // the second of the two rows
    /// # Ok(())
    /// # }
    /// ```
    pub const fn after_line(mut self, line: u64) -> Self {
        self.after = line;
        self
    }

    /// Goes on after a row that is refused, and calls `refused` with it. A failure that would hit the
    /// next row too still ends the import: the store throttles, gives no usable answer or rejects the
    /// credential, or the table does not exist.
    pub fn on_refused(mut self, refused: impl FnMut(RefusedRow) + Send + 'a) -> Self {
        self.on_refused = Some(Box::new(refused));
        self
    }

    /// Calls `progress` now and then, after at most 10,000 rows, with what was done so far.
    pub fn on_progress(mut self, progress: impl FnMut(ImportReport) + Send + 'a) -> Self {
        self.on_progress = Some(Box::new(progress));
        self
    }

    /// Imports a text from a reader that may block: a file with a buffer, or a slice of bytes.
    ///
    /// # Errors
    /// [`Error::Transfer`] if the text cannot be read, has no valid header, or has a row that is refused
    /// and not taken by [`on_refused`](Self::on_refused). Any error of the store that is not of one row.
    pub async fn read_from(self, input: impl BufRead) -> Result<ImportReport> {
        self.read_from_async(Blocking(input)).await
    }

    /// Imports a text from a reader of tokio, such as a socket or the body of a request.
    ///
    /// # Errors
    /// As [`read_from`](Self::read_from).
    pub async fn read_from_async(self, input: impl AsyncBufRead + Unpin) -> Result<ImportReport> {
        let mut lines = Lines::new(input, self.is_csv);
        let format =
            if self.is_csv { Format::Csv(header(&mut lines).await?) } else { Format::JsonLines };
        let after = self.after;
        let imported = ImportReport { line: after, ..ImportReport::default() };
        let mut run = ImportRun {
            import: self,
            imported,
            block: Block::default(),
            last: after,
            partition: None,
        };
        loop {
            let line = lines.next().await;
            if !matches!(line, Ok(Some(_))) {
                run.write().await?;
            }
            let Some(Line { number, last, text }) = line? else { return Ok(run.imported) };
            if number <= after {
                continue;
            }
            let read = text.map_err(Error::from).and_then(|text| {
                let row = format.read(&text)?;
                Ok((D::read(row)?, text.len()))
            });
            match read {
                Ok((value, bytes)) => {
                    let key = D::key(&value);
                    run.count_partition(&key.partition_key);
                    run.block.push(number, key, value, bytes);
                }
                Err(error) => {
                    run.write().await?;
                    run.refuse(RefusedRow { line: number, key: None, error })?;
                    run.imported.line = last;
                }
            }
            run.last = last;
            if run.block.is_full() {
                run.write().await?;
            }
        }
    }
}

/// Reads the columns of a CSV text.
async fn header<R: AsyncBufRead + Unpin>(lines: &mut Lines<R>) -> Result<super::Columns> {
    let Some(Line { text, .. }) = lines.next().await? else {
        return Err(TransferError::Header(String::new()).into());
    };
    Ok(text?.parse()?)
}

/// An import in progress.
struct ImportRun<'a, D: Destination> {
    import: Import<'a, D>,
    imported: ImportReport,
    block: Block<D::Value>,
    /// The last line of the rows that were read.
    last: u64,
    /// The partition of the last row that was read.
    partition: Option<String>,
}

impl<D: Destination> ImportRun<'_, D> {
    fn count_partition(&mut self, key: &str) {
        if self.partition.as_deref() != Some(key) {
            self.partition = Some(key.to_owned());
            self.imported.partitions += 1;
        }
    }

    /// Writes what waits.
    async fn write(&mut self) -> Result<()> {
        let Block { values, lines, .. } = std::mem::take(&mut self.block);
        if values.is_empty() {
            return Ok(());
        }
        let import = &self.import;
        let mut write = import.destination.write(values, import.insert_only);
        write = write.parallelism(import.parallelism);
        if import.on_refused.is_some() {
            write = write.continue_on_failure();
        }
        let report = write.await;
        // A row that an earlier attempt wrote, whose answer was lost, is there.
        self.imported.rows += report.written.entities + report.written.present;
        for BulkFailure { entity, error } in report.failures {
            let Some(value) = entity.filter(|_| error.is_of_one_entity()) else {
                return Err(error);
            };
            let key = D::key(&value);
            let line = lines.get(&key).copied().unwrap_or_default();
            self.refuse(RefusedRow { line, key: Some(key), error })?;
        }
        self.imported.line = self.last;
        if let Some(progress) = &mut self.import.on_progress {
            progress(self.imported);
        }
        Ok(())
    }

    fn refuse(&mut self, row: RefusedRow) -> Result<()> {
        self.imported.refused += 1;
        match &mut self.import.on_refused {
            Some(refused) => {
                refused(row);
                Ok(())
            }
            None => {
                let (rows, source) = (self.imported.rows, Box::new(row.error));
                Err(TransferError::Refused { line: row.line, rows, source }.into())
            }
        }
    }
}

/// Rows that are written together.
struct Block<T> {
    values: Vec<T>,
    /// The lines of the rows.
    lines: HashMap<RowHead, u64>,
    bytes: usize,
}

impl<T> Default for Block<T> {
    fn default() -> Self {
        Self { values: Vec::new(), lines: HashMap::new(), bytes: 0 }
    }
}

impl<T> Block<T> {
    fn push(&mut self, line: u64, key: RowHead, value: T, bytes: usize) {
        self.lines.insert(key, line);
        self.values.push(value);
        self.bytes += bytes;
    }

    const fn is_full(&self) -> bool {
        self.values.len() >= BLOCK.0 || self.bytes >= BLOCK.1
    }
}

impl<D> fmt::Debug for Import<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Import").field("insert_only", &self.insert_only).finish_non_exhaustive()
    }
}
