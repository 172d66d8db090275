//! Read, decide, write under the version that was read.
//!
//! Invariants:
//! - A write never replaces a version that its decision has not seen.
//! - When another writer changed the row in between, the call waits and starts again with a read, within
//!   its limits.
//! - Calls of one connection do not overlap on one entity: from its read to its write, a call holds the
//!   entity's lock. Calls may wait for each other: the function of a `transaction_with` that holds a lock
//!   may make calls that take others. Such a cycle of waits ends after `MAX_WAIT` of the connection.

use super::attempts::{Attempts, RetryLimits};
use super::canonical_key::CanonicalKey;
use super::changes::{UpdateMode, changes, insert_all, most_changes};
use super::connection::LockKey;
use super::table_client::{Found, TableClient};
use super::{Cost, Plan, Step, WhenAbsent};
use crate::entity::{EntityRow, EntityRows, Loaded, TableEntity, canonical};
use crate::error::{Error, Result};
use crate::model::ETag;
use crate::query::RowQuery;
use crate::store::Batch;
use crate::sync::Permit;
use futures_core::future::BoxFuture;

/// A write of one entity whose operations depend on what is stored.
#[derive(Debug, Clone)]
pub(crate) struct OptimisticWrite {
    key: CanonicalKey,
    /// The point query for the canonical row.
    query: RowQuery,
    /// The rows to insert when nothing is stored; with `None`, the write fails then.
    absent: Option<EntityRows>,
    /// Whether it inserts an entity when nothing is stored.
    inserts: bool,
    limits: RetryLimits,
    /// The most operations.
    operations: usize,
}

/// The operations over the rows that were read.
pub(crate) struct Decision {
    /// The operations; empty when nothing changes.
    pub batch: Batch,
    /// The canonical row afterwards; `None` when it is deleted.
    pub canonical: Option<EntityRow>,
}

impl Decision {
    /// The inserts of all rows of an entity.
    pub fn insert(rows: EntityRows) -> Self {
        let canonical = rows.canonical().cloned();
        Self { batch: insert_all(rows), canonical }
    }

    /// The rows of an entity in place of those that are stored.
    pub fn replace<E: TableEntity>(loaded: &Loaded<E>, rows: &EntityRows) -> Result<Self> {
        let (stored, etag) = (loaded.stored_rows()?, loaded.etag());
        let batch = changes(&stored, rows, canonical::<E>(), etag, UpdateMode::Replace);
        Ok(Self { batch, canonical: rows.canonical().cloned() })
    }
}

/// The entity that an optimistic write read, and the row that it wrote.
pub(crate) struct Outcome<E> {
    /// The entity as it was read and then changed; `None` when nothing was stored.
    pub loaded: Option<Loaded<E>>,
    /// The canonical row afterwards; `None` when it was deleted.
    pub canonical: Option<EntityRow>,
    /// Its version, if the store returned it.
    pub etag: Option<ETag>,
    /// The versions that the operations returned, in order.
    pub etags: Vec<Option<ETag>>,
}

impl OptimisticWrite {
    /// A write of the entity of type `E` under that key.
    pub fn new<E: TableEntity>(
        client: &TableClient,
        key: CanonicalKey,
        absent: Option<EntityRows>,
        limits: RetryLimits,
    ) -> Self {
        let (query, inserts) = (client.point_of::<E>(&key), absent.is_some());
        Self { key, query, absent, inserts, limits, operations: most_changes::<E>() }
    }

    /// The same write, of a call that inserts an entity of its own making when nothing is stored.
    pub fn inserting(mut self) -> Self {
        self.inserts = true;
        self
    }

    /// The key of the canonical row.
    pub const fn key(&self) -> &CanonicalKey {
        &self.key
    }

    /// The read and the transaction that it will send.
    pub fn plan(&self) -> Plan {
        let table = self.query.table.clone();
        let absent = self
            .absent
            .clone()
            .map_or(WhenAbsent::Fail, |rows| WhenAbsent::Insert(insert_all(rows)));
        let changes = Step::CommitChanges {
            table,
            absent,
            attempts: self.limits.attempts,
            retry_for: self.limits.time,
            cost: Cost::changes(self.operations),
        };
        Plan { steps: vec![Step::read(self.query.clone()), changes] }
    }

    /// The inserts of the rows that are given for the case that nothing is stored.
    pub fn when_absent(&self, client: &TableClient) -> Result<Decision> {
        match self.absent.clone() {
            Some(rows) => Ok(Decision::insert(rows)),
            None => Err(client.not_found(&self.key.partition_key, &self.key.row_key)),
        }
    }

    /// What to do where the entity has expired: what it does where there is none, over the stored rows.
    pub fn when_expired<E: TableEntity>(
        &self,
        client: &TableClient,
        loaded: &Loaded<E>,
    ) -> Result<Decision> {
        match &self.absent {
            Some(rows) => Decision::replace(loaded, rows),
            None => self.when_absent(client),
        }
    }

    /// Begins the first attempt, when no other call of the connection is between its read and its write of
    /// the entity.
    pub fn begin<'w>(&'w self, client: &'w TableClient) -> BoxFuture<'w, Attempt<'w>> {
        Box::pin(async move {
            let permit = client.connection.write_lock(&client.table, &self.key).await;
            let attempts = Attempts::begin(&client.connection, self.limits);
            Attempt { write: self, client, permit, attempts, absent_row: false }
        })
    }

    /// Whether another writer changed the entity between the read, which found no row there or did, and
    /// the write.
    fn is_retryable(&self, error: &Error, absent_row: bool) -> bool {
        match error {
            Error::Conflict(_) | Error::NotFound(_) => true,
            // Any other existing row belongs to another entity, or to another type. Another attempt would
            // find it again.
            Error::AlreadyExists(rejection) => absent_row && rejection.row_key == self.key.row_key,
            _ => false,
        }
    }
}

/// An attempt of a write, and the right to make it.
pub(crate) struct Attempt<'w> {
    write: &'w OptimisticWrite,
    client: &'w TableClient,
    permit: Option<Permit<LockKey>>,
    attempts: Attempts,
    /// Whether the read found no row.
    absent_row: bool,
}

impl Attempt<'_> {
    /// Reads the entity of the canonical row.
    pub async fn read<E: TableEntity>(&mut self) -> Result<Option<Loaded<E>>> {
        let found = self.client.find(&self.write.query).await?;
        self.absent_row = matches!(found, Found::Nothing);
        Ok(match found {
            Found::Entity(loaded) => Some(loaded),
            Found::OtherType | Found::Nothing => None,
        })
    }

    /// Waits for another attempt.
    ///
    /// # Errors
    /// The error of the write, if another attempt would have it again, or there is none left. An insert that was
    /// overtaken by another one or by a delete is a conflict.
    pub fn again(&mut self, error: Error) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            if !self.write.is_retryable(&error, self.absent_row) {
                return Err(error);
            }
            if !self.attempts.next().await {
                // A row that is gone is none to a call that inserts it.
                return Err(match error {
                    Error::NotFound(rejection) if self.write.inserts => Error::Conflict(rejection),
                    Error::AlreadyExists(rejection) => Error::Conflict(rejection),
                    error => error,
                });
            }
            self.permit.iter().for_each(Permit::goes_on);
            Ok(())
        })
    }
}
