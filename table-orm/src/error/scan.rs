//! What is wrong with a scan as it was asked for.

use std::path::PathBuf;

/// A scan that cannot be started or gone on with. Nothing was sent, unless the variant says so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScanError {
    /// A concurrency of zero.
    #[error("a scan needs at least one worker; pass 1 or more to `concurrency`")]
    NoWorkers,
    /// A concurrency beyond [`MAX_CONCURRENCY`](crate::scan::MAX_CONCURRENCY).
    #[error(
        "a scan has at most {most} requests under way, not {given}; pass fewer to `concurrency`"
    )]
    TooManyWorkers {
        /// What was asked for.
        given: usize,
        /// The most there can be.
        most: usize,
    },
    /// A range that no key lies in: inverted, empty, or outside the prefix.
    #[error(
        "no PartitionKey lies from {lower:?} up to {}; check the range and the prefix",
        end_text(.upper.as_deref())
    )]
    EmptyRange {
        /// The lower bound.
        lower: String,
        /// The upper bound, exclusive.
        upper: Option<String>,
    },
    /// A prefix that no key can start with.
    #[error(
        "no key starts with {prefix:?}: keys cannot hold {character:?}; pass a prefix without it"
    )]
    PrefixCharacter {
        /// The prefix.
        prefix: String,
        /// The character the service refuses in keys.
        character: char,
    },
    /// A split key with a character that keys cannot hold, or with one above U+D7FF, where clients
    /// and services disagree on order.
    #[error(
        "{0:?} cannot split a scan: use characters below U+D800 that keys can hold, so no `/`, `\\`, \
         `#`, `?` or control character"
    )]
    SplitKey(String),
    /// A prefix scan that reads no page before it goes deeper.
    #[error("a prefix scan reads at least one page; pass 1 or more to `pages_per_prefix`")]
    NoPagesPerPrefix,
    /// A scan polled outside a tokio runtime.
    #[error("a scan runs on a tokio runtime; await it on one")]
    NoRuntime,
    /// A worker has ended early, as by a panic in reading a row. Requests were sent.
    #[error("a worker of the scan was lost; resume from its checkpoint, or scan again")]
    WorkerLost,
    /// A checkpoint that cannot be read.
    #[error("the checkpoint {} cannot be read; check its path and permissions", .path.display())]
    CheckpointUnreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A checkpoint that cannot be written. Requests were sent.
    #[error("the checkpoint {} cannot be written; check its path, permissions and the room left", .path.display())]
    CheckpointUnwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A row that another scan has saved its progress in, or that was deleted, since this scan
    /// began. Requests were sent.
    #[error(
        "{0}, which keeps the checkpoint, was written by another scan; give each scan a row of its \
         own, or end the other one"
    )]
    CheckpointTaken(String),
    /// A checkpoint of more ranges than a row holds. Requests were sent.
    #[error(
        "the checkpoint has {units} UTF-16 units, and a row holds {most}; keep it in a file, or \
         scan with fewer workers"
    )]
    CheckpointTooLarge {
        /// The length of its text, in UTF-16 units.
        units: usize,
        /// The most that fit.
        most: usize,
    },
    /// A file or row that is no checkpoint.
    #[error("{0} is no checkpoint of a scan; give another one, or delete it to start anew")]
    CheckpointMalformed(String),
    /// A checkpoint of another version of the format.
    #[error(
        "the checkpoint has format {found}, this program writes {expected}; finish the scan with \
         the program that began it, or delete it to start anew"
    )]
    CheckpointVersion {
        /// Its version.
        found: u64,
        /// This program's.
        expected: u64,
    },
    /// A checkpoint of another table.
    #[error(
        "the checkpoint is of table `{found}`, not of `{expected}`; give each table its own one"
    )]
    CheckpointTable {
        /// Its table.
        found: String,
        /// The table to be scanned.
        expected: String,
    },
    /// A checkpoint of a scan with another range, prefix, filter or selection; `count` selects no
    /// properties.
    #[error(
        "the checkpoint is of another scan of this table; give the range, prefix, filter and \
         selection it was started with (`count` selects no properties), or delete the checkpoint \
         to start anew"
    )]
    CheckpointQuery,
}

fn end_text(upper: Option<&str>) -> String {
    upper.map_or_else(|| "the end".to_owned(), |upper| format!("{upper:?}"))
}
