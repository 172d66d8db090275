//! What a store returns.

use crate::entity::read_etag;
use crate::model::{Continuation, ETag};
use crate::property::PropertyError;
use bytes::Bytes;

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
