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
    history: BTreeMap<String, Vec<Past>>,
    /// Each foreign row that a state has told of, and the earliest state of its entity that it can show now.
    shown: BTreeMap<ForeignKey, usize>,
}

/// A state that an entity had, with the rows that it tells of.
#[derive(Debug, Default)]
struct Past {
    state: Option<State>,
    rows: Shown,
}

/// What foreign rows show.
type Shown = BTreeMap<ForeignKey, String>;

/// All rows of the store.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Snapshot {
    pub entities: BTreeMap<String, State>,
    pub foreign: Shown,
    pub intents: BTreeMap<String, Pending>,
    pub tickets: BTreeSet<ForeignKey>,
}

impl Snapshot {
    /// The foreign rows that there should be.
    pub fn wanted(&self) -> Shown {
        self.entities.values().flat_map(rows).collect()
    }

    /// Whether an intent tells of that row.
    fn is_due(&self, key: &ForeignKey) -> bool {
        let due = self.intents.values().flat_map(|pending| &pending.intent.due);
        due.flat_map(|entry| &entry.keys).any(|(_, other)| other == key)
    }
}

fn rows(state: &State) -> impl Iterator<Item = (ForeignKey, String)> {
    state.shown().map(|(key, stamp)| (key, stamp.to_owned()))
}

/// The entity of a foreign row: its RowKey ends with it.
fn entity_of(key: &ForeignKey) -> String {
    format!("{ENTITY}{}", key.row_key.rsplit(':').next().unwrap_or_default())
}

fn is_entity(partition_key: &str, row_key: &str) -> bool {
    partition_key == HOME && row_key.starts_with(ENTITY)
}

impl Invariants for Seen {
    const TABLES: [&'static str; 2] = ["things", "copies"];

    type Snapshot = Snapshot;

    fn put(snapshot: &mut Snapshot, table: &TableName, json: &str) {
        let row: DynamicEntity = read_row(0, json.as_bytes()).unwrap();
        let stamp = text(&row, "Stamp");
        if is_entity(&row.partition_key, &row.row_key) {
            snapshot.entities.insert(row.row_key.clone(), State::of(&row));
        } else if row.row_key.starts_with("DUE:") {
            let row_key = row.row_key.clone();
            let pending = Pending::read(row, table, KIND).unwrap();
            snapshot.intents.extend(pending.map(|pending| (row_key, pending)));
        } else {
            let (table, DynamicEntity { partition_key, row_key, .. }) = (table.clone(), row);
            let key = ForeignKey { table, partition_key, row_key };
            if key.row_key.starts_with("TKT:") {
                snapshot.tickets.insert(key);
            } else {
                snapshot.foreign.insert(key, stamp);
            }
        }
    }

    fn remove(snapshot: &mut Snapshot, table: &TableName, partition_key: &str, row_key: &str) {
        if is_entity(partition_key, row_key) {
            snapshot.entities.remove(row_key);
        } else if row_key.starts_with("DUE:") {
            snapshot.intents.remove(row_key);
        } else {
            let (partition_key, row_key) = (partition_key.to_owned(), row_key.to_owned());
            let key = ForeignKey { table: table.clone(), partition_key, row_key };
            snapshot.tickets.remove(&key);
            snapshot.foreign.remove(&key);
        }
    }

    fn check(&mut self, now: &Snapshot) -> Result<(), String> {
        self.remember(now);
        self.check_intents(now)?;
        for (key, earliest) in &mut self.shown {
            let (shown, states) = (now.foreign.get(key), &self.history[&entity_of(key)]);
            let shows = |past: &Past| past.rows.get(key) == shown;
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
    fn remember(&mut self, now: &Snapshot) {
        for entity in now.entities.keys() {
            if !self.history.contains_key(entity) {
                self.history.insert(entity.clone(), vec![Past::default()]);
            }
        }
        for (entity, states) in &mut self.history {
            let state = now.entities.get(entity);
            if states.last().is_some_and(|last| last.state.as_ref() != state) {
                let rows: Shown = state.into_iter().flat_map(rows).collect();
                for key in rows.keys() {
                    self.shown.entry(key.clone()).or_default();
                }
                states.push(Past { state: state.cloned(), rows });
            }
        }
    }

    /// A row that differs has an intent.
    fn check_intents(&self, now: &Snapshot) -> Result<(), String> {
        let last = self.history.values().filter_map(|states| states.last());
        let wanted: BTreeMap<_, _> = last.flat_map(|past| &past.rows).collect();
        for key in wanted.keys().copied().chain(now.foreign.keys()) {
            let (want, is) = (wanted.get(key).copied(), now.foreign.get(key));
            if want != is && !now.is_due(key) {
                return Err(format!("{key:?} is {is:?}, not {want:?}, and no intent tells of it"));
            }
        }
        Ok(())
    }
}
