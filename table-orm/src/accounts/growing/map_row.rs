//! The row that holds the map, and what this process knows of it.
//!
//! Invariant: the row is changed under its ETag only, and its version rises.

use super::super::Answer;
use super::fence::row;
use super::map::Map;
use super::{LEASE, SETTLE};
use crate::entity::{DynamicEntity, read_row};
use crate::model::{ETag, Edm, Metadata, TableName};
use crate::store::{Action, ErrorCode, Operation, Store, StoreError};
use std::sync::Arc;
use tokio::sync::Mutex;
use tokio::time::Instant;

const PARTITION: &str = "accounts";
const ROW: &str = "map";
const VERSION: &str = "Version";
const TEXT: &str = "Slots";

/// The map as it was read.
#[derive(Debug)]
pub(super) struct Seen {
    pub map: Map,
    etag: ETag,
    /// When the request that read it was sent.
    read_at: Instant,
}

impl Seen {
    /// Whether what was read by the map counts.
    pub fn is_settled(&self) -> bool {
        self.read_at.elapsed() < SETTLE
    }
}

#[derive(Debug)]
pub(super) struct MapRow {
    store: Arc<dyn Store>,
    table: TableName,
    accounts: usize,
    seen: Mutex<Option<Arc<Seen>>>,
}

impl MapRow {
    pub fn new(store: Arc<dyn Store>, table: TableName, accounts: usize) -> Self {
        Self { store, table, accounts, seen: Mutex::new(None) }
    }

    /// The map, read less than [`LEASE`] ago.
    pub async fn current(&self) -> Answer<Arc<Seen>> {
        self.where_(|seen| seen.read_at.elapsed() < LEASE).await
    }

    /// The map, read after that one.
    pub async fn after(&self, earlier: &Seen) -> Answer<Arc<Seen>> {
        self.where_(|seen| seen.read_at > earlier.read_at).await
    }

    /// The map, read now.
    pub async fn now(&self) -> Answer<Arc<Seen>> {
        self.where_(|_| false).await
    }

    async fn where_(&self, is_new: impl FnOnce(&Seen) -> bool) -> Answer<Arc<Seen>> {
        let mut cached = self.seen.lock().await;
        if let Some(seen) = cached.as_ref().filter(|seen| is_new(seen)) {
            return Ok(Arc::clone(seen));
        }
        let seen = Arc::new(self.read().await?);
        *cached = Some(Arc::clone(&seen));
        Ok(seen)
    }

    /// Reads the map, or makes that of accounts without rows.
    async fn read(&self) -> Answer<Seen> {
        loop {
            let read_at = Instant::now();
            let read = self.store.get(&self.table, PARTITION, ROW, None, Metadata::Minimal).await;
            match read {
                Ok(Some(stored)) => {
                    let etag = stored.etag().map_err(|error| unreadable().caused_by(error))?;
                    let stored = read_row::<DynamicEntity>(0, &stored.body)
                        .map_err(|error| unreadable().caused_by(error))?;
                    let map = self.map(&stored)?;
                    return Ok(Seen { map, etag, read_at });
                }
                Ok(None) => {
                    let body = row(&entity(&Map::first(self.accounts)))?;
                    match self.write(Action::Insert(body)).await {
                        Err(error) if error.code != ErrorCode::ENTITY_ALREADY_EXISTS => {
                            return Err(error);
                        }
                        _ => {}
                    }
                }
                Err(error) if error.code == ErrorCode::TABLE_NOT_FOUND => {
                    create(&*self.store, &self.table).await?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn map(&self, stored: &DynamicEntity) -> Answer<Map> {
        let map = match (stored.properties.get(VERSION), stored.properties.get(TEXT)) {
            (Some(Edm::Int64(version)), Some(Edm::String(text))) => {
                u64::try_from(*version).ok().and_then(|version| Map::read(version, text))
            }
            _ => None,
        };
        let map = map.ok_or_else(unreadable)?;
        if map.accounts() > self.accounts {
            let message = format!(
                "The map names {} accounts, and this process knows {}: give it the list of all \
                 accounts. Nothing was sent.",
                map.accounts(),
                self.accounts
            );
            return Err(StoreError::new(ErrorCode::INVALID_INPUT, message));
        }
        Ok(map)
    }

    /// Replaces the map. It fails with `UpdateConditionNotSatisfied` if another process has changed it.
    pub async fn replace(&self, seen: &Seen, map: &Map) -> Answer<()> {
        let body = row(&entity(map))?;
        self.write(Action::over(body, Some(seen.etag.clone()))).await.map(drop)
    }

    async fn write(&self, action: Action) -> Answer<Option<ETag>> {
        let operation = Operation { row_key: ROW.to_owned(), action };
        self.store.write(&self.table, PARTITION, operation).await
    }
}

/// Creates the table, if it is not there.
pub(super) async fn create(store: &dyn Store, table: &TableName) -> Answer<()> {
    match store.create_table(table).await {
        Err(error) if error.code == ErrorCode::TABLE_ALREADY_EXISTS => Ok(()),
        answer => answer,
    }
}

fn entity(map: &Map) -> DynamicEntity {
    let version = i64::try_from(map.version).unwrap_or(i64::MAX);
    DynamicEntity::new(PARTITION, ROW).with(VERSION, version).with(TEXT, map.text())
}

fn unreadable() -> StoreError {
    let message = "The row with the map of the accounts cannot be read. Nothing was sent.";
    StoreError::new(ErrorCode::INVALID_INPUT, message)
}
