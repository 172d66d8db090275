//! The rows that a store returns.

use crate::entity::read_etag;
use crate::model::{Continuation, ETag};
use crate::property::PropertyError;
use bytes::Bytes;

/// One page of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// A JSON object whose member `value` is the array of row objects, as in the service's answer.
    pub body: Bytes,
    /// Where the next page starts; present when more rows may follow, even after an empty page.
    pub continuation: Option<Continuation>,
    /// How many rows the store looked at, if it knows. The service does not return it.
    pub scanned: Option<u32>,
}

/// One row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRow {
    /// The row's JSON object.
    pub body: Bytes,
    /// The version in the answer's header; `None` if the row's `Timestamp` is its version.
    pub header: Option<ETag>,
}

impl StoredRow {
    /// The row's version.
    ///
    /// # Errors
    /// The row has neither a header nor a `Timestamp`.
    pub fn etag(&self) -> Result<ETag, PropertyError> {
        match &self.header {
            Some(etag) => Ok(etag.clone()),
            None => read_etag(&self.body),
        }
    }
}
