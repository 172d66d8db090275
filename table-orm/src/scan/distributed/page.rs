//! A page, as its handler gets it.

use crate::entity::RowHead;

/// Which page it is: the same when it comes again.
///
/// A page comes again when its worker ended between the handler and the note that it was done. It
/// then starts with the same row, if that is still there, but may end earlier or later. Where it
/// ends earlier, the range may be split before the end of what was handled, and the rest comes under
/// another range's id. So a handler whose effects must not be repeated tells them by the rows' own
/// keys: writes under them, or messages with ids made of them. Only in a scan that is never split
/// ([`Splitter::Serial`](crate::scan::Splitter::Serial)) is it enough to keep the last key handled.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct PageId {
    /// The scan's id.
    pub scan: String,
    /// The range's id. Ranges never overlap.
    pub range: String,
    /// The key of the page's first row.
    pub first: RowHead,
}

/// Rows of one range, in key order; none only where
/// [`skip_unreadable`](crate::scan::Scan::skip_unreadable) has left all of them out.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct WorkPage<T> {
    /// Which page it is.
    pub id: PageId,
    /// The rows.
    pub rows: Vec<T>,
    /// The key of the last one.
    pub last: RowHead,
}
