//! A stored row with its keys and version, its properties unread.

use crate::codec::RowContext;
use crate::entity::{RowHead, read_row_in_context};
use crate::error::Result;
use crate::model::ETag;

/// A stored row.
#[derive(Debug)]
pub(crate) struct VersionedRow<'a> {
    pub partition_key: String,
    pub row_key: String,
    pub etag: ETag,
    /// Its JSON object.
    pub body: &'a [u8],
    /// Its keys and marks.
    pub context: RowContext<'a>,
}

impl<'a> VersionedRow<'a> {
    pub fn read(body: &'a [u8]) -> Result<Self> {
        let (RowHead { partition_key, row_key }, context) = read_row_in_context(0, body, None)?;
        Ok(Self { partition_key, row_key, etag: context.etag(), body, context })
    }
}
