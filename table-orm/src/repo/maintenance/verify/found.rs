//! A stored row of which only the keys and the version were read.

use crate::codec::Members;
use crate::entity::{ReadRow, read_row};
use crate::error::Result;
use crate::model::ETag;
use crate::property::RowFault;

/// A stored row.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    pub partition_key: String,
    pub row_key: String,
    pub etag: ETag,
    /// Its JSON object.
    pub body: &'a [u8],
}

impl<'a> Found<'a> {
    pub fn read(body: &'a [u8]) -> Result<Self> {
        let Head { partition_key, row_key, etag } = read_row(0, body)?;
        Ok(Self { partition_key, row_key, etag, body })
    }
}

struct Head {
    partition_key: String,
    row_key: String,
    etag: ETag,
}

impl ReadRow for Head {
    const NAME: &'static str = "row";
    const SELECT: Option<&'static [&'static str]> = None;

    fn read_row(_row: usize, mut members: Members<'_, '_>) -> Result<Self, RowFault> {
        members.skip()?;
        Ok(Self {
            partition_key: members.partition_key().into_owned(),
            row_key: members.row_key().into_owned(),
            etag: members.etag(),
        })
    }
}
