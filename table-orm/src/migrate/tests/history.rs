//! What each entity was, after each write that took effect, and which answers a client may get.

use super::followed::Followed;
use super::named::Named;
use crate::entity::DynamicEntity;
use crate::model::TableName;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};

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
    /// Of these, what must have been there.
    expected: BTreeMap<String, String>,
    /// What other entities are when a write takes effect.
    grounds: BTreeMap<String, Vec<(u64, String)>>,
    /// Writes that take effect together.
    together: Vec<Vec<String>>,
    /// The base of what each entity is.
    bases: BTreeMap<u64, String>,
    /// What clients began to delete.
    deleting: BTreeSet<String>,
    /// What the rows in other partitions have shown.
    pub followed: Followed,
    /// What the guards of unique values have named.
    pub named: Named,
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

    /// The stamps of all writes that took effect, and how often an entity was deleted.
    pub fn all(&self) -> (BTreeSet<String>, usize) {
        let deleted = self.truths.values().map(|of_one| {
            of_one.windows(2).filter(|steps| steps[0].is_some() && steps[1].is_none()).count()
        });
        (self.applied.clone(), deleted.sum())
    }

    pub fn refuse(&mut self, stamp: &str) {
        self.refused.insert(stamp.to_owned());
    }

    pub fn begin_blind(&mut self, stamp: &str) {
        self.blind.insert(stamp.to_owned());
    }

    pub fn begin_blind_over(&mut self, stamp: &str, expected: &str) {
        self.begin_blind(stamp);
        self.expected.insert(stamp.to_owned(), expected.to_owned());
    }

    pub fn begin_over(&mut self, stamp: &str, grounds: Vec<(u64, String)>) {
        self.grounds.insert(stamp.to_owned(), grounds);
    }

    pub fn begin_together(&mut self, stamps: &[String]) {
        self.together.push(stamps.to_owned());
    }

    /// Of the writes of one transaction, all have taken effect or none.
    pub fn is_whole(&self) -> Result<(), String> {
        let is_part = |stamps: &&Vec<String>| {
            let applied = stamps.iter().filter(|stamp| self.applied.contains(*stamp)).count();
            applied > 0 && applied < stamps.len()
        };
        match self.together.iter().find(is_part) {
            Some(stamps) => Err(format!("a part of {stamps:?} has taken effect")),
            None => Ok(()),
        }
    }

    pub fn begin_delete(&mut self, stamp: &str) {
        self.deleting.insert(stamp.to_owned());
    }

    /// A write took effect.
    pub fn step(&mut self, number: u64, now: Option<(String, String)>) -> Result<(), String> {
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
            if self.expected.get(&stamp).is_some_and(|expected| before.as_ref() != Some(expected)) {
                return Err(format!(
                    "{stamp} was merged into {before:?}, which has another version"
                ));
            }
            if base_before.as_ref() != Some(&base) {
                return Err(format!("{stamp} was merged, and changed {base_before:?} to {base}"));
            }
        } else if before.as_deref().unwrap_or(NOTHING) != base {
            return Err(format!("entity {number} was {before:?}; {stamp} was written over {base}"));
        }
        for (other, expected) in self.grounds.get(&stamp).cloned().unwrap_or_default() {
            let now = self.now(other);
            if now.as_ref() != Some(&expected) {
                return Err(format!(
                    "{stamp} was written where {expected} was read and {now:?} is"
                ));
            }
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

/// All rows: table, PartitionKey, RowKey.
pub(super) type Rows = BTreeMap<(String, String, String), DynamicEntity>;

/// Stores a row.
pub(super) fn put(rows: &mut Rows, table: &TableName, json: &str) {
    let row = DynamicEntity::from_json(json).unwrap();
    let key = (table.as_str().to_owned(), row.partition_key.clone(), row.row_key.clone());
    rows.insert(key, row);
}

/// Deletes a row.
pub(super) fn remove(rows: &mut Rows, table: &TableName, partition_key: &str, row_key: &str) {
    rows.remove(&(table.as_str().to_owned(), partition_key.to_owned(), row_key.to_owned()));
}

pub(super) fn lock(history: &Mutex<History>) -> MutexGuard<'_, History> {
    history.lock().unwrap()
}
