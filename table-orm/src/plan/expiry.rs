//! Expired entities, as calls see them: reads leave them out, and an insert takes their place.
//!
//! Invariant: an entity makes room only in the version that was read as expired. Whoever extends it meanwhile
//! keeps it.

use super::canonical_key::CanonicalKey;
use super::connection::Connection;
use super::table_client::TableClient;
use crate::entity::{Loaded, OwnRows, TableEntity, alive_filter, is_alive};
use crate::error::{Error, Result};
use crate::model::{DateTime, ETag, TableName};
use crate::query::RowQuery;
use crate::store::Batch;
use futures_core::future::BoxFuture;
use std::fmt;
use std::sync::Arc;

/// How often a write makes room for itself. Each time, another entity expired in its place.
const MAX_ROUNDS: u32 = 4;

/// How the expired entities of a type make room.
pub(crate) trait MakeRoom: fmt::Debug + Send + Sync {
    /// The type's name.
    fn entity(&self) -> &'static str;

    /// Deletes the entity of a row that is in the way of a write, or that a guard row there names, if it has
    /// expired. Returns whether the write may be sent again.
    fn make_room(
        &self,
        connection: &Arc<Connection>,
        table: &TableName,
        key: CanonicalKey,
    ) -> BoxFuture<'static, Result<bool>>;
}

/// What a client does about expired entities.
#[derive(Debug, Clone, Default)]
pub(crate) struct Expiry {
    /// The property that says when an entity of its type expires.
    pub property: Option<&'static str>,
    /// Whether its reads include entities that have expired.
    pub included: bool,
    /// For the types of its writes whose entities expire.
    pub evict: Vec<Arc<dyn MakeRoom>>,
}

impl Expiry {
    /// Lets expired entities of that type make room, too.
    pub fn add(&mut self, ty: Option<impl MakeRoom + 'static>) {
        let is_known = |ty: &dyn MakeRoom| self.evict.iter().any(|one| one.entity() == ty.entity());
        if let Some(ty) = ty.filter(|ty| !is_known(ty)) {
            self.evict.push(Arc::new(ty));
        }
    }
}

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
            Some((property, now)) => query.and(alive_filter(property, now)),
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
        let mut rounds = 0;
        loop {
            let error = match self.send_whole(batch.clone()).await {
                Err(error) if rounds < MAX_ROUNDS => error,
                answer => return answer,
            };
            rounds += 1;
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
            if !self.evict(&key).await? {
                return Err(error);
            }
        }
    }

    /// Deletes the entity of that row, if it has expired. Returns whether what was in the way may be gone.
    pub async fn evict(&self, key: &CanonicalKey) -> Result<bool> {
        for ty in &self.expiry.evict {
            if ty.make_room(&self.connection, &self.table, key.clone()).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
