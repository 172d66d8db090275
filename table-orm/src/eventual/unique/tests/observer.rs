//! The invariants of unique values, and the store that checks them.

use super::Person;
use crate::TableEntity as _;
use crate::entity::{DynamicEntity, Loaded, read_row};
use crate::eventual::tests::chaos::{self, Invariants};
use crate::eventual::unique::GUARD_ROW;
use crate::eventual::unique::guard::Guard;
use crate::eventual::unique_value::{UniqueValue, unique_values};
use crate::model::{ETag, TableName};
use std::collections::{BTreeMap, BTreeSet};

pub(super) type Observer = chaos::Observer<OneHolder>;

/// Each value that an entity has is its own, and its guard names the entity.
#[derive(Debug, Default)]
pub(super) struct OneHolder;

impl Invariants for OneHolder {
    const TABLES: &'static [&'static str] = &[Person::TABLE, "badges"];

    type Snapshot = Snapshot;

    fn put(snapshot: &mut Snapshot, _: &TableName, json: &str) {
        let row: DynamicEntity = read_row(0, json.as_bytes()).unwrap();
        let partition_key = row.partition_key.clone();
        if row.row_key.starts_with("DUE:") {
            snapshot.intents.insert((partition_key, row.row_key));
        } else if row.row_key.starts_with("TKT:") {
            snapshot.tickets.insert((partition_key, row.row_key));
        } else if row.row_key == GUARD_ROW {
            let row = DynamicEntity { etag: Some(ETag::new("")), ..row };
            let holder = Guard::read(row).unwrap().home.key.partition_key;
            snapshot.guards.insert(partition_key, holder);
        } else {
            let row = Loaded::<Person>::read(json.to_owned().into(), None).unwrap().unwrap();
            snapshot.entities.insert(partition_key, unique_values::<Person>(&row).unwrap());
        }
    }

    fn remove(snapshot: &mut Snapshot, _: &TableName, partition_key: &str, row_key: &str) {
        if row_key == GUARD_ROW {
            snapshot.guards.remove(partition_key);
        } else if row_key.starts_with("DUE:") || row_key.starts_with("TKT:") {
            let key = (partition_key.to_owned(), row_key.to_owned());
            snapshot.intents.remove(&key);
            snapshot.tickets.remove(&key);
        } else {
            snapshot.entities.remove(partition_key);
        }
    }

    fn check(&mut self, now: &Snapshot) -> Result<(), String> {
        now.check()
    }
}

/// All rows of the store.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Snapshot {
    /// The values of each entity, by its PartitionKey.
    pub entities: BTreeMap<String, Vec<UniqueValue>>,
    /// Whom each guard names, by its PartitionKey.
    pub guards: BTreeMap<String, String>,
    /// By PartitionKey and RowKey.
    pub intents: BTreeSet<(String, String)>,
    pub tickets: BTreeSet<(String, String)>,
}

impl Snapshot {
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
