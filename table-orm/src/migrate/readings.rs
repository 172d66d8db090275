//! The entities that a list has read so far.
//!
//! Invariants:
//! - Of several readings of one entity, the last counts. The new rows of an entity are one reading, where it has one for
//!   each element of a field.
//! - Where more entities were read than the part can give, only the first ones are kept, and the keys end with them.

use super::canonical::canonical_key;
use crate::entity::{
    DynamicEntity, EntityRows, RowHead, TableEntity, canonical, partition_key, read_timestamp,
    row_key, template_at,
};
use crate::error::Result;
use crate::model::{Edm, PARTITION_KEY, ROW_KEY, TIMESTAMP};
use crate::plan::CanonicalKey;
use crate::query::{Filter, KeyRange, Span};
use bytes::Bytes;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Bound;

/// How many entities are kept at least, beside twice those that will be given.
const SLACK: usize = if cfg!(test) { 0 } else { 1000 };

/// The entities that were read, by their new canonical keys, and where a query finds each.
pub(super) struct Readings<E> {
    pub keys: KeyRange,
    /// The row by which it is asked for.
    pub row: usize,
    /// The condition on that row.
    pub filter: Option<Filter>,
    /// The most rows that will be given.
    most: usize,
    /// The last key, where rows behind it were not kept.
    pub cut: Option<String>,
    found: BTreeMap<CanonicalKey, Reading<E>>,
}

/// An entity, with the keys by which the query finds it.
struct Reading<E> {
    /// Whether its new rows were read.
    is_new: bool,
    rows: Vec<(RowHead, E)>,
}

impl<E: TableEntity + Clone> Readings<E> {
    pub const fn of(keys: KeyRange, row: usize, filter: Option<Filter>, most: usize) -> Self {
        Self { keys, row, filter, most, cut: None, found: BTreeMap::new() }
    }

    /// Takes a reading of an entity that has these rows, or will have them, if the query asks for it. Returns whether
    /// it does. `stored` is the row that was read.
    pub fn take(&mut self, entity: &E, rows: &EntityRows, stored: &[u8]) -> bool {
        let row = self.row;
        let of_kind = rows.rows.iter().filter(|other| other.index == row);
        let of_kind = of_kind.map(|row| (&rows.partition_key, &row.row_key, &row.body));
        !self.take_rows(rows, entity, of_kind, stored).is_empty()
    }

    /// The same for rows of the kind that is asked for: PartitionKey, RowKey and JSON object. Returns their keys.
    pub fn take_rows<'r>(
        &mut self,
        rows: &EntityRows,
        entity: &E,
        of_kind: impl Iterator<Item = (&'r String, &'r String, &'r Bytes)>,
        stored: &[u8],
    ) -> Vec<RowHead> {
        let (keys, filter) = (&self.keys, self.filter.as_ref());
        let asked_for = of_kind.filter(|(partition_key, row_key, body)| {
            keys.partition.contains(partition_key)
                && keys.row.contains(row_key)
                && filter.is_none_or(|filter| meets(filter, body, stored))
        });
        let heads: Vec<_> = asked_for
            .map(|(partition_key, row_key, _)| RowHead {
                partition_key: partition_key.clone(),
                row_key: row_key.clone(),
            })
            .collect();
        let key = canonical_key(rows);
        self.found.remove(&key);
        if !heads.is_empty() {
            let found = heads.iter().map(|head| (head.clone(), entity.clone())).collect();
            self.found.insert(key, Reading { is_new: false, rows: found });
            self.keep_first();
        }
        heads
    }

    /// Takes a new row that the query found. With more shards, it finds rows that are still under old keys, too.
    pub fn take_row(&mut self, head: RowHead, entity: E) -> Result<()> {
        let key = CanonicalKey {
            partition_key: partition_key(&entity)?,
            row_key: row_key(&entity, canonical::<E>())?.unwrap_or_default(),
        };
        if key.partition_key != head.partition_key {
            return Ok(());
        }
        let new = || Reading { is_new: true, rows: Vec::new() };
        let reading = self.found.entry(key).or_insert_with(new);
        let is_one_of_many = template_at::<E>(self.row).is_some_and(|row| row.each.is_some());
        if !(reading.is_new && is_one_of_many) {
            *reading = new();
        }
        reading.rows.push((head, entity));
        Ok(())
    }

    /// Keeps the first rows, where there are many more than will be given, and one more: it shows that there are more.
    fn keep_first(&mut self) {
        if self.found.len() <= self.most.saturating_mul(2).saturating_add(SLACK) {
            return;
        }
        let rows = self.found.values().flat_map(|reading| &reading.rows);
        let mut heads: Vec<_> = rows.map(|(head, _)| head).collect();
        let (_, last, _) = heads.select_nth_unstable(self.most);
        let last = last.clone();
        for reading in self.found.values_mut() {
            reading.rows.retain(|(head, _)| *head <= last);
        }
        self.found.retain(|_, reading| !reading.rows.is_empty());
        self.keys.row = up_to(&self.keys.row, &last.row_key);
        self.cut = Some(last.row_key);
    }
}

impl<E> Readings<E> {
    /// The entities in key order, each with a key that the query finds.
    pub fn in_order(self) -> Vec<(RowHead, E)> {
        let mut entities: Vec<_> =
            self.found.into_values().flat_map(|reading| reading.rows).collect();
        entities.sort_by(|(one, _), (other, _)| one.cmp(other));
        entities
    }
}

/// The keys of a range up to that one, which is in it.
fn up_to(range: &Span, last: &str) -> Span {
    let upper = Bound::Included(last.to_owned());
    match range {
        Span::All => Span::Between(Bound::Unbounded, upper),
        Span::Exact(_) => range.clone(),
        Span::Between(lower, _) => Span::Between(lower.clone(), upper),
    }
}

/// Whether a row, as it will be stored, meets a condition. Its Timestamp is that of the row that was read. As in the
/// store, a comparison with a property that is missing or of another type is false.
fn meets(filter: &Filter, row: &[u8], read: &[u8]) -> bool {
    let row = std::str::from_utf8(row).ok().and_then(|json| DynamicEntity::from_json(json).ok());
    let Some(DynamicEntity { partition_key, row_key, properties, .. }) = row else { return false };
    filter.evaluate(&mut |property, comparison, value| {
        let system = match property {
            PARTITION_KEY => Some(Edm::String(partition_key.clone())),
            ROW_KEY => Some(Edm::String(row_key.clone())),
            TIMESTAMP => read_timestamp(read).map(Edm::DateTime),
            _ => None,
        };
        system.as_ref().or_else(|| properties.get(property)).is_some_and(|stored| {
            let order: Option<Ordering> = stored.order(value);
            stored.edm_type() == value.edm_type() && comparison.holds(order)
        })
    })
}
