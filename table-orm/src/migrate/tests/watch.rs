//! Watches what is stored: what counts of each entity, after each write.

use super::history::{ENTITIES, History, Rows, lock, put, remove};
use super::subjects::Subject;
use crate::entity::{DynamicEntity, EntityRows, Marker};
use crate::eventual::tests::chaos::Invariants;
use crate::migrate::canonical::canonical_key;
use crate::model::{Edm, MOVED_TO, TableName};
use crate::plan::CanonicalKey;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex};

/// The property of an entity that has expired.
const UNTIL: &str = "Until";

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

impl<E: Subject + std::fmt::Debug> Invariants for Watch<E> {
    const TABLES: &'static [&'static str] = E::TABLES;

    type Snapshot = Rows;

    fn put(snapshot: &mut Rows, table: &TableName, json: &str) {
        put(snapshot, table, json);
    }

    fn remove(snapshot: &mut Rows, table: &TableName, partition_key: &str, row_key: &str) {
        remove(snapshot, table, partition_key, row_key);
    }

    fn check(&mut self, now: &Rows) -> Result<(), String> {
        for number in 0..ENTITIES {
            let truth = truth::<E>(now, number)?;
            lock(&self.history).step(number, truth)?;
        }
        lock(&self.history).is_whole()?;
        E::check(now, &mut lock(&self.history))
    }
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
    let stamps = |row: &DynamicEntity| {
        let has_expired = row.properties.contains_key(UNTIL);
        Some((text(row, "Stamp")?, text(row, "Base")?, has_expired))
    };
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
    let counts = new.or(old).or(parcel);
    Ok(counts.filter(|(_, _, has_expired)| !has_expired).map(|(stamp, base, _)| (stamp, base)))
}
