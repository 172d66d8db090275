//! Reads leave out entities that have expired.

use super::canonical_key::CanonicalKey;
use super::table_client::TableClient;
use crate::entity::{Loaded, OwnRows, TableEntity, is_alive};
use crate::error::Result;
use crate::model::DateTime;
use crate::query::RowQuery;

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
}
