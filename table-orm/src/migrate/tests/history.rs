//! What each entity was, after each write that took effect, and what a client may be told.

use super::subjects::Subject;
use crate::entity::{DynamicEntity, EntityRows};
use crate::eventual::tests::chaos::Invariants;
use crate::migrate::marker::Marker;
use crate::migrate::old_place::canonical_key;
use crate::model::{Edm, MOVED_TO, TableName};
use crate::plan::CanonicalKey;
use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard};

/// How many entities there are.
pub(super) const ENTITIES: u64 = 2;
/// The base of an insert.
pub(super) const NOTHING: &str = "-";

/// The history of all entities.
#[derive(Debug, Default)]
pub(super) struct History {
    /// The stamps of what each entity was, one after the other; at first nothing.
    truths: BTreeMap<u64, Vec<Option<String>>>,
    /// Writes that took effect.
    applied: BTreeSet<String>,
    /// Writes whose clients were told that they have not.
    refused: BTreeSet<String>,
    /// Writes that set the stamp alone, of whatever is there.
    blind: BTreeSet<String>,
    /// The base of what each entity is.
    bases: BTreeMap<u64, String>,
    /// What clients began to delete.
    deleting: BTreeSet<String>,
}

impl History {
    fn of(&mut self, number: u64) -> &mut Vec<Option<String>> {
        self.truths.entry(number).or_insert_with(|| vec![None])
    }

    /// The moment at which a call begins.
    pub fn mark(&mut self, number: u64) -> usize {
        self.of(number).len() - 1
    }

    /// What the entity is.
    pub fn now(&mut self, number: u64) -> Option<String> {
        self.of(number).last().cloned().flatten()
    }

    /// Whether the entity was so at some time since.
    pub fn was(
        &mut self,
        number: u64,
        since: usize,
        what: impl Fn(&Option<String>) -> bool,
    ) -> bool {
        self.of(number)[since..].iter().any(what)
    }

    pub fn has_applied(&self, stamp: &str) -> bool {
        self.applied.contains(stamp)
    }

    pub fn refuse(&mut self, stamp: &str) {
        self.refused.insert(stamp.to_owned());
    }

    pub fn begin_blind(&mut self, stamp: &str) {
        self.blind.insert(stamp.to_owned());
    }

    pub fn begin_delete(&mut self, stamp: &str) {
        self.deleting.insert(stamp.to_owned());
    }

    /// A write took effect.
    fn step(&mut self, number: u64, now: Option<(String, String)>) -> Result<(), String> {
        let before = self.now(number);
        let Some((stamp, base)) = now else {
            if let Some(before) = before {
                self.of(number).push(None);
                if !self.deleting.contains(&before) {
                    return Err(format!("entity {number} was {before}, and is gone"));
                }
            }
            return Ok(());
        };
        if before.as_ref() == Some(&stamp) {
            return Ok(());
        }
        self.of(number).push(Some(stamp.clone()));
        let base_before = self.bases.insert(number, base.clone());
        if self.blind.contains(&stamp) {
            if before.is_none() {
                return Err(format!(
                    "{stamp} was merged into entity {number}, which was not there"
                ));
            }
            if base_before.as_ref() != Some(&base) {
                return Err(format!("{stamp} was merged, and changed {base_before:?} to {base}"));
            }
        } else if before.as_deref().unwrap_or(NOTHING) != base {
            return Err(format!("entity {number} was {before:?}; {stamp} was written over {base}"));
        }
        if self.refused.contains(&stamp) {
            return Err(format!("{stamp} took effect after its client was told that it has not"));
        }
        if !self.applied.insert(stamp.clone()) {
            return Err(format!("{stamp} took effect twice"));
        }
        Ok(())
    }
}

/// Watches what is stored.
#[derive(Debug)]
pub(super) struct Watch<E> {
    history: Arc<Mutex<History>>,
    entity: PhantomData<fn() -> E>,
}

impl<E> Default for Watch<E> {
    fn default() -> Self {
        Self::of(Arc::default())
    }
}

impl<E> Watch<E> {
    pub fn of(history: Arc<Mutex<History>>) -> Self {
        Self { history, entity: PhantomData }
    }
}

/// All rows: table, PartitionKey, RowKey.
pub(super) type Rows = BTreeMap<(String, String, String), DynamicEntity>;

impl<E: Subject + std::fmt::Debug> Invariants for Watch<E> {
    const TABLES: &'static [&'static str] = E::TABLES;

    type Snapshot = Rows;

    fn put(snapshot: &mut Rows, table: &TableName, json: &str) {
        let row = DynamicEntity::from_json(json).unwrap();
        let key = (table.as_str().to_owned(), row.partition_key.clone(), row.row_key.clone());
        snapshot.insert(key, row);
    }

    fn remove(snapshot: &mut Rows, table: &TableName, partition_key: &str, row_key: &str) {
        let key = (table.as_str().to_owned(), partition_key.to_owned(), row_key.to_owned());
        snapshot.remove(&key);
    }

    fn check(&mut self, now: &Rows) -> Result<(), String> {
        for number in 0..ENTITIES {
            let truth = truth::<E>(now, number)?;
            lock(&self.history).step(number, truth)?;
        }
        Ok(())
    }
}

pub(super) fn lock(history: &Mutex<History>) -> MutexGuard<'_, History> {
    history.lock().unwrap()
}

/// The new and the old key of an entity.
pub(super) fn keys<E: Subject>(number: u64) -> (CanonicalKey, CanonicalKey) {
    let entity = E::of(number, "", "");
    let new = canonical_key(&EntityRows::of(&entity).unwrap());
    (new, canonical_key(&EntityRows::of(&E::Old::from(entity)).unwrap()))
}

/// Stamp and base of what counts, from all rows.
fn truth<E: Subject>(rows: &Rows, number: u64) -> Result<Option<(String, String)>, String> {
    let row = |table: &str, key: &CanonicalKey| {
        rows.get(&(table.to_owned(), key.partition_key.clone(), key.row_key.clone()))
    };
    let text = |row: &DynamicEntity, name| match row.properties.get(name) {
        Some(Edm::String(text)) => Some(text.clone()),
        _ => None,
    };
    let stamps = |row: &DynamicEntity| text(row, "Stamp").zip(text(row, "Base"));
    let (new, old) = keys::<E>(number);
    let keeps_key = E::TABLE == <E::Old as crate::TableEntity>::TABLE && new == old;
    let (new, old) =
        (row(E::TABLE, &new).and_then(stamps), row(<E::Old as crate::TableEntity>::TABLE, &old));
    let old = old.filter(|_| !keeps_key);
    let marker = old.and_then(|row| Marker::parse(&text(row, MOVED_TO)?));
    let parcel = marker.as_ref().and_then(|marker| {
        let (partition_key, row_key) = (marker.partition_key.clone(), marker.parcel.clone()?);
        row(E::TABLE, &CanonicalKey { partition_key, row_key })
    });
    let (old, parcel) = (old.and_then(stamps), parcel.and_then(stamps));
    if new.is_some() && (old.is_some() || parcel.is_some()) {
        return Err(format!("entity {number} is there twice: {new:?}, {old:?}, {parcel:?}"));
    }
    Ok(new.or(old).or(parcel))
}
