//! A page that is handed to a handler.

use crate::entity::RowHead;

/// The identity of a page, which stays the same when the page is delivered again.
///
/// A page is delivered again if its worker ended after the handler and before the page was noted as
/// done. It starts with the same row, if that still exists, but may end earlier or later. If it ends
/// earlier, the range may be split before the end of what was handled, and the rest comes with another
/// range's id. So a handler whose effects must not be repeated identifies them by the rows' own keys:
/// it writes under these keys, or sends messages with ids made of them. To keep only the last key
/// handled is enough for scans that are never split
/// ([`Splitter::Serial`](crate::scan::Splitter::Serial)).
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

/// Rows of one range, in key order. It is empty only if
/// [`skip_unreadable`](crate::scan::Scan::skip_unreadable) has left all of them out.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct WorkPage<T> {
    /// The identity of the page.
    pub id: PageId,
    /// The rows.
    pub rows: Vec<T>,
    /// The key of the last row.
    pub last: RowHead,
}
