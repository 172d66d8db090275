//! Why a scan cannot run as configured.

use crate::model::Printable;
use std::path::PathBuf;

/// A scan that cannot start or resume. Nothing was sent, unless the variant says so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScanError {
    /// The concurrency is zero.
    #[error(
        "without a worker nothing is read; pass 1 or more to `concurrency` of a scan, or to `workers` of a list"
    )]
    NoWorkers,
    /// The concurrency is over [`MAX_CONCURRENCY`](crate::scan::MAX_CONCURRENCY).
    #[error(
        "a scan sends at most {most} requests at a time, not {given}; pass at most {most} to \
         `concurrency`, or to `workers` of a list"
    )]
    TooManyWorkers {
        /// The concurrency given.
        given: usize,
        /// The largest concurrency.
        most: usize,
    },
    /// No key lies in the range: it is inverted, empty, or outside the prefix.
    #[error(
        "no PartitionKey lies {} {}; check the range and the prefix",
        start_text(.lower), end_text(.upper.as_deref())
    )]
    EmptyRange {
        /// The lower bound.
        lower: String,
        /// The upper bound, exclusive.
        upper: Option<String>,
    },
    /// No key can start with the prefix.
    #[error(
        "no key starts with {prefix:?}: keys cannot hold {character:?}; pass a prefix without it"
    )]
    PrefixCharacter {
        /// The prefix.
        prefix: String,
        /// The character that keys cannot hold.
        character: char,
    },
    /// A split key has a character that keys cannot hold, or one above U+D7FF, where clients and
    /// services disagree on order.
    #[error(
        "{0:?} cannot split a scan: use characters below U+D800 that keys can hold, so no `/`, \
         `\\`, `#`, `?` or control character"
    )]
    SplitKey(String),
    /// A prefix scan would read no page before it goes deeper.
    #[error("a prefix scan reads at least one page; pass 1 or more to `pages_per_prefix`")]
    NoPagesPerPrefix,
    /// A scan that begins after a row was asked for pages.
    #[error(
        "pages cannot begin after a row, and nothing was read; resume them with a token, or read the \
         scan with `page_stream`"
    )]
    PagesAfter,
    /// The scan was polled outside a tokio runtime.
    #[error("a scan needs a tokio runtime; await it inside one")]
    NoRuntime,
    /// A worker stopped early, for example because reading a row panicked. Requests were sent.
    #[error("a worker of the scan stopped early; resume from the checkpoint, or scan again")]
    WorkerLost,
    /// A page of an ordered scan began before the end of the one before: the service sorts these keys
    /// in another way, or forgot where the scan was. Rows before it were handed out.
    #[error(
        "the row {partition_key:?}, {row_key:?} came after a later one, so the rows are not in \
         order; scan without `ordered`"
    )]
    OutOfOrder {
        /// The PartitionKey of the page's first row.
        partition_key: String,
        /// Its RowKey.
        row_key: String,
    },
    /// The checkpoint file cannot be read.
    #[error(
        "the checkpoint {} cannot be read; check its path and permissions",
        Printable(.path.display())
    )]
    CheckpointUnreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The checkpoint file cannot be written. Requests were sent.
    #[error(
        "the checkpoint {} cannot be written; check its path, its permissions and the free space",
        .path.display()
    )]
    CheckpointUnwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The checkpoint row was written by another scan or deleted since this scan began. Requests
    /// were sent.
    #[error(
        "another scan wrote {}, which keeps the checkpoint of this one; give each scan its own \
         row, or stop the other scan",
        Printable(.0)
    )]
    CheckpointTaken(String),
    /// The checkpoint has more ranges than a row can hold. Requests were sent.
    #[error(
        "the checkpoint has {units} UTF-16 units, and a row can hold {most}; keep it in a file, or \
         scan with fewer workers"
    )]
    CheckpointTooLarge {
        /// The length of its text, in UTF-16 units.
        units: usize,
        /// The most that fit.
        most: usize,
    },
    /// The file or row is not a checkpoint, or was altered or cut short.
    #[error(
        "{} is not a checkpoint of a scan, or was altered; pass another one, or delete it to start \
         over",
        Printable(.0)
    )]
    CheckpointMalformed(String),
    /// The checkpoint has another version of the format. Version 1, of programs before 0.1.0, had no hash
    /// to check.
    #[error(
        "the checkpoint has format {found}, and this program writes {expected}; finish the scan \
         with the program that began it, or delete the checkpoint to start over"
    )]
    CheckpointVersion {
        /// Its version.
        found: u64,
        /// This program's.
        expected: u64,
    },
    /// The checkpoint is of another table.
    #[error(
        "the checkpoint is of table `{}`, not of `{expected}`; use one checkpoint for each table",
        Printable(found)
    )]
    CheckpointTable {
        /// Its table.
        found: String,
        /// The table to be scanned.
        expected: String,
    },
    /// The checkpoint is of a scan with another range, prefix, filter or selection. `count` selects
    /// no properties.
    #[error(
        "the checkpoint is of another scan of this table; pass the range, prefix, filter and \
         selection that it was started with (`count` selects no properties), or delete the \
         checkpoint to start over"
    )]
    CheckpointQuery,
}

/// The key that a bound is the next one of: no key holds that character, so it is of a bound between two keys.
fn key_before(bound: &str) -> Option<&str> {
    bound.strip_suffix('\0')
}

fn start_text(lower: &str) -> String {
    match key_before(lower) {
        Some(key) => format!("after {key:?}"),
        None => format!("from {lower:?}"),
    }
}

fn end_text(upper: Option<&str>) -> String {
    match (upper, upper.and_then(key_before)) {
        (None, _) => "up to the end".to_owned(),
        (_, Some(key)) => format!("up to {key:?}, inclusive"),
        (Some(upper), None) => format!("up to {upper:?}"),
    }
}
