//! An entity as the rows that store it.

use super::elements::{
    Excess, TooManyElements, has_element_rows, most_elements, too_many_elements,
};
use super::template::template_at;
use crate::codec::{KEYS_FRAME, write_keys};
use crate::entity::{
    CopyKind, GuardTemplate, PeriodMismatch, Row, RowTemplate, TableEntity, check_period,
};
use crate::key::{Escape, KeyError, KeyFault, KeyText};
use crate::model::{KIND, MAX_TRANSACTION_OPERATIONS, TableName, order, reserved_start};
use crate::property::{PropertiesWriter, PropertyError, PropertyFault};
use bytes::Bytes;
use std::collections::HashSet;
use std::ops::Range;

/// A value that the service would reject. Nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidEntity {
    /// A key cannot hold a value.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// No property can store a value.
    #[error(transparent)]
    Property(#[from] PropertyError),
    /// No transaction can write a row for each element of a field.
    #[error(transparent)]
    TooManyElements(#[from] TooManyElements),
    /// The entity belongs in the table of another period.
    #[error(transparent)]
    PeriodMismatch(#[from] PeriodMismatch),
}

/// One row of an entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityRow {
    /// Which of the entity's key templates it is written from: one of
    /// [`ROWS`](TableEntity::ROWS), or after them one of [`GUARDS`](TableEntity::GUARDS).
    pub index: usize,
    /// Its RowKey.
    pub row_key: String,
    /// Its JSON object, keys included.
    pub body: Bytes,
}

/// All rows of an entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityRows {
    /// The PartitionKey of all of them.
    pub partition_key: String,
    /// The rows: the canonical row, guard rows, then index rows in the order of their templates;
    /// sparse rows may be absent, and a row for each element may be there several times. A transaction fails at its first rejected operation, so this is
    /// also the order in which an insert reports rejections.
    pub rows: Vec<EntityRow>,
}

impl EntityRows {
    /// The rows that store the entity.
    ///
    /// # Errors
    /// When the service would reject a key or a property, or one transaction cannot write a row for each
    /// element of a field: [`InvalidEntity`].
    pub fn of<E: TableEntity>(entity: &E) -> Result<Self, InvalidEntity> {
        let rows = Self::with_elements(entity)?;
        if const { has_element_rows::<E>() } && rows.rows.len() > MAX_TRANSACTION_OPERATIONS {
            let indices = rows.rows.iter().map(|row| row.index);
            too_many_elements::<E>(indices, Excess::Rows).map_or(Ok(()), Err)?;
        }
        Ok(rows)
    }

    /// The rows that store the entity in that table.
    ///
    /// # Errors
    /// As [`of`](Self::of). When the entity belongs in the table of another period:
    /// [`InvalidEntity::PeriodMismatch`].
    pub(crate) fn of_in<E: TableEntity>(
        entity: &E,
        table: &TableName,
    ) -> Result<Self, InvalidEntity> {
        check_period(entity, table)?;
        Self::of(entity)
    }

    /// The rows of an entity that was read. Where there are more than a transaction can have written,
    /// another program stored the elements, or the type got a row for them later: the rows for the most
    /// elements are left out.
    pub(crate) fn of_stored<E: TableEntity>(entity: &E) -> Result<Self, InvalidEntity> {
        let mut rows = Self::with_elements(entity)?;
        while const { has_element_rows::<E>() } && rows.rows.len() > MAX_TRANSACTION_OPERATIONS {
            let indices = rows.rows.iter().map(|row| row.index);
            let Some(index) = most_elements::<E>(indices) else { break };
            rows.rows.retain(|row| row.index != index);
        }
        Ok(rows)
    }

    /// The rows of the entity. Of those for the elements of a field, at most one more than a transaction
    /// can write.
    fn with_elements<E: TableEntity>(entity: &E) -> Result<Self, InvalidEntity> {
        let partition_key = partition_key(entity)?;
        let mut full = None;
        let mut rows: Vec<EntityRow> = Vec::with_capacity(E::ROWS.len() + E::GUARDS.len());
        for (index, template) in E::ROWS.iter().enumerate() {
            let (mut partial, mut taken) = (None, HashSet::new());
            for element in elements::<E>(index) {
                let Some(row_key) = element_key(entity, index, element)? else { break };
                if template.each.is_some() && !taken.insert(row_key.clone()) {
                    continue;
                }
                let properties = match template.copy {
                    CopyKind::Full => &mut full,
                    CopyKind::Partial => &mut partial,
                };
                let properties = match properties {
                    Some(properties) => properties,
                    None => properties.insert(encode(entity, index)?),
                };
                let body = body(&partition_key, &row_key, properties)?;
                rows.push(EntityRow { index, row_key, body });
                if taken.len() > MAX_TRANSACTION_OPERATIONS {
                    break;
                }
            }
        }
        let mut rows = Self { partition_key, rows };
        rows.add_guards(entity)?;
        rows.sort(<E::Canonical as Row>::INDEX, E::ROWS.len());
        Ok(rows)
    }

    /// Brings the rows into their order. The first `others` templates are of no guards.
    fn sort(&mut self, canonical: usize, others: usize) {
        self.rows.sort_by_key(|row| (row.index != canonical, row.index < others));
    }

    /// The guard rows, each with the key of the canonical row alone.
    fn add_guards<E: TableEntity>(&mut self, entity: &E) -> Result<(), InvalidEntity> {
        if const { E::GUARDS.is_empty() } {
            return Ok(());
        }
        for index in guards(E::ROWS, E::GUARDS, false) {
            let Some(row_key) = row_key(entity, index)? else { continue };
            let mut rows = self.rows.iter();
            let canonical = rows.find(|row| row.index == <E::Canonical as Row>::INDEX);
            let canonical = canonical.map(|row| row.row_key.clone()).unwrap_or_default();
            let mut reference = PropertiesWriter::new(E::NAME);
            reference.property(GuardTemplate::REFERENCE, &canonical)?;
            mark::<E>(&mut reference)?;
            let body = body(&self.partition_key, &row_key, &reference)?;
            self.rows.push(EntityRow { index, row_key, body });
        }
        Ok(())
    }

    /// The canonical row, which every entity has: the first.
    #[must_use]
    pub fn canonical(&self) -> Option<&EntityRow> {
        self.rows.first()
    }

    /// Whether a row written from the template `index` has that key.
    pub(crate) fn stands_at(&self, index: usize, partition_key: &str, row_key: &str) -> bool {
        self.partition_key == partition_key
            && self.row(row_key).is_some_and(|row| row.index == index)
    }

    /// The row under that RowKey. No two rows of an entity have the same.
    #[must_use]
    pub fn row(&self, row_key: &str) -> Option<&EntityRow> {
        self.rows.iter().find(|row| row.row_key == row_key)
    }
}

/// The indices of the guards of values that are unique over all partitions, or of the others.
pub(super) fn guards(
    rows: &'static [RowTemplate],
    guards: &'static [GuardTemplate],
    across: bool,
) -> impl Iterator<Item = usize> {
    let guards = guards.iter().enumerate().filter(move |(_, guard)| guard.across == across);
    guards.map(|(at, _)| rows.len() + at)
}

/// The properties of that row.
pub(super) fn encode<E: TableEntity>(
    entity: &E,
    index: usize,
) -> Result<PropertiesWriter, PropertyError> {
    let mut out = PropertiesWriter::new(E::NAME);
    entity.encode_properties(index, &mut out)?;
    check_references::<E>(&out)?;
    mark::<E>(&mut out)?;
    Ok(out)
}

/// Checks that only fields with `overflow` refer to rows of their own.
pub(crate) fn check_references<E: TableEntity>(
    properties: &PropertiesWriter,
) -> Result<(), PropertyError> {
    only_references(properties, E::OVERFLOW)
}

fn only_references(properties: &PropertiesWriter, overflow: &[&str]) -> Result<(), PropertyError> {
    match properties.references().find(|name| !overflow.contains(name)) {
        Some(name) => Err(properties.error(name, PropertyFault::NotOverflowing)),
        None => Ok(()),
    }
}

/// The PartitionKey of an entity.
pub(crate) fn partition_key<E: TableEntity>(entity: &E) -> Result<String, KeyError> {
    let mut key = KeyText::new(E::NAME, E::ESCAPE);
    key.literal(E::PARTITION_KEY.start);
    entity.encode_partition_key(&mut key)?;
    key.finish()
}

/// The RowKey of that row, the first one if the entity has several; `None` where it has none.
pub(crate) fn row_key<E: TableEntity>(
    entity: &E,
    index: usize,
) -> Result<Option<String>, KeyError> {
    element_key(entity, index, 0)
}

/// The indices of elements that may have a row of that kind: of each, or one for a row of the entity. The first without
/// a row ends them.
pub(super) fn elements<E: TableEntity>(index: usize) -> Range<usize> {
    let each = template_at::<E>(index).is_some_and(|template| template.each.is_some());
    0..if each { usize::MAX } else { 1 }
}

/// The RowKey of that row for the element with that index. A row that is not written for each element has
/// the same for all.
pub(super) fn element_key<E: TableEntity>(
    entity: &E,
    index: usize,
    element: usize,
) -> Result<Option<String>, KeyError> {
    let mut key = KeyText::new(E::NAME, E::ESCAPE).for_element(element);
    let template = template_at::<E>(index);
    key.literal(start_of(template.as_ref()));
    match entity.encode_row_key(index, &mut key) {
        Ok(true) => taken_key(E::NAME, template.as_ref(), key, E::ESCAPE),
        Ok(false) => Ok(None),
        Err(error) => Err(error),
    }
}

const fn start_of(template: Option<&RowTemplate>) -> &'static str {
    match template {
        Some(template) => template.start,
        None => "",
    }
}

/// The key, which its template takes. Reads take a row only when its key reads back: what is written must.
fn taken_key(
    entity: &'static str,
    template: Option<&RowTemplate>,
    key: KeyText,
    escape: Escape,
) -> Result<Option<String>, KeyError> {
    let value = key.finish()?;
    if template.is_none_or(|template| template.takes(&value, escape)) {
        return Ok(Some(value));
    }
    let start = start_of(template);
    let reserved = reserved_start(&value).filter(|reserved| !start.starts_with(reserved));
    let fault = reserved.map_or(KeyFault::Undecodable, KeyFault::Reserved);
    Err(KeyError { entity, component: "", value, fault })
}

/// Writes the property that marks the rows of a type with a `kind`.
pub(crate) fn mark<E: TableEntity>(out: &mut PropertiesWriter) -> Result<(), PropertyError> {
    E::KIND.map_or(Ok(()), |kind| out.property(KIND, &kind.to_owned()))
}

/// A row's JSON object: its keys, then its properties.
pub(crate) fn body(
    partition_key: &str,
    row_key: &str,
    properties: &PropertiesWriter,
) -> Result<Bytes, PropertyError> {
    properties.check(order::len(partition_key) + order::len(row_key))?;
    let properties = properties.members();
    // Exact, unless JSON escapes a key: `Bytes` takes over a full `Vec` without a copy.
    let size = KEYS_FRAME + 1 + partition_key.len() + row_key.len() + properties.len();
    let mut json = Vec::with_capacity(size);
    write_keys(&mut json, partition_key, row_key);
    json.extend_from_slice(properties);
    json.push(b'}');
    Ok(json.into())
}
