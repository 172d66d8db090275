//! Expired entities, as calls see them: reads leave them out, and a write takes their place.

use super::canonical_key::CanonicalKey;
use super::table_client::TableClient;
use crate::entity::{Loaded, OwnRows, TableEntity, is_alive};
use crate::error::{Error, Result};
use crate::model::{DateTime, ETag};
use crate::query::RowQuery;
use crate::store::Batch;
use std::collections::BTreeMap;

/// How often a write makes room for one of its rows. Each time, another entity expired in its place.
const MAX_ROUNDS: u32 = 4;

impl TableClient {
    /// The instant at which a read of now decides which entities have expired; `None` where it includes them.
    pub fn read_time(&self) -> Option<DateTime> {
        (!self.expiry.included).then(|| self.connection.clock.now())
    }

    /// These rows, as a read of now takes them.
    pub fn alive(&self, own: OwnRows) -> OwnRows {
        own.at(self.read_time())
    }

    /// The query without rows that the store can leave out. The reader leaves out the others.
    pub fn only_alive(&self, query: RowQuery) -> RowQuery {
        match self.expiry.property.zip(self.read_time()) {
            Some((property, now)) => query.and(property.alive_filter(now)),
            None => query,
        }
    }

    /// Whether calls take the entity for one that exists.
    pub fn is_alive<E: TableEntity>(&self, loaded: &Loaded<E>) -> bool {
        E::EXPIRES.is_none() || is_alive::<E>(loaded.stored(), self.read_time())
    }

    /// Reads the entity of a canonical row, unless it has expired: one request.
    pub async fn load_alive<E: TableEntity>(
        &self,
        key: &CanonicalKey,
    ) -> Result<Option<Loaded<E>>> {
        Ok(self.load(key).await?.filter(|loaded| self.is_alive(loaded)))
    }

    /// Sends a batch. Where an expired entity is in the way, deletes it and sends the batch again: a refused
    /// batch wrote nothing.
    pub(super) async fn send_evicting(&self, batch: Batch) -> Result<Vec<Option<ETag>>> {
        let mut rounds = BTreeMap::<CanonicalKey, u32>::new();
        loop {
            let error = match self.send_whole(batch.clone()).await {
                Err(error) => error,
                answer => return answer,
            };
            let in_the_way = match &error {
                Error::AlreadyExists(rejection) | Error::UniqueViolation { rejection, .. } => {
                    rejection
                }
                _ => return Err(error),
            };
            let key = CanonicalKey {
                partition_key: in_the_way.partition_key.clone(),
                row_key: in_the_way.row_key.clone(),
            };
            // Each row of the batch may be in the place of another expired entity.
            let round = rounds.entry(key.clone()).or_default();
            *round += 1;
            if *round > MAX_ROUNDS || !self.evict_keeping(&key, &self.value_ids(&batch)).await? {
                return Err(error);
            }
        }
    }

    /// Deletes the entity of that row, if it has expired. Returns whether what was in the way may be gone.
    pub async fn evict(&self, key: &CanonicalKey) -> Result<bool> {
        self.evict_keeping(key, &[]).await
    }

    async fn evict_keeping(&self, key: &CanonicalKey, kept: &[String]) -> Result<bool> {
        for ty in &self.expiry.evict {
            let room = ty.make_room(&self.connection, &self.table, key.clone(), kept.to_vec());
            if room.await? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
