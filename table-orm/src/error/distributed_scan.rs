//! What is wrong with a scan by many machines.

/// A scan by many machines that cannot be started or worked on as it was asked for. Nothing was
/// sent, unless the variant says so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DistributedScanError {
    /// An id that keys and messages cannot hold.
    #[error(
        "{0:?} cannot be a scan's id: use 1 to 80 ASCII letters, digits, dashes, underscores and \
         dots"
    )]
    Id(String),
    /// An option of scans in one process.
    #[error("a scan by many machines cannot have `{option}`; {advice}")]
    Option {
        /// The builder's method.
        option: &'static str,
        /// What to do instead.
        advice: &'static str,
    },
    /// More ranges to begin with than one transaction inserts.
    #[error(
        "{found} split keys are too many to begin with; give at most {most}: workers split the \
         ranges further"
    )]
    TooManySplitKeys {
        /// Keys given.
        found: usize,
        /// The most there may be.
        most: usize,
    },
    /// A scan that the control table does not know. Requests were sent.
    #[error(
        "scan `{0}` is not in the control table; `start` it first, or give the id that it was started \
         with"
    )]
    NotStarted(String),
    /// A scan of that id which differs, in its queue perhaps. Requests were sent.
    #[error(
        "scan `{scan}` was started with another {what}: {found}, and here it is {expected}; build \
         it alike everywhere, or start another scan under another id"
    )]
    OtherScan {
        /// The scan's id.
        scan: String,
        /// What differs.
        what: &'static str,
        /// What it was started with.
        found: String,
        /// What it is here.
        expected: String,
    },
    /// A scan begun by another version of this program. Requests were sent.
    #[error(
        "scan `{scan}` has format {found}, this program writes {expected}; finish it with the \
         program that began it, or `remove` it"
    )]
    Version {
        /// The scan's id.
        scan: String,
        /// Its version.
        found: i32,
        /// This program's.
        expected: i32,
    },
}
