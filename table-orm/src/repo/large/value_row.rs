//! A row with bytes of a large value.

use crate::entity::{Members, ReadRow, body};
use crate::error::Result;
use crate::model::DateTime;
use crate::plan::CanonicalKey;
use crate::property::{Chunked, PropertiesWriter, RowFault, chunk_key};
use crate::store::{Action, Batch, IfMatch, Operation};
use bytes::Bytes;

/// The property with the RowKey of the entity.
pub(super) const OWNER: &str = "Owner";
/// The property that says that a blob holds the bytes.
pub(super) const IN_BLOB: &str = "InBlob";
/// What the properties with the bytes begin with.
const DATA: &str = "Data";

/// A row with bytes of a large value.
pub(super) struct ValueRow {
    pub owner: String,
    /// `None` where only other properties were asked for, and where a blob holds the bytes.
    pub data: Option<Bytes>,
    pub in_blob: bool,
    pub written: Option<DateTime>,
}

impl ValueRow {
    /// The write of a row. The first one is inserted; another replaces at most itself, because the id is fresh.
    pub fn write(owner: &CanonicalKey, id: &str, chunk: u64, data: &Bytes) -> Result<Batch> {
        let mut out = PropertiesWriter::new(Self::NAME);
        out.property(OWNER, &owner.row_key)?;
        data.write(DATA, &mut out)?;
        let (partition_key, row_key) = (owner.partition_key.clone(), chunk_key(id, chunk));
        let write = if chunk == 0 { Action::Insert } else { Action::InsertOrReplace };
        let action = write(body(&partition_key, &row_key, &out)?);
        Ok(Batch { partition_key, operations: vec![Operation { row_key, action }] })
    }

    /// The insert of both rows of a value in a blob.
    pub fn write_of_blob(owner: &CanonicalKey, id: &str) -> Result<Batch> {
        let mut out = PropertiesWriter::new(Self::NAME);
        out.property(OWNER, &owner.row_key)?;
        out.property(IN_BLOB, &true)?;
        let partition_key = owner.partition_key.clone();
        let row = |chunk| {
            let row_key = chunk_key(id, chunk);
            let action = Action::Insert(body(&partition_key, &row_key, &out)?);
            Ok(Operation { row_key, action })
        };
        let operations = [0, 1].into_iter().map(row).collect::<Result<_>>()?;
        Ok(Batch { partition_key: owner.partition_key.clone(), operations })
    }

    /// A write of the first row that changes none of its properties, and fails when the row does not exist.
    pub fn touch(owner: &CanonicalKey, id: &str) -> Result<Batch> {
        let (partition_key, row_key) = (owner.partition_key.clone(), chunk_key(id, 0));
        let row = body(&partition_key, &row_key, &PropertiesWriter::new(Self::NAME))?;
        let action = Action::Merge(row, IfMatch::Any);
        Ok(Batch { partition_key, operations: vec![Operation { row_key, action }] })
    }
}

impl ReadRow for ValueRow {
    const NAME: &'static str = "large value";

    fn read_row(_row: usize, mut members: Members<'_, '_>) -> Result<Self, RowFault> {
        let (mut owner, mut data) = (None::<String>, Bytes::empty());
        let mut in_blob = None::<bool>;
        while let Some(name) = members.next_name()? {
            if name == OWNER {
                members.read(&name, &mut owner)?;
            } else if name == IN_BLOB {
                members.read(&name, &mut in_blob)?;
            } else if !Bytes::read(&mut data, DATA, &name, &mut members)? {
                members.other(&name)?;
            }
        }
        let data = Bytes::stored(data, DATA)?;
        let (owner, in_blob) = (owner.unwrap_or_default(), in_blob.unwrap_or_default());
        Ok(Self { owner, data, in_blob, written: members.timestamp() })
    }
}
