//! The invariants of unique values, and the store that checks them.

use super::Person;
use crate::TableEntity as _;
use crate::entity::{DynamicEntity, Loaded, read_row};
use crate::eventual::tests::chaos::{self, Invariants};
use crate::eventual::unique::GUARD_ROW;
use crate::eventual::unique::guard::Guard;
use crate::eventual::unique_value::{UniqueValue, unique_values};
use crate::eventual::{EventualType, Pending};
use crate::model::{ETag, TableName};
use std::collections::{BTreeMap, BTreeSet};

pub(super) type Observer = chaos::Observer<OneHolder>;

/// Each value that an entity has is its own, and its guard names the entity. Each other guard is named by a
/// ticket or an intent of the entity that it names.
#[derive(Debug, Default)]
pub(super) struct OneHolder {
    /// Whether nobody sweeps before the end. Then a guard may come late only if the entity got its values.
    is_unswept: bool,
    /// After the last write.
    before: Snapshot,
    /// The tickets that their transactions consumed.
    consumed: BTreeSet<Key>,
    /// The guards that came late: no one promises that they are named.
    late: BTreeSet<(String, Guarded)>,
}

impl OneHolder {
    pub fn new(is_unswept: bool) -> Self {
        Self { is_unswept, ..Self::default() }
    }

    /// Notes what the last write did.
    fn note(&mut self, now: &Snapshot) {
        for (ticket, values) in &self.before.tickets {
            let has_all = |stored: &Vec<_>| values.iter().all(|value| stored.contains(value));
            if !now.tickets.contains_key(ticket) && now.entities.get(&ticket.0).is_some_and(has_all)
            {
                self.consumed.insert(ticket.clone());
            }
        }
        for (key, guard) in &now.guards {
            let ticket = (guard.entity.clone(), guard.ticket.clone());
            let is_new = self.before.guards.get(key) != Some(guard);
            let is_late = !now.tickets.contains_key(&ticket)
                && (!self.is_unswept || self.consumed.contains(&ticket));
            if is_new && is_late {
                self.late.insert((key.clone(), guard.clone()));
            }
        }
        self.before = now.clone();
    }
}

impl Invariants for OneHolder {
    const TABLES: &'static [&'static str] = &[Person::TABLE, "badges"];

    type Snapshot = Snapshot;

    fn put(snapshot: &mut Snapshot, table: &TableName, json: &str) {
        let row: DynamicEntity = read_row(0, json.as_bytes()).unwrap();
        let (partition_key, row_key) = (row.partition_key.clone(), row.row_key.clone());
        let row = DynamicEntity { etag: Some(ETag::new("")), ..row };
        let values = |row| {
            let pending = Pending::read(row, table, EventualType::of::<Person>()).unwrap().unwrap();
            pending.intent.values().map(|(_, value)| value.clone()).collect()
        };
        if row_key.starts_with("DUE:") {
            snapshot.intents.insert((partition_key, row_key), values(row));
        } else if row_key.starts_with("TKT:") {
            snapshot.tickets.insert((partition_key, row_key), values(row));
        } else if row_key == GUARD_ROW {
            let Guard { home, ticket, .. } = Guard::read(row).unwrap();
            let guarded = Guarded { entity: home.key.partition_key, ticket };
            snapshot.guards.insert(partition_key, guarded);
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
        self.note(now);
        now.check()?;
        let mut unnamed = now.left_guards().filter(|(key, guard)| !now.names(key, guard));
        let is_late = |(key, guard): &(&String, &Guarded)| {
            self.late.contains(&((*key).clone(), (*guard).clone()))
        };
        match unnamed.find(|left| !is_late(left)) {
            None => Ok(()),
            Some(left) => Err(format!("nobody names the guard {left:?}: {now:?}")),
        }
    }
}

/// PartitionKey and RowKey.
type Key = (String, String);

/// What a guard says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Guarded {
    /// The PartitionKey of the entity.
    pub entity: String,
    pub ticket: String,
}

/// All rows of the store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Snapshot {
    /// The values of each entity, by its PartitionKey.
    pub entities: BTreeMap<String, Vec<UniqueValue>>,
    /// By PartitionKey.
    pub guards: BTreeMap<String, Guarded>,
    /// The values that each lists.
    pub intents: BTreeMap<Key, Vec<UniqueValue>>,
    pub tickets: BTreeMap<Key, Vec<UniqueValue>>,
}

impl Snapshot {
    /// The entity that has the value.
    pub fn holder(&self, value: &UniqueValue) -> Option<&str> {
        let mut entities = self.entities.iter();
        entities.find(|(_, values)| values.contains(value)).map(|(entity, _)| &**entity)
    }

    /// The guards whose entity does not have the value.
    pub fn left_guards(&self) -> impl Iterator<Item = (&String, &Guarded)> {
        self.guards.iter().filter(|(key, guard)| {
            let values = self.entities.get(&guard.entity).into_iter().flatten();
            !values.into_iter().any(|value| value.partition_key() == **key)
        })
    }

    /// Whether a sweep of the entity's partition finds the guard.
    fn names(&self, key: &str, Guarded { entity, ticket }: &Guarded) -> bool {
        let intents = self.intents.iter().filter(|((partition, _), _)| partition == entity);
        self.tickets.contains_key(&(entity.clone(), ticket.clone()))
            || intents.flat_map(|(_, values)| values).any(|value| value.partition_key() == key)
    }

    fn check(&self) -> Result<(), String> {
        for (entity, values) in &self.entities {
            for value in values {
                if self.holder(value) != Some(entity) {
                    return Err(format!("two entities have {value:?}: {self:?}"));
                }
                let guard = self.guards.get(&value.partition_key());
                if guard.is_none_or(|guard| guard.entity != *entity) {
                    return Err(format!("{entity} has {value:?} without its guard: {self:?}"));
                }
            }
        }
        Ok(())
    }
}
