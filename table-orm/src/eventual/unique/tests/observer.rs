//! A store that checks the invariants after each write that took effect.

use super::Person;
use crate::TableEntity as _;
use crate::entity::{DynamicEntity, Loaded, read_row, split_page};
use crate::eventual::unique::GUARD_ROW;
use crate::eventual::unique::guard::Guard;
use crate::eventual::unique_value::{UniqueValue, unique_values};
use crate::model::{ETag, Metadata, TableName};
use crate::query::{KeyRange, RowQuery, Span};
use crate::store::{Batch, Middleware, Operation, Store, StoreError};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// A store that checks the invariants. Clones share what they saw.
#[derive(Debug, Clone)]
pub(super) struct Observer {
    store: Arc<dyn Store>,
    seen: Arc<Mutex<(usize, Option<String>)>>,
}

/// All rows of the store.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    /// The values of each entity, by its PartitionKey.
    pub entities: BTreeMap<String, Vec<UniqueValue>>,
    /// Whom each guard names, by its PartitionKey.
    pub guards: BTreeMap<String, String>,
    pub intents: usize,
    pub tickets: usize,
}

impl Snapshot {
    fn add(&mut self, json: &str) {
        let row: DynamicEntity = read_row(0, json.as_bytes()).unwrap();
        if row.row_key.starts_with("DUE:") {
            self.intents += 1;
        } else if row.row_key.starts_with("TKT:") {
            self.tickets += 1;
        } else if row.row_key == GUARD_ROW {
            let key = row.partition_key.clone();
            let row = DynamicEntity { etag: Some(ETag::new("")), ..row };
            self.guards.insert(key, Guard::read(row).unwrap().home.key.partition_key);
        } else {
            let row = Loaded::<Person>::read(json.to_owned().into(), None).unwrap().unwrap();
            self.entities.insert(row.id.clone(), unique_values::<Person>(&row).unwrap());
        }
    }

    /// The entity that has the value.
    pub fn holder(&self, value: &UniqueValue) -> Option<&str> {
        let mut entities = self.entities.iter();
        entities.find(|(_, values)| values.contains(value)).map(|(entity, _)| &**entity)
    }

    fn check(&self) -> Result<(), String> {
        for (entity, values) in &self.entities {
            for value in values {
                if self.holder(value) != Some(entity) {
                    return Err(format!("two entities have {value:?}: {self:?}"));
                }
                if self.guards.get(&value.partition_key()) != Some(entity) {
                    return Err(format!("{entity} has {value:?} without its guard: {self:?}"));
                }
            }
        }
        Ok(())
    }
}

impl Observer {
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, seen: Arc::default() }
    }

    /// The first violation, or how many writes took effect.
    pub fn result(&self) -> Result<usize, String> {
        let seen = self.seen.lock().unwrap();
        seen.1.clone().map_or(Ok(seen.0), Err)
    }

    pub async fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot::default();
        for table in [Person::TABLE, "badges"] {
            let keys = KeyRange { partition: Span::All, row: Span::All };
            let query = RowQuery::new(TableName::new(table).unwrap(), keys);
            let query = RowQuery { metadata: Metadata::Minimal, ..query };
            let page = self.store.query(&query).await.unwrap();
            assert!(page.continuation.is_none());
            for json in split_page(&page.body).unwrap() {
                snapshot.add(json.get());
            }
        }
        snapshot
    }

    async fn check(&self) {
        let checked = self.snapshot().await.check();
        let mut seen = self.seen.lock().unwrap();
        seen.0 += 1;
        if seen.1.is_none() {
            seen.1 = checked.err();
        }
    }
}

impl Middleware for Observer {
    fn inner(&self) -> &dyn Store {
        &*self.store
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        let etag = self.store.write(table, partition_key, operation).await?;
        self.check().await;
        Ok(etag)
    }

    async fn commit(
        &self,
        table: &TableName,
        batch: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let etags = self.store.commit(table, batch).await?;
        self.check().await;
        Ok(etags)
    }
}
