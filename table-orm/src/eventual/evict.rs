//! The delete of an expired entity, with all its rows: before another takes its key or its values.
//!
//! Invariant: an entity is deleted only in the version that was read as expired.

use super::intents::Intents;
use super::settled::Settling;
use crate::entity::{
    DynamicEntity, GuardTemplate, Loaded, TableEntity, canonical, index_of, is_alive, read_row,
};
use crate::error::{Error, Result};
use crate::model::{DateTime, Edm, Metadata, TableName};
use crate::plan::{CanonicalKey, Connection, MakeRoom, TableClient, delete_all};
use crate::query::RowQuery;
use crate::store::{Batch, IfMatch, StoredRow};
use futures_core::future::BoxFuture;
use std::sync::Arc;

/// An entity type whose entities expire.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExpiringType {
    /// Its name.
    entity: &'static str,
    metadata: Metadata,
    client: fn(Arc<Connection>, TableName) -> TableClient,
    /// Which row of the type a RowKey is that of.
    place: fn(&str) -> Option<Place>,
    /// The delete of the entity of a canonical row: `None` for a row of another type, and for an entity that
    /// is alive at that instant.
    delete: fn(&TableClient, StoredRow, DateTime) -> Result<Option<(Batch, Intents)>>,
}

#[derive(Debug)]
enum Place {
    Canonical,
    Guard,
}

impl ExpiringType {
    /// `E`, if its entities expire.
    pub fn of<E: TableEntity>() -> Option<Self> {
        E::EXPIRES.map(|_| Self {
            entity: E::NAME,
            metadata: E::METADATA,
            client: TableClient::new::<E>,
            place: |row_key| match index_of::<E>(row_key)? {
                index if index == canonical::<E>() => Some(Place::Canonical),
                index => (index >= E::ROWS.len()).then_some(Place::Guard),
            },
            delete: |client, row, now| {
                let Some(loaded) = Loaded::<E>::read(row.body, row.header)? else {
                    return Ok(None);
                };
                if is_alive::<E>(loaded.stored(), Some(now)) {
                    return Ok(None);
                }
                let guard = IfMatch::ETag(loaded.etag().clone());
                let batch = delete_all(loaded.stored_rows()?, canonical::<E>(), &guard);
                let mut intents = Intents::default();
                intents.add_loaded(client, &loaded, None)?;
                Ok(Some((batch, intents)))
            },
        })
    }

    /// Deletes the entity of that key with all its rows, if it has expired. Its rows in other partitions follow.
    /// Returns whether it is not there any more as it was.
    async fn evict(&self, client: &TableClient, key: &CanonicalKey) -> Result<bool> {
        let query = RowQuery { metadata: self.metadata, ..client.point(key) };
        // Another writer was faster, and may be about to take its place.
        let Some(row) = client.row(&query).await? else { return Ok(true) };
        let now = client.connection.clock.now();
        let Some((batch, mut intents)) = (self.delete)(client, row, now)? else {
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
        let key = match (self.place)(&key.row_key) {
            Some(Place::Canonical) => key,
            Some(Place::Guard) => match holder(&client, &key).await? {
                Some(holder) => holder,
                // Whoever had the value gave it up.
                None => return Ok(true),
            },
            None => return Ok(false),
        };
        self.evict(&client, &key).await
    }
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
    ) -> BoxFuture<'static, Result<bool>> {
        let client = (self.client)(Arc::clone(connection), table.clone());
        Box::pin((*self).make_room(client, key))
    }
}

/// The entity that a guard row of the partition names; `None` where the guard is gone.
async fn holder(client: &TableClient, guard: &CanonicalKey) -> Result<Option<CanonicalKey>> {
    let row = client.annotated_row(&guard.partition_key, &guard.row_key).await?;
    let Some(row) = row else { return Ok(None) };
    let row: DynamicEntity = read_row(0, &row.body)?;
    let row_key = match row.properties.get(GuardTemplate::REFERENCE) {
        Some(Edm::String(row_key)) => row_key.clone(),
        _ => String::new(),
    };
    Ok(Some(CanonicalKey { partition_key: guard.partition_key.clone(), row_key }))
}
