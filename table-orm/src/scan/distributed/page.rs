//! A page, as its handler gets it.

use super::super::place::ScanKey;

/// Which page it is: the same when it comes again.
///
/// A page comes again when its worker ended between the handler and the note that it was done. It
/// then starts with the same row, if that is still there, but may end earlier or later. So a handler
/// that must notice it keeps, in one transaction with what it writes, the last key it has handled of
/// each range, and skips rows up to that one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct PageId {
    /// The scan's id.
    pub scan: String,
    /// The range's id. Ranges never overlap.
    pub range: String,
    /// The key of the page's first row.
    pub first: ScanKey,
}

/// Rows of one range, in key order; never none.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct WorkPage<T> {
    /// Which page it is.
    pub id: PageId,
    /// The rows.
    pub rows: Vec<T>,
    /// The key of the last one.
    pub last: ScanKey,
}
