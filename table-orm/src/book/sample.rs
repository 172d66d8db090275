//! Sample entities of a type, as the rows that they are stored in.

use super::size::stored_bytes;
use crate::entity::{
    DynamicEntity, EntityRows, EventualRow, Schema, TableEntity, across_keys, eventual_rows,
    first_eventual, name_of,
};
use crate::error::{Error, Result};
use crate::eventual::{Home, TICKET_START, guard_row};
use crate::model::{Edm, PARTITION_KEY, ROW_KEY, TableName};
use crate::plan::CanonicalKey;
use crate::query::{Filter, KeyRange, RowQuery, Span};
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// What the service adds to a whole row: `,"Timestamp":"2011-11-06T09:10:00.0000000Z"`.
const TIMESTAMP_BYTES: u64 = 43;

/// A table and a PartitionKey.
pub(super) type PartitionName = (String, String);

/// Sample entities of one type, and how many entities they stand for.
#[derive(Debug, Clone)]
pub struct Sample {
    pub(super) schema: Schema,
    pub(super) rows: Vec<SampleRow>,
    count: u64,
    entities: u64,
    largest_partition: u64,
}

/// A row of a sample entity.
#[derive(Debug, Clone)]
pub(super) struct SampleRow {
    /// The name of its template; of a guard row that of the unique value.
    pub name: &'static str,
    pub is_guard: bool,
    /// Which of the sample entities it is of.
    entity: usize,
    /// Whether it is in another partition or table.
    is_elsewhere: bool,
    pub table: &'static str,
    pub content: DynamicEntity,
    pub stored_bytes: u64,
    /// The bytes of its JSON object.
    pub body_bytes: u64,
}

impl Sample {
    /// The samples of a type. They stand for themselves, unless [`entities`](Self::entities) and
    /// [`largest_partition`](Self::largest_partition) say more.
    ///
    /// # Errors
    /// When the service would reject a key or a property of one.
    pub fn of<E: TableEntity>(entities: &[E]) -> Result<Self> {
        let mut rows = Vec::new();
        let mut partitions = BTreeMap::<String, u64>::new();
        for (at, entity) in entities.iter().enumerate() {
            let own = EntityRows::of(entity)?;
            let row_key = own.canonical().map(|row| row.row_key.clone()).unwrap_or_default();
            let key = CanonicalKey { partition_key: own.partition_key.clone(), row_key };
            let home = Home { table: TableName::checked(E::TABLE), key };
            *partitions.entry(own.partition_key.clone()).or_default() += 1;
            for row in own.rows {
                rows.push(SampleRow::of::<E>(at, row.index, E::TABLE, &row.body)?);
            }
            for (guard, partition_key) in across_keys(entity)? {
                // A ticket's name has a ULID.
                let row = guard_row(&partition_key, &home, &format!("{TICKET_START}{:026}", 0));
                let table = guard.table.unwrap_or(E::TABLE);
                rows.push(SampleRow::new(at, guard.name, true, table, &row.body()?)?);
            }
            for EventualRow { index, table, body, .. } in eventual_rows(entity)? {
                let row = SampleRow::of::<E>(at, index, table.unwrap_or(E::TABLE), &body)?;
                rows.push(SampleRow { is_elsewhere: true, ..row });
            }
        }
        let count = entities.len() as u64;
        let largest_partition = partitions.into_values().max().unwrap_or_default();
        Ok(Self { schema: Schema::of::<E>(), rows, count, entities: count, largest_partition })
    }

    /// Sets how many entities the table has in all: at least as many as there are samples.
    #[must_use]
    pub fn entities(mut self, entities: u64) -> Self {
        self.entities = entities.max(self.count);
        self
    }

    /// Sets how many entities the largest partition has: at least as many as the samples have in one.
    #[must_use]
    pub fn largest_partition(mut self, entities: u64) -> Self {
        self.largest_partition = self.largest_partition.max(entities);
        self
    }

    /// The number of entities.
    pub(super) const fn all(&self) -> u64 {
        self.entities
    }

    /// The stored bytes of an entity, all of its rows together, on average.
    pub(super) fn bytes_of_entity(&self) -> u64 {
        let bytes: u64 = self.rows.iter().map(|row| row.stored_bytes).sum();
        bytes.checked_div(self.count).unwrap_or_default()
    }

    /// The stored bytes of one kind of row, of all entities that the samples stand for: one may have none of them, or
    /// several.
    pub(super) fn bytes_of_row(&self, name: &str) -> u64 {
        let rows = self.rows.iter().filter(|row| row.name == name && !row.is_guard);
        let bytes: u64 = rows.map(|row| row.stored_bytes).sum();
        bytes.saturating_mul(self.entities).checked_div(self.count).unwrap_or_default()
    }

    /// What a query finds, for the entities that the samples stand for.
    pub(super) fn found(&self, query: &RowQuery) -> Found {
        let mut found = Found::default();
        for row in self.rows.iter().filter(|row| row.is_read(query)) {
            found.in_range += 1.0;
            if row.is_found(query) {
                found.matching += 1.0;
                found.bytes += row.bytes_of(query);
            }
        }
        found.times(self.stands_for(&query.keys.partition))
    }

    /// The bytes that a query gets for one of the rows that it reads, on average over all samples. 0 without samples.
    pub(super) fn bytes_of_one(&self, query: &RowQuery) -> f64 {
        let rows = self.rows_of(query.mark.row);
        let (rows, bytes) =
            rows.fold((0.0, 0.0), |(rows, bytes), row| (rows + 1.0, bytes + row.bytes_of(query)));
        if rows > 0.0 { bytes / rows } else { 0.0 }
    }

    /// The bytes of the canonical row of an entity that a query finds, on average; of any sample, where it finds none.
    pub(super) fn canonical_bytes(&self, query: &RowQuery) -> f64 {
        let found = self.entities_of(query);
        let rows = self.rows_of(None).filter(|row| found.is_empty() || found.contains(&row.entity));
        let (rows, bytes) = rows.fold((0, 0), |(rows, bytes), row| {
            (rows + 1, bytes + row.body_bytes + TIMESTAMP_BYTES)
        });
        if rows > 0 { bytes as f64 / f64::from(rows) } else { 0.0 }
    }

    /// The samples that a query finds.
    fn entities_of(&self, query: &RowQuery) -> BTreeSet<usize> {
        self.rows.iter().filter(|row| row.is_found(query)).map(|row| row.entity).collect()
    }

    /// The rows of one kind; the canonical ones without a name.
    fn rows_of(&self, name: Option<&'static str>) -> impl Iterator<Item = &SampleRow> {
        let canonical = self.schema.rows.iter().find(|row| row.canonical).map(|row| row.name);
        let name = name.or(canonical);
        self.rows.iter().filter(move |row| Some(row.name) == name && !row.is_guard)
    }

    /// Whether both are of one type.
    pub(super) fn is_of_type(&self, other: &Self) -> bool {
        let name = |sample: &Self| (sample.schema.entity, sample.schema.table);
        name(self) == name(other)
    }

    /// Whether a query is one for its type.
    pub(super) fn is_of(&self, query: &RowQuery) -> bool {
        query.mark.entity == Some(self.schema.entity)
    }

    /// Whether a query reads the guard row of one of its values.
    pub(super) fn has_guard(&self, query: &RowQuery) -> bool {
        self.rows.iter().any(|row| row.is_guard && row.is_read(query))
    }

    /// Whether its entities are in that table.
    pub(super) fn is_in(&self, table: &TableName) -> bool {
        table.as_str().eq_ignore_ascii_case(self.schema.table)
    }

    /// The other partitions with rows of the entities that a query finds, each with its share of them. Where it finds no
    /// sample, an entity stands for it that has each of its rows in the partition with most of them.
    pub(super) fn others(&self, query: &RowQuery) -> Vec<(PartitionName, f64)> {
        self.shares(query, self.rows.iter().filter(|row| row.is_elsewhere))
    }

    /// The partitions of the entities that a query finds, each with its share of them. Where it finds no sample, the
    /// partition with most samples stands for it.
    pub(super) fn homes(&self, query: &RowQuery) -> Vec<(PartitionName, f64)> {
        self.shares(query, self.rows_of(None))
    }

    /// The partitions of those of the rows whose entities a query finds, each with its share.
    fn shares<'a>(
        &'a self,
        query: &RowQuery,
        rows: impl Iterator<Item = &'a SampleRow>,
    ) -> Vec<(PartitionName, f64)> {
        let found = self.entities_of(query);
        let mut places = BTreeMap::<(Option<&str>, PartitionName), u64>::new();
        for row in rows {
            let place = (row.table.to_owned(), row.content.partition_key.clone());
            if found.is_empty() {
                *places.entry((Some(row.name), place)).or_default() += 1;
            } else if found.contains(&row.entity) {
                *places.entry((None, place)).or_default() += 1;
            }
        }
        if found.is_empty() {
            let mut fullest = BTreeMap::new();
            for ((name, place), rows) in places {
                let most = fullest.entry(name).or_insert((place.clone(), 0));
                if rows > most.1 {
                    *most = (place, rows);
                }
            }
            let one = |(name, (place, _))| ((name, place), 1);
            places = fullest.into_iter().map(one).collect();
        }
        let all: u64 = places.values().sum();
        let share = |((_, place), rows)| (place, rows as f64 / all as f64);
        places.into_iter().map(share).collect()
    }

    /// How many entities a sample stands for: in its own partition those of the largest one, in other partitions those of the
    /// table.
    fn stands_for(&self, partition: &Span) -> f64 {
        let here = self.rows_of(None);
        let here = here.filter(|row| partition.contains(&row.content.partition_key)).count() as u64;
        let (entities, samples) = match partition {
            Span::Exact(_) if here > 0 => (self.largest_partition, here),
            _ => (self.entities, self.count),
        };
        if samples == 0 { 0.0 } else { entities as f64 / samples as f64 }
    }
}

/// Whether the service reads a row for a query: over several partitions, it finds no range of RowKeys without reading
/// the others.
fn reads(keys: &KeyRange, row: &DynamicEntity) -> bool {
    let is_one = matches!(keys.partition, Span::Exact(_));
    keys.partition.contains(&row.partition_key) && (!is_one || keys.row.contains(&row.row_key))
}

impl SampleRow {
    fn of<E: TableEntity>(
        entity: usize,
        index: usize,
        table: &'static str,
        body: &Bytes,
    ) -> Result<Self> {
        let is_guard = (E::ROWS.len()..first_eventual::<E>()).contains(&index);
        Self::new(entity, name_of::<E>(index), is_guard, table, body)
    }

    fn new(
        entity: usize,
        name: &'static str,
        is_guard: bool,
        table: &'static str,
        body: &Bytes,
    ) -> Result<Self> {
        let json = std::str::from_utf8(body).unwrap_or_default();
        let content = DynamicEntity::from_json(json).map_err(Error::from)?;
        let (stored_bytes, body_bytes) = (stored_bytes(&content), body.len() as u64);
        let is_elsewhere = false;
        Ok(Self { name, is_guard, entity, is_elsewhere, table, content, stored_bytes, body_bytes })
    }

    /// Whether the service reads it for a query.
    fn is_read(&self, query: &RowQuery) -> bool {
        query.table.as_str().eq_ignore_ascii_case(self.table) && reads(&query.keys, &self.content)
    }

    /// Whether a query returns it.
    fn is_found(&self, query: &RowQuery) -> bool {
        self.is_read(query)
            && query.keys.row.contains(&self.content.row_key)
            && query.filter.as_ref().is_none_or(|filter| self.meets(filter))
    }

    fn meets(&self, filter: &Filter) -> bool {
        filter.evaluate(&mut |property, comparison, value| {
            let key = |key: &String| Edm::String(key.clone());
            let stored = match property {
                PARTITION_KEY => Some(key(&self.content.partition_key)),
                ROW_KEY => Some(key(&self.content.row_key)),
                property => self.content.properties.get(property).cloned(),
            };
            // One with a property that is missing or of another type is false.
            stored.is_some_and(|stored| {
                stored.edm_type() == value.edm_type() && comparison.holds(stored.order(value))
            })
        })
    }

    /// The bytes of the properties that a query asks for.
    fn bytes_of(&self, query: &RowQuery) -> f64 {
        let Some(select) = &query.select else { return (self.body_bytes + TIMESTAMP_BYTES) as f64 };
        let named = |name: &str| select.iter().any(|selected| *selected == name);
        let mut part = self.content.clone();
        part.properties.retain(|name, _| named(name));
        let json = part.to_json().unwrap_or_default();
        json.len() as f64
    }
}

/// What a query finds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Found {
    pub in_range: f64,
    pub matching: f64,
    pub bytes: f64,
}

impl Found {
    fn times(self, factor: f64) -> Self {
        Self {
            in_range: self.in_range * factor,
            matching: self.matching * factor,
            bytes: self.bytes * factor,
        }
    }

    /// So many rows, each of so many bytes, of which all match.
    pub fn all(rows: f64, bytes_of_one: f64) -> Self {
        Self { in_range: rows, matching: rows, bytes: rows * bytes_of_one }
    }

    /// The same share of another number of rows.
    pub fn of_rows(self, rows: f64) -> Self {
        self.times(rows / self.in_range)
    }

    pub fn and(self, other: Self) -> Self {
        Self {
            in_range: self.in_range + other.in_range,
            matching: self.matching + other.matching,
            bytes: self.bytes + other.bytes,
        }
    }
}
