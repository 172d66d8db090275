//! What a store returns.

use crate::entity::ETag;
use bytes::Bytes;

/// Where the next page starts: the two continuation headers, each opaque and on its own optional.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Continuation {
    /// `x-ms-continuation-NextPartitionKey`.
    pub next_partition_key: Option<String>,
    /// `x-ms-continuation-NextRowKey`.
    pub next_row_key: Option<String>,
}

/// One page of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// A JSON object whose member `value` is the array of row objects, as the service answers.
    pub body: Bytes,
    /// Present when there may be more, even after an empty page.
    pub continuation: Option<Continuation>,
    /// How many rows the store looked at, where it can tell. The service does not say.
    pub scanned: Option<u32>,
}

/// One row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRow {
    /// The row's JSON object.
    pub body: Bytes,
    /// The row's version.
    pub etag: ETag,
}
