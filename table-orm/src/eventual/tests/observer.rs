//! The invariants of the protocol, and the store that checks them.

use super::chaos::{self, Invariants};
use super::world::{ENTITY, HOME, KIND, State, text};
use crate::entity::{DynamicEntity, read_row};
use crate::eventual::{ForeignKey, Pending};
use crate::model::TableName;
use std::collections::{BTreeMap, BTreeSet};

pub(super) type Observer = chaos::Observer<Seen>;

/// What the writes so far have done.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The states of each entity, one after the other.
    history: BTreeMap<String, Vec<Option<State>>>,
    /// The earliest state of its entity that each foreign row can show now.
    shown: BTreeMap<ForeignKey, usize>,
}

/// All rows of the store.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    pub entities: BTreeMap<String, State>,
    pub foreign: BTreeMap<ForeignKey, String>,
    pub intents: Vec<Pending>,
    pub tickets: usize,
}

impl Snapshot {
    fn add(&mut self, table: &TableName, json: &str) {
        let row: DynamicEntity = read_row(0, json.as_bytes()).unwrap();
        if row.row_key.starts_with("DUE:") {
            self.intents.extend(Pending::read(row, table, KIND).unwrap());
        } else if row.row_key.starts_with("TKT:") {
            self.tickets += 1;
        } else if row.partition_key == HOME && row.row_key.starts_with(ENTITY) {
            self.entities.insert(row.row_key.clone(), State::of(&row));
        } else {
            let stamp = text(&row, "Stamp");
            let (table, DynamicEntity { partition_key, row_key, .. }) = (table.clone(), row);
            self.foreign.insert(ForeignKey { table, partition_key, row_key }, stamp);
        }
    }

    /// The foreign rows that there should be.
    pub fn wanted(&self) -> BTreeMap<ForeignKey, String> {
        let shown = self.entities.values().flat_map(State::shown);
        shown.map(|(key, stamp)| (key, stamp.to_owned())).collect()
    }
}

/// The entity of a foreign row: its RowKey ends with it.
fn entity_of(key: &ForeignKey) -> String {
    format!("{ENTITY}{}", key.row_key.rsplit(':').next().unwrap_or_default())
}

impl Invariants for Seen {
    const TABLES: [&'static str; 2] = ["things", "copies"];

    type Snapshot = Snapshot;

    fn add(snapshot: &mut Snapshot, table: &TableName, json: &str) {
        snapshot.add(table, json);
    }

    fn check(&mut self, now: &Snapshot) -> Result<(), String> {
        self.check_intents(now)?;
        self.remember(now);
        let known = self.history.values().flatten().flatten().flat_map(State::shown);
        let keys: BTreeSet<_> = known.map(|(key, _)| key).collect();
        for key in keys {
            let (shown, states) = (now.foreign.get(&key), &self.history[&entity_of(&key)]);
            let shows = |state: &Option<State>| {
                let mut rows = state.iter().flat_map(State::shown);
                rows.find(|(other, _)| *other == key).map(|(_, stamp)| stamp)
                    == shown.map(String::as_str)
            };
            let earliest = self.shown.entry(key.clone()).or_default();
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

impl Seen {
    /// A row that differs has an intent.
    fn check_intents(&self, now: &Snapshot) -> Result<(), String> {
        let wanted = now.wanted();
        let due: BTreeSet<_> = now
            .intents
            .iter()
            .flat_map(|pending| &pending.intent.due)
            .flat_map(|entry| entry.keys.iter().map(|(_, key)| key))
            .collect();
        for key in wanted.keys().chain(now.foreign.keys()) {
            let (want, is) = (wanted.get(key), now.foreign.get(key));
            if want != is && !due.contains(key) {
                return Err(format!("{key:?} is {is:?}, not {want:?}, and no intent tells of it"));
            }
        }
        Ok(())
    }

    fn remember(&mut self, now: &Snapshot) {
        for entity in now.entities.keys() {
            self.history.entry(entity.clone()).or_insert_with(|| vec![None]);
        }
        for (entity, states) in &mut self.history {
            let state = now.entities.get(entity);
            if states.last().is_some_and(|last| last.as_ref() != state) {
                states.push(state.cloned());
            }
        }
    }
}
