//! The delete of an expired entity, with all its rows: before another takes its key or its values, and when a
//! table is purged.
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

/// What became of an entity that was to be deleted if it has expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evicted {
    /// It was deleted.
    Deleted,
    /// There was none.
    Absent,
    /// It has not expired.
    Alive,
    /// Another writer changed or deleted it meanwhile.
    Changed,
}

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

    /// Deletes the entity of that key with all its rows, if it has expired at that instant. Its rows in other
    /// partitions follow.
    ///
    /// # Errors
    /// When the store fails. Nothing was deleted then, unless the error says otherwise.
    pub async fn evict(
        &self,
        client: &TableClient,
        key: &CanonicalKey,
        now: DateTime,
    ) -> Result<Evicted> {
        let query = RowQuery { metadata: self.metadata, ..client.point(key) };
        let Some(row) = client.row(&query).await? else { return Ok(Evicted::Absent) };
        let Some((batch, mut intents)) = (self.delete)(client, row, now)? else {
            return Ok(Evicted::Alive);
        };
        let settling = Settling::default();
        let etags = match intents.send(client, batch, None, &settling).await {
            Ok(etags) => etags,
            Err(Error::Conflict(_) | Error::NotFound(_)) => return Ok(Evicted::Changed),
            Err(error) => return Err(error),
        };
        intents.settle(client, &etags, &settling).await;
        Ok(Evicted::Deleted)
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
        // What has changed is not in the way any more, or is found alive the next time.
        let evicted = self.evict(&client, &key, client.connection.clock.now()).await?;
        Ok(matches!(evicted, Evicted::Deleted | Evicted::Changed))
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
