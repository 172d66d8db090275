//! The invariants of unique values, and the store that checks them.

use super::Person;
use crate::TableEntity as _;
use crate::entity::{DynamicEntity, Loaded, read_row};
use crate::eventual::tests::chaos::{self, Invariants};
use crate::eventual::unique::GUARD_ROW;
use crate::eventual::unique::guard::Guard;
use crate::eventual::unique_value::{UniqueValue, unique_values};
use crate::model::{ETag, TableName};
use std::collections::BTreeMap;

pub(super) type Observer = chaos::Observer<OneHolder>;

/// Each value that an entity has is its own, and its guard names the entity.
#[derive(Debug, Default)]
pub(super) struct OneHolder;

impl Invariants for OneHolder {
    const TABLES: [&'static str; 2] = [Person::TABLE, "badges"];

    type Snapshot = Snapshot;

    fn add(snapshot: &mut Snapshot, _: &TableName, json: &str) {
        snapshot.add(json);
    }

    fn check(&mut self, now: &Snapshot) -> Result<(), String> {
        now.check()
    }
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
