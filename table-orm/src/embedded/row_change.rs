//! What a request does to one row.

use super::stored::TimestampText;
use bytes::Bytes;
use std::borrow::Cow;

/// A change of one row.
pub(crate) struct RowChange<'o> {
    pub(crate) key: &'o [u8],
    /// The Timestamp and the body of the row that is stored, in place of the one that is there; `None` to delete it.
    pub(crate) row: Option<(TimestampText, Cow<'o, Bytes>)>,
}
