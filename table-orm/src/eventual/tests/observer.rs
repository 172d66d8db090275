//! The invariants of the protocol, and the store that checks them.

use super::chaos::{self, Invariants};
use crate::entity::{DynamicEntity, read_row};
use crate::eventual::{DueEntry, EventualKey, EventualType, Pending, SettleReport};
use crate::model::TableName;
use crate::store::StoredRow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::marker::PhantomData;

/// A type whose rows in other partitions are observed.
pub(super) trait Observed: fmt::Debug + Default + 'static {
    /// Its tables, first that of its entities.
    const TABLES: &'static [&'static str];
    const KIND: EventualType;

    /// Whether a row of an entity's partition is neither canonical nor `eventual`.
    fn is_beside(row_key: &str) -> bool;
}

pub(super) type Observer<W> = chaos::Observer<Seen<W>>;

/// What the writes so far have done.
#[derive(Debug, Default)]
pub(super) struct Seen<W> {
    /// What each entity has said, one state after the other; nothing where it is not there.
    history: BTreeMap<Entity, Vec<Shown>>,
    /// Each `eventual` row that a state has named: whose it is, and the earliest state that it can show now.
    shown: BTreeMap<EventualKey, (Entity, usize)>,
    of: PhantomData<W>,
}

/// PartitionKey and RowKey of a canonical row.
pub(super) type Entity = (String, String);

/// What `eventual` rows show.
pub(super) type Shown = BTreeMap<EventualKey, String>;

/// All rows of the store.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Snapshot {
    /// The `eventual` rows that each entity tells of.
    pub entities: BTreeMap<Entity, Shown>,
    pub eventual: Shown,
    /// By PartitionKey and RowKey.
    pub intents: BTreeMap<(String, String), Pending>,
    pub tickets: BTreeSet<EventualKey>,
}

impl Snapshot {
    /// Checks that a sweeper alone, which reports this, has put everything right.
    pub fn check_settled(&self, report: &SettleReport) -> Result<(), String> {
        if !self.intents.is_empty() || !report.failures.is_empty() || report.ended.is_some() {
            return Err(format!("a sweeper alone does not end: {self:?}, {report:?}"));
        }
        if self.eventual != self.wanted() {
            return Err(format!("wrong at the end: {self:?}"));
        }
        Ok(())
    }

    /// The `eventual` rows that there should be.
    fn wanted(&self) -> Shown {
        self.entities.values().flatten().map(|(key, shown)| (key.clone(), shown.clone())).collect()
    }

    /// Whether an intent in the partition of the entity tells of that row of it.
    fn is_due(&self, (home, canonical): &Entity, key: &EventualKey) -> bool {
        let intents = self.intents.iter().filter(|((partition_key, _), _)| partition_key == home);
        let mut due = intents.flat_map(|(_, pending)| &pending.intent.due);
        due.any(|DueEntry { canonical: of, keys, .. }| {
            of == canonical && keys.iter().any(|(_, due)| due == key)
        })
    }
}

/// What a row shows, but for the mark of a retry.
pub(super) fn shown(mut row: DynamicEntity) -> String {
    row.properties.remove("WriteId");
    format!("{:?}", row.properties)
}

impl<W: Observed> Seen<W> {
    fn is_canonical(table: &TableName, row_key: &str) -> bool {
        table.as_str() == W::TABLES[0] && (W::KIND.is_canonical)(row_key)
    }

    fn is_beside(table: &TableName, row_key: &str) -> bool {
        table.as_str() == W::TABLES[0] && W::is_beside(row_key)
    }

    fn remember(&mut self, now: &Snapshot) {
        for entity in now.entities.keys() {
            if !self.history.contains_key(entity) {
                self.history.insert(entity.clone(), vec![Shown::new()]);
            }
        }
        let gone = Shown::new();
        for (entity, states) in &mut self.history {
            let state = now.entities.get(entity).unwrap_or(&gone);
            if states.last() != Some(state) {
                for key in state.keys() {
                    self.shown.entry(key.clone()).or_insert_with(|| (entity.clone(), 0));
                }
                states.push(state.clone());
            }
        }
    }

    /// A row that differs has an intent.
    fn check_intents(&self, now: &Snapshot) -> Result<(), String> {
        if let Some(key) = now.eventual.keys().find(|key| !self.shown.contains_key(key)) {
            return Err(format!("no entity ever named {key:?}"));
        }
        for (key, (entity, _)) in &self.shown {
            let want = now.entities.get(entity).and_then(|rows| rows.get(key));
            let is = now.eventual.get(key);
            if want != is && !now.is_due(entity, key) {
                return Err(format!("{key:?} is {is:?}, not {want:?}, and no intent tells of it"));
            }
        }
        Ok(())
    }
}

impl<W: Observed + Send> Invariants for Seen<W> {
    const TABLES: &'static [&'static str] = W::TABLES;

    type Snapshot = Snapshot;

    fn put(snapshot: &mut Snapshot, table: &TableName, json: &str) {
        let row: DynamicEntity = read_row(0, json.as_bytes()).unwrap();
        let entity = (row.partition_key.clone(), row.row_key.clone());
        let key = || {
            let (partition_key, row_key) = entity.clone();
            EventualKey { table: table.clone(), partition_key, row_key }
        };
        if row.row_key.starts_with("DUE:") {
            let pending = Pending::read(row, table, W::KIND).unwrap();
            snapshot.intents.extend(pending.map(|pending| (entity, pending)));
        } else if row.row_key.starts_with("TKT:") {
            snapshot.tickets.insert(key());
        } else if Self::is_canonical(table, &row.row_key) {
            let stored = StoredRow { body: json.to_owned().into(), header: None };
            let rows = (W::KIND.rows)(table, stored).unwrap().0.into_iter();
            let rows = rows.map(|(key, row)| (key, shown(read_row(0, &row.body).unwrap())));
            snapshot.entities.insert(entity, rows.collect());
        } else if !Self::is_beside(table, &row.row_key) {
            snapshot.eventual.insert(key(), shown(row));
        }
    }

    fn remove(snapshot: &mut Snapshot, table: &TableName, partition_key: &str, row_key: &str) {
        let (partition_key, row_key) = (partition_key.to_owned(), row_key.to_owned());
        let entity = (partition_key.clone(), row_key.clone());
        if Self::is_canonical(table, &row_key) {
            snapshot.entities.remove(&entity);
        } else {
            let key = EventualKey { table: table.clone(), partition_key, row_key };
            snapshot.intents.remove(&entity);
            snapshot.tickets.remove(&key);
            snapshot.eventual.remove(&key);
        }
    }

    fn check(&mut self, now: &Snapshot) -> Result<(), String> {
        self.remember(now);
        self.check_intents(now)?;
        for (key, (entity, earliest)) in &mut self.shown {
            let (shown, states) = (now.eventual.get(key), &self.history[entity]);
            let shows = |state: &Shown| state.get(key) == shown;
            let Some(later) = states[*earliest..].iter().position(shows) else {
                return Err(format!(
                    "{key:?} goes back from state {earliest} to {shown:?}: {states:?}"
                ));
            };
            *earliest += later;
        }
        Ok(())
    }
}
