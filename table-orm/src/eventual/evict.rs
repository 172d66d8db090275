//! Deletes an expired entity with all its rows, before another entity takes its key or its values.
//!
//! Invariants:
//! - An entity is deleted only in the version that was read as expired.
//! - An entity that cannot be read is not deleted, and does not change the error of the write that meets it.

use super::delete::delete_loaded;
use super::intents::Intents;
use super::row_owner::{Copies, Owner, Role, of_guard, role};
use super::settling::Settling;
use crate::entity::{Loaded, TableEntity, is_alive};
use crate::error::{Error, Result};
use crate::model::{DateTime, Metadata, TableName};
use crate::plan::{CanonicalKey, Connection, MakeRoom, TableClient};
use crate::query::RowQuery;
use crate::store::{Batch, StoredRow};
use futures_core::future::BoxFuture;
use std::sync::Arc;

/// An entity type whose entities expire.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExpiringType {
    /// Its name.
    entity: &'static str,
    metadata: Metadata,
    client: fn(Arc<Connection>, TableName) -> TableClient,
    /// What a RowKey of the type is.
    role: fn(&str) -> Option<Role>,
    copies: Copies,
    /// The delete of the entity of a canonical row, where it is in the way: `None` for a row of another type, for an
    /// entity that is alive at that instant, and for one without the row in the way.
    delete: fn(&TableClient, StoredRow, &InTheWay) -> Option<Delete>,
}

/// The transaction that deletes an entity, and what follows it.
type Delete = (Batch, Intents);

/// The row that a write meets.
struct InTheWay {
    row_key: String,
    role: Role,
    now: DateTime,
}

impl ExpiringType {
    /// `E`, if its entities expire.
    pub fn of<E: TableEntity>() -> Option<Self> {
        if const { E::EXPIRES.is_none() } {
            return None;
        }
        Some(Self {
            entity: E::NAME,
            metadata: E::METADATA,
            client: TableClient::new::<E>,
            role: role::<E>,
            copies: Copies::of::<E>(),
            delete: delete::<E>,
        })
    }

    /// Deletes the entity of that key with all its rows, if it has expired. Its rows in other partitions follow.
    /// Returns whether it is not there any more as it was.
    async fn evict(
        &self,
        client: &TableClient,
        key: &CanonicalKey,
        in_the_way: &InTheWay,
    ) -> Result<bool> {
        let query = RowQuery { metadata: self.metadata, ..client.point(key) };
        // Another writer was faster, and may be about to take its place.
        let Some(row) = client.row(&query).await? else { return Ok(true) };
        let Some((batch, mut intents)) = (self.delete)(client, row, in_the_way) else {
            return Ok(false);
        };
        let settling = Settling::default();
        match intents.send(client, batch, None, &settling).await {
            Ok(etags) => intents.settle(client, &etags, &settling).await,
            // It is not in the way any more, or is found alive the next time.
            Err(Error::Conflict(_) | Error::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
        Ok(true)
    }

    async fn make_room(self, client: TableClient, key: CanonicalKey) -> Result<bool> {
        let Some(role) = (self.role)(&key.row_key) else { return Ok(false) };
        let now = client.connection.clock.now();
        let in_the_way = InTheWay { row_key: key.row_key.clone(), role, now };
        let owner = match role {
            Role::Canonical => Owner::Of(key),
            Role::Guard => of_guard(&client, &key).await?,
            Role::Copy => self.copies.owner(&client, &key, now).await?,
        };
        match owner {
            Owner::Of(key) => self.evict(&client, &key, &in_the_way).await,
            Owner::Gone => Ok(true),
            Owner::Unknown => Ok(false),
        }
    }
}

fn delete<E: TableEntity>(
    client: &TableClient,
    row: StoredRow,
    in_the_way: &InTheWay,
) -> Option<Delete> {
    let Ok(Some(loaded)) = Loaded::<E>::read(row.body, row.header) else { return None };
    if is_alive::<E>(loaded.stored(), Some(in_the_way.now)) {
        return None;
    }
    let (batch, intents) = delete_loaded(client, &loaded).ok()?;
    // An index row that its entity does not have stays, whatever happens to the entity.
    let has_row = !matches!(in_the_way.role, Role::Copy)
        || batch.operations.iter().any(|operation| operation.row_key == in_the_way.row_key);
    has_row.then_some((batch, intents))
}

impl MakeRoom for ExpiringType {
    fn entity(&self) -> &'static str {
        self.entity
    }

    fn make_room(
        &self,
        connection: &Arc<Connection>,
        table: &TableName,
        key: CanonicalKey,
        kept: Vec<String>,
    ) -> BoxFuture<'static, Result<bool>> {
        let client = (self.client)(Arc::clone(connection), table.clone());
        let client = TableClient { kept, ..client };
        Box::pin((*self).make_room(client, key))
    }
}
