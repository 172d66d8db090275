//! A row with bytes of a large value.

use crate::entity::{Members, ReadRow, body};
use crate::error::Result;
use crate::model::DateTime;
use crate::plan::CanonicalKey;
use crate::property::{Chunked, PropertiesWriter, RowFault, chunk_key};
use crate::store::{Action, Batch, Operation};
use bytes::Bytes;

/// The property with the RowKey of the entity.
pub(super) const OWNER: &str = "Owner";
/// What the properties with the bytes begin with.
const DATA: &str = "Data";

/// A row with bytes of a large value.
pub(super) struct ChunkRow {
    pub owner: String,
    /// `None` where only other properties were asked for.
    pub data: Option<Bytes>,
    pub written: Option<DateTime>,
}

impl ChunkRow {
    /// The write of a row. Its id is fresh, so it replaces at most itself.
    pub fn write(owner: &CanonicalKey, id: &str, chunk: u64, data: &Bytes) -> Result<Batch> {
        let mut out = PropertiesWriter::new(Self::NAME);
        out.property(OWNER, &owner.row_key)?;
        data.write(DATA, &mut out)?;
        let (partition_key, row_key) = (owner.partition_key.clone(), chunk_key(id, chunk));
        let action = Action::InsertOrReplace(body(&partition_key, &row_key, &out)?);
        Ok(Batch { partition_key, operations: vec![Operation { row_key, action }] })
    }
}

impl ReadRow for ChunkRow {
    const NAME: &'static str = "large value";

    fn read_row(_row: usize, mut members: Members<'_, '_>) -> Result<Self, RowFault> {
        let (mut owner, mut data) = (None::<String>, Bytes::empty());
        while let Some(name) = members.next_name()? {
            if name == OWNER {
                members.read(&name, &mut owner)?;
            } else if !Bytes::read(&mut data, DATA, &name, &mut members)? {
                members.other(&name)?;
            }
        }
        let data = Bytes::stored(data, DATA)?;
        Ok(Self { owner: owner.unwrap_or_default(), data, written: members.timestamp() })
    }
}
