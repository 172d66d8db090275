//! Why rows could not be exported or imported.

use super::Error;
use crate::entity::RowHead;
use crate::model::{EdmType, Printable};
use std::io;

/// Why an export or import ended early, or a line is not a row.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransferError {
    /// The output took no more bytes.
    #[error("the export cannot be written; {rows} rows were written before")]
    Write {
        /// The rows that were written whole.
        rows: u64,
        /// Why.
        source: io::Error,
    },
    /// The input gave no more bytes. The lines before were imported.
    #[error("line {line} of the import cannot be read; the lines before were imported")]
    Read {
        /// The line, from 1.
        line: u64,
        /// Why.
        source: io::Error,
    },
    /// A line is longer than any row. The lines before were imported, it and those after were not.
    #[error(
        "line {line} of the import has more than {most} bytes, so it is not a row; the lines before \
         were imported: check that the text is JSON Lines or CSV, and that all quotes are closed"
    )]
    LongLine {
        /// The line, from 1.
        line: u64,
        /// The longest text of a row, in bytes.
        most: u64,
    },
    /// The line is not UTF-8.
    #[error("the line is not UTF-8")]
    Encoding,
    /// A quote of the CSV text is not closed, so all lines from there to the end are one row.
    #[error(
        "the row that starts in line {first} has no end at the last line, {last}, because a quote is not closed: close \
         the quote, or double it if it is part of a text"
    )]
    OpenQuote {
        /// The line in which the row starts, from 1.
        first: u64,
        /// The last line of the text.
        last: u64,
    },
    /// The CSV text has no header, or one with columns that this crate does not write.
    #[error(
        "the header `{}` is not `PartitionKey,RowKey` with columns such as `Age:Edm.Int32` after it",
        Printable(.0)
    )]
    Header(String),
    /// The header of the CSV text has a column twice.
    #[error("the header has the column `{}` twice; rename or remove one", Printable(.0))]
    RepeatedColumn(String),
    /// A row of the CSV text does not fit the header.
    #[error("{0}")]
    Record(String),
    /// A row has a property for which the CSV header has no column.
    #[error(
        "row {:?} / {:?} has the property `{property}` of type {edm}, for which there is no column; it \
         was written after the columns were found: find them again, and start over",
        .key.partition_key, .key.row_key
    )]
    Column {
        /// The row.
        key: RowHead,
        /// Its property.
        property: String,
        /// The type of the property.
        edm: EdmType,
    },
    /// The line is a row of another type than the import's, or not its canonical row.
    #[error("the row is not a canonical row of `{0}`; import it through `Tables::import`")]
    NotCanonical(&'static str),
    /// The import stopped at a row that was refused. Rows before and after it may have been written, or
    /// not.
    #[error(
        "line {line} was refused: {source}; {rows} rows were written, and the import stopped: correct \
         the line and import again, or go on with `on_refused`"
    )]
    Refused {
        /// The line on which the row starts, from 1.
        line: u64,
        /// The rows that were written.
        rows: u64,
        /// Why.
        source: Box<Error>,
    },
}
