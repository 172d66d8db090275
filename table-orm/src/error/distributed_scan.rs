//! Why a distributed scan cannot run as configured.

use crate::model::Printable;

/// A distributed scan that cannot start, or that a worker cannot join. Nothing was sent, unless the
/// variant says so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DistributedScanError {
    /// Keys and messages cannot hold the id.
    #[error(
        "{0:?} cannot be a scan's id: use 1 to 80 ASCII letters, digits, dashes, underscores and \
         dots"
    )]
    Id(String),
    /// The option is one of scans in one process.
    #[error("a distributed scan cannot have `{option}`; {help}")]
    Option {
        /// The builder's method.
        option: &'static str,
        /// What to do instead.
        help: &'static str,
    },
    /// There are more first ranges than one transaction can insert.
    #[error(
        "a distributed scan starts with at most {most} split keys, not {found}; pass fewer: \
         workers split the ranges further"
    )]
    TooManySplitKeys {
        /// Keys given.
        found: usize,
        /// The most keys.
        most: usize,
    },
    /// The control table has no scan of that id. Requests were sent.
    #[error(
        "scan `{0}` is not in the control table; `start` it first, or pass the id that it was \
         started with"
    )]
    NotStarted(String),
    /// The scan of that id was started with another configuration. Requests were sent.
    #[error(
        "scan `{scan}` was started with another {what}: {}, and here it is {expected}; configure it \
         the same everywhere, or start another scan under another id",
        Printable(found)
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
    /// The scan was started by another version of this program. Requests were sent.
    #[error(
        "scan `{scan}` has format {found}, and this program writes {expected}; finish it with the \
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
