//! The entities that a list or a scan has read so far.
//!
//! Invariant: of several readings of one entity, the last counts.

use super::old_place::canonical_key;
use crate::entity::{DynamicEntity, EntityRows, RowHead};
use crate::model::Edm;
use crate::plan::CanonicalKey;
use crate::query::{Filter, KeyRange};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// The entities that were read, by their new canonical keys, and where a query finds each.
pub(super) struct Readings<E> {
    pub keys: KeyRange,
    /// The row by which it is asked for.
    pub row: usize,
    /// The condition on that row.
    pub filter: Option<Filter>,
    found: BTreeMap<CanonicalKey, (RowHead, E)>,
}

impl<E> Readings<E> {
    pub const fn of(keys: KeyRange, row: usize, filter: Option<Filter>) -> Self {
        Self { keys, row, filter, found: BTreeMap::new() }
    }

    /// Takes a reading of an entity that will have these rows, if the query asks for it. Returns whether it does.
    pub fn take(&mut self, entity: E, rows: &EntityRows) -> bool {
        self.read(entity, rows, true)
    }

    /// Takes a reading of a new row, which the store compared with the filter.
    pub fn take_filtered(&mut self, entity: E, rows: &EntityRows) {
        self.read(entity, rows, false);
    }

    fn read(&mut self, entity: E, rows: &EntityRows, compares: bool) -> bool {
        let key = canonical_key(rows);
        self.found.remove(&key);
        let Some(row) = rows.rows.iter().find(|row| row.index == self.row) else { return false };
        let partition_key = rows.partition_key.clone();
        let is_asked_for = self.keys.partition.contains(&partition_key)
            && self.keys.row.contains(&row.row_key)
            && (!compares || self.filter.as_ref().is_none_or(|filter| meets(filter, &row.body)));
        if is_asked_for {
            let head = RowHead { partition_key, row_key: row.row_key.clone() };
            self.found.insert(key, (head, entity));
        }
        is_asked_for
    }

    /// The entities in key order, each with the key that the query finds.
    pub fn in_order(self) -> Vec<(RowHead, E)> {
        let mut entities: Vec<_> = self.found.into_values().collect();
        entities.sort_by(|(one, _), (other, _)| one.cmp(other));
        entities
    }
}

/// Whether a row, as it will be stored, meets a condition. As in the store, a comparison with a property that is
/// missing or of another type is false.
fn meets(filter: &Filter, row: &[u8]) -> bool {
    let row = std::str::from_utf8(row).ok().and_then(|json| DynamicEntity::from_json(json).ok());
    let Some(row) = row else { return false };
    filter.evaluate(&mut |property, comparison, value| {
        let stored: Option<&Edm> = row.properties.get(property);
        stored.is_some_and(|stored| {
            let order: Option<Ordering> = stored.order(value);
            stored.edm_type() == value.edm_type() && comparison.holds(order)
        })
    })
}
