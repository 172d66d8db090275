//! The right to write the `eventual` rows of one entity in one partition, once.
//!
//! Invariant: the transaction that writes the rows deletes the ticket in the version that was known before
//! the canonical row was read. So of all that know the ticket, one writes.

use crate::entity::DynamicEntity;
use crate::error::{Error, Result};
use crate::model::ETag;
use crate::plan::{CanonicalKey, TableClient};
use crate::property::PropertyError;
use crate::store::{Action, Batch, IfMatch, Operation};

/// What the RowKey of every ticket begins with.
pub(crate) const START: &str = "TKT:";
/// The property that says whose ticket it is.
pub(super) const FOR: &str = "For";
/// How often a ticket that is deleted between two requests is asked for.
const ATTEMPTS: usize = 4;

/// A ticket in a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ticket {
    row_key: String,
    etag: ETag,
}

impl Ticket {
    /// Makes the ticket of an entity of the table `home` in a partition of `client`'s table, or shares the
    /// one that is there. `None` when others deleted it each time.
    pub async fn obtain(
        client: &TableClient,
        partition_key: &str,
        home: &TableClient,
        entity: &CanonicalKey,
    ) -> Result<Option<Self>> {
        let (row_key, body) = Self::row(partition_key, home, entity)?;
        for _ in 0..ATTEMPTS {
            let action = Action::Insert(body.clone());
            let operations = vec![Operation { row_key: row_key.clone(), action }];
            let batch = Batch { partition_key: partition_key.to_owned(), operations };
            match client.send(batch).await {
                Ok(etags) => {
                    let key = CanonicalKey { partition_key: partition_key.to_owned(), row_key };
                    let etag = client.version(&key, etags.into_iter().next().flatten())?;
                    return Ok(Some(Self { row_key: key.row_key, etag }));
                }
                Err(Error::AlreadyExists(_)) => {}
                Err(error) => return Err(error),
            }
            if let Some(row) = client.annotated_row(partition_key, &row_key).await? {
                return Ok(Some(Self { row_key, etag: row.etag()? }));
            }
        }
        Ok(None)
    }

    /// Replaces the tickets of entities in one transaction. Those that others hold are void then.
    pub async fn replace(
        client: &TableClient,
        partition_key: &str,
        home: &TableClient,
        entities: impl Iterator<Item = CanonicalKey>,
    ) -> Result<Vec<Self>> {
        let mut operations = Vec::new();
        for entity in entities {
            let (row_key, body) = Self::row(partition_key, home, &entity)?;
            operations.push(Operation { row_key, action: Action::InsertOrReplace(body) });
        }
        let keys: Vec<_> = operations.iter().map(|operation| operation.row_key.clone()).collect();
        let batch = Batch { partition_key: partition_key.to_owned(), operations };
        let etags = client.send(batch).await?;
        let tickets = keys.into_iter().zip(etags).map(|(row_key, etag)| {
            let key = CanonicalKey { partition_key: partition_key.to_owned(), row_key };
            Ok(Self { etag: client.version(&key, etag)?, row_key: key.row_key })
        });
        tickets.collect()
    }

    /// The delete of the ticket in its version.
    pub fn consume(&self) -> Operation {
        let action = Action::Delete(IfMatch::ETag(self.etag.clone()));
        Operation { row_key: self.row_key.clone(), action }
    }

    /// The RowKey and the JSON object of the ticket of an entity.
    fn row(
        partition_key: &str,
        home: &TableClient,
        entity: &CanonicalKey,
    ) -> Result<(String, bytes::Bytes), PropertyError> {
        // The names of tables have no case.
        let table = home.table.as_str().to_ascii_lowercase();
        let key = serde_json::json!([table, entity.partition_key, entity.row_key]).to_string();
        let row_key = format!("{START}{:032x}", hash(key.as_bytes()));
        let body = DynamicEntity::new(partition_key, &row_key).with(FOR, key).body()?;
        Ok((row_key, body))
    }
}

/// The 128-bit FNV-1a hash. The names of stored tickets depend on it.
fn hash(bytes: &[u8]) -> u128 {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.iter().fold(OFFSET, |hash, &byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(hash(b""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(hash(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
        assert_eq!(hash(b"foobar"), 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18);
    }
}
