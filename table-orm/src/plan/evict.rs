//! A write takes the place of an entity that has expired.

use super::canonical_key::CanonicalKey;
use super::table_client::TableClient;
use crate::error::{Error, Result};
use crate::model::ETag;
use crate::store::Batch;
use futures_core::future::BoxFuture;
use std::collections::BTreeMap;

/// How often a write makes room for one of its rows. Each time, another entity expired in its place.
const MAX_ROUNDS: u32 = 4;

impl TableClient {
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
    pub fn evict<'f>(&'f self, key: &'f CanonicalKey) -> BoxFuture<'f, Result<bool>> {
        Box::pin(async move { self.evict_keeping(key, &[]).await })
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
