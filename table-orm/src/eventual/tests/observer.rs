//! A store that checks the invariants after each write that took effect.

use super::world::{ENTITY, HOME, KIND, State, text};
use crate::entity::{DynamicEntity, read_row, split_page};
use crate::eventual::{ForeignKey, Pending};
use crate::model::{ETag, Metadata, TableName};
use crate::query::{KeyRange, RowQuery, Span};
use crate::store::{Batch, Middleware, Operation, Store, StoreError};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

/// A store that checks the invariants. Clones share what they saw.
#[derive(Debug, Clone)]
pub(super) struct Observer {
    store: Arc<dyn Store>,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    /// The states of each entity, one after the other.
    history: BTreeMap<String, Vec<Option<State>>>,
    /// The earliest state of its entity that each foreign row can show now.
    shown: BTreeMap<ForeignKey, usize>,
    violation: Option<String>,
    writes: usize,
}

/// All rows of the store.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    pub entities: BTreeMap<String, State>,
    pub foreign: BTreeMap<ForeignKey, String>,
    pub intents: Vec<Pending>,
    pub tickets: usize,
}

impl Observer {
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, seen: Arc::default() }
    }

    /// The first violation.
    pub fn violation(&self) -> Option<String> {
        self.seen.lock().unwrap().violation.clone()
    }

    pub fn writes(&self) -> usize {
        self.seen.lock().unwrap().writes
    }

    pub async fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot::default();
        for table in ["things", "copies"].map(super::world::table) {
            let query = RowQuery {
                metadata: Metadata::Minimal,
                ..RowQuery::new(table.clone(), KeyRange { partition: Span::All, row: Span::All })
            };
            let page = self.store.query(&query).await.unwrap();
            assert!(page.continuation.is_none());
            for json in split_page(&page.body).unwrap() {
                snapshot.add(&table, json.get().as_bytes());
            }
        }
        snapshot
    }

    async fn check(&self) {
        let snapshot = self.snapshot().await;
        let mut seen = self.seen.lock().unwrap();
        seen.writes += 1;
        let checked = seen.check(&snapshot);
        if seen.violation.is_none() {
            seen.violation = checked.err();
        }
    }
}

impl Snapshot {
    fn add(&mut self, table: &TableName, json: &[u8]) {
        let row: DynamicEntity = read_row(0, json).unwrap();
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

impl Seen {
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
        let written = self.store.write(table, partition_key, operation).await?;
        self.check().await;
        Ok(written)
    }

    async fn commit(
        &self,
        table: &TableName,
        batch: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let written = self.store.commit(table, batch).await?;
        self.check().await;
        Ok(written)
    }
}
