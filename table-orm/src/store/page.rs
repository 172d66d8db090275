//! What a store returns.

use crate::entity::ETag;
use crate::property::PropertyError;
use crate::row::read_etag;
use bytes::Bytes;

/// How much a row says about its properties' types.
///
/// A store may always send more than was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Metadata {
    /// Nothing: the reader knows the types. The least bytes.
    #[default]
    None,
    /// An `@odata.type` annotation on every property whose JSON form does not tell its type, and
    /// the row's ETag.
    Minimal,
}

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
    /// The version as the answer's header gives it; `None` leaves it to the row's `Timestamp`.
    pub header: Option<ETag>,
}

impl StoredRow {
    /// The row's version.
    ///
    /// # Errors
    /// When neither a header nor a `Timestamp` tells it.
    pub fn etag(&self) -> Result<ETag, PropertyError> {
        match &self.header {
            Some(etag) => Ok(etag.clone()),
            None => read_etag(&self.body),
        }
    }
}
