//! The rows of a scan as text.
//!
//! Invariant: rows leave in key order, so an export that ended after a row continues after it.

use super::blocking::Blocking;
use super::csv::Columns;
use super::format::Format;
use crate::entity::{DynamicEntity, RowHead, TableEntity};
use crate::error::{Result, TransferError};
use crate::query::ScanPermit;
use crate::repo::Repo;
use crate::scan::{Scan, ScanPage, ScanStream, Untyped};
use std::io::{self, Write};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};

/// An export of the rows that a scan reads: of a whole table, unless [`scan`](Self::scan) chooses a part.
///
/// ```
/// # use table_orm::{DynamicEntity, TableName, Tables};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let tables = Tables::in_memory()?;
/// # let results = TableName::new("results")?;
/// # tables.create(&results).await?;
/// # for (race, bib) in [("Boston", "00001"), ("Boston", "00002"), ("Chicago", "00001")] {
/// #     tables.table(results.clone()).insert(&DynamicEntity::new(race, bib)).await?;
/// # }
/// use table_orm::ScanPermit;
///
/// let export = tables.export(results, ScanPermit::because("backup of the east"));
/// let mut text = Vec::new();
/// let exported = export.scan(|scan| scan.prefix("B")).write_to(&mut text).await?;
/// assert_eq!((exported.rows, exported.partitions), (2, 1));
/// assert!(text.starts_with(br#"{"PartitionKey":"Boston","RowKey":"00001"}"#));
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is read until `write_to`, `write_to_async` or `pages` runs it"]
#[derive(Debug)]
pub struct Export<R = Untyped> {
    scan: Scan<DynamicEntity, R>,
    format: Format,
    after: Option<RowHead>,
}

/// What an export has written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ExportReport {
    /// The rows.
    pub rows: u64,
    /// The partitions that they are in.
    pub partitions: u64,
    /// The bytes of text.
    pub bytes: u64,
}

/// The text of the rows of one page.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportPage {
    /// Whole lines. The first page of a CSV text starts with the header.
    pub text: String,
    /// How many rows it has.
    pub rows: u64,
    /// How many partitions begin in it.
    pub partitions: u64,
    /// The key of its last row: [`Export::after`] continues after it.
    pub last: RowHead,
}

impl<E: TableEntity> Repo<E> {
    /// Exports every entity of the table, as its canonical row. Properties that the type does not have
    /// are exported, too. [`import`](Self::import) writes index rows and guard rows anew.
    ///
    /// The service reads, and bills, every row of the table. The permit records why.
    ///
    /// ```
    /// # use table_orm::{ScanPermit, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "readings", partition = "{sensor}", row = "{minute:06}")]
    /// # struct Reading { sensor: String, minute: u32, celsius: f64 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let readings = Tables::in_memory()?.repo::<Reading>();
    /// # readings.create_table().await?;
    /// readings.insert(&Reading { sensor: "roof".into(), minute: 1, celsius: 30.0 }).await?;
    /// readings.insert(&Reading { sensor: "roof".into(), minute: 2, celsius: 20.0 }).await?;
    ///
    /// let export = readings.export(ScanPermit::because("report"));
    /// let mut text = Vec::new();
    /// export.scan(|scan| scan.filter(|row| row.celsius.gt(25.0))).write_to(&mut text).await?;
    /// assert_eq!(text.split(|byte| *byte == b'\n').count(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn export(&self, permit: ScanPermit) -> Export<E::Canonical> {
        Export::new(self.scan(permit).cast())
    }
}

impl<R> Export<R> {
    pub(crate) fn new(scan: Scan<DynamicEntity, R>) -> Self {
        Self { scan: scan.ordered(true), format: Format::JsonLines, after: None }
    }

    /// Sets the options of the scan: a prefix, a range, a filter, a number of workers. It stays in key
    /// order.
    pub fn scan(
        mut self,
        options: impl FnOnce(Scan<DynamicEntity, R>) -> Scan<DynamicEntity, R>,
    ) -> Self {
        self.scan = options(self.scan).ordered(true);
        self
    }

    /// Writes CSV, with these columns. [`columns`](Self::columns) finds them.
    pub fn csv(mut self, columns: Columns) -> Self {
        self.format = Format::Csv(columns);
        self
    }

    /// Continues after that row, for a text that ends with it. A CSV text then has no second header.
    ///
    /// ```
    /// # use table_orm::{DynamicEntity, ScanPermit, TableName, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let results = TableName::new("results")?;
    /// # tables.create(&results).await?;
    /// # let rows = (0..1500).map(|bib| DynamicEntity::new("Boston", format!("{bib:05}")));
    /// # tables.table(results.clone()).insert_many(rows).await.all()?;
    /// let export = || tables.export(results.clone(), ScanPermit::because("backup"));
    /// let first = export().pages().next().await?.unwrap();
    /// // Later, in another process:
    /// let mut rest = Vec::new();
    /// let exported = export().after(first.last).write_to(&mut rest).await?;
    /// assert_eq!(first.rows + exported.rows, 1500);
    /// # Ok(())
    /// # }
    /// ```
    pub fn after(mut self, last: RowHead) -> Self {
        self.after = Some(last);
        self
    }

    /// Reads the rows, and returns the columns that a CSV text of them needs. This costs as much as the
    /// export itself.
    ///
    /// # Errors
    /// [`Error::Scan`](crate::Error::Scan) if the options of the scan do not fit together; an
    /// unreadable row; any error of the store.
    pub async fn columns(self) -> Result<Columns> {
        let mut pages = self.scan.page_stream();
        let mut columns = Columns::default();
        while let Some(page) = pages.next().await? {
            columns.extend(&page.rows);
        }
        Ok(columns)
    }

    /// Returns the text page by page, for an app that keeps the progress.
    #[must_use]
    pub fn pages(self) -> ExportPages {
        let Self { mut scan, format, after } = self;
        let header = match after {
            Some(_) => String::new(),
            None => format.header(),
        };
        let partition = after.as_ref().map(|after| after.partition_key.clone());
        if let Some(after) = after {
            scan = scan.after(after);
        }
        ExportPages { pages: scan.page_stream(), format, header, partition }
    }

    /// Writes the text to a writer that may block: a file, or a `Vec<u8>`. Flushes it at the end.
    ///
    /// # Errors
    /// [`Error::Transfer`](crate::Error::Transfer) if the text cannot be written;
    /// [`Error::Scan`](crate::Error::Scan) if the options of the scan do not fit together; an
    /// unreadable row; any error of the store.
    pub async fn write_to(self, output: impl Write) -> Result<ExportReport> {
        self.write_to_async(Blocking(output)).await
    }

    /// Writes the text to a writer of tokio, such as a socket or the body of a request. Flushes it at the
    /// end.
    ///
    /// # Errors
    /// As [`write_to`](Self::write_to).
    pub async fn write_to_async(self, mut output: impl AsyncWrite + Unpin) -> Result<ExportReport> {
        let mut pages = self.pages();
        let mut exported = ExportReport::default();
        let failed = |rows| move |source: io::Error| TransferError::Write { rows, source };
        while let Some(page) = pages.next().await? {
            output.write_all(page.text.as_bytes()).await.map_err(failed(exported.rows))?;
            exported.rows += page.rows;
            exported.partitions += page.partitions;
            exported.bytes += page.text.len() as u64;
        }
        // Where there were no rows.
        output.write_all(pages.header.as_bytes()).await.map_err(failed(exported.rows))?;
        exported.bytes += pages.header.len() as u64;
        output.flush().await.map_err(failed(exported.rows))?;
        Ok(exported)
    }
}

/// The text of an export, page by page.
#[derive(Debug)]
pub struct ExportPages {
    pages: ScanStream<ScanPage<DynamicEntity>>,
    format: Format,
    /// What is to be written before the next row.
    header: String,
    /// The partition of the last row.
    partition: Option<String>,
}

impl ExportPages {
    /// Returns the next page; `None` at the end, and after an error.
    ///
    /// # Errors
    /// [`Error::Scan`](crate::Error::Scan) if the options of the scan do not fit together; a row
    /// without a column; an unreadable row; any error of the store.
    pub async fn next(&mut self) -> Result<Option<ExportPage>> {
        let Some(ScanPage { rows, last, .. }) = self.pages.next().await? else { return Ok(None) };
        let mut text = std::mem::take(&mut self.header);
        let mut partitions = 0;
        for row in &rows {
            self.format.write(&mut text, row)?;
            if self.partition.as_ref() != Some(&row.partition_key) {
                self.partition = Some(row.partition_key.clone());
                partitions += 1;
            }
        }
        Ok(Some(ExportPage { text, rows: rows.len() as u64, partitions, last }))
    }

    /// Returns what a text without rows has: the header of a CSV text. Empty after the first page.
    #[must_use]
    pub fn header(&self) -> &str {
        &self.header
    }
}
