//! The rows of an entity outside its own partition: in another partition or table.
//!
//! Invariant: they follow from the entity and its table alone. So the canonical row, as it is stored, says which
//! of them there should be, and what each should hold. A row in a table of its own says which table its entity is
//! in: [`HOME_TABLE`], or without it the type's own.

use super::query::canonical;
use super::rows::{body, element_key, elements, encode, partition_key};
use super::template::{eventual_at, first_eventual, has_own_table, template_at};
use super::{CopyKind, EventualTemplate, InvalidEntity, TableEntity};
use crate::key::{KeyError, KeyText, StoredKeys};
use crate::model::{HOME_TABLE, TableName};
use crate::property::{PropertiesWriter, PropertyError};
use bytes::Bytes;
use std::collections::HashSet;
use std::marker::PhantomData;

/// A row of one entity in another partition or table.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventualRow {
    /// Which of the entity's templates it is written from: after those of
    /// [`ROWS`](TableEntity::ROWS) and [`GUARDS`](TableEntity::GUARDS), one of
    /// [`EVENTUAL`](TableEntity::EVENTUAL).
    pub index: usize,
    /// Its table; `None` for the table of the entity.
    pub table: Option<&'static str>,
    /// Its PartitionKey.
    pub partition_key: String,
    /// Its RowKey.
    pub row_key: String,
    /// Its JSON object, keys included.
    pub body: Bytes,
}

/// The rows of an entity in other partitions and tables, in the order of their templates. Sparse rows
/// may be absent. The entity is in the table of its type.
///
/// # Errors
/// When the service would reject a key or a property: [`InvalidEntity`].
pub fn eventual_rows<E: TableEntity>(entity: &E) -> Result<Vec<EventualRow>, InvalidEntity> {
    rows_of(entity, None)
}

/// The rows of an entity in the table `home`, in other partitions and tables.
pub(crate) fn eventual_rows_from<E: TableEntity>(
    home: &TableName,
    entity: &E,
) -> Result<Vec<EventualRow>, InvalidEntity> {
    let is_its_own = home.as_str().eq_ignore_ascii_case(E::TABLE);
    rows_of(entity, (!is_its_own).then_some(home))
}

/// Whether a row written from the template at that index is of an entity in the table `home`. A row in the table of
/// its entity is.
pub(crate) fn is_of_table<E: TableEntity>(
    index: usize,
    home: &TableName,
    stated: Option<&str>,
) -> bool {
    !has_own_table::<E>(index) || home.as_str().eq_ignore_ascii_case(stated.unwrap_or(E::TABLE))
}

/// The rows of an entity. Those in a table of their own have the name of the `home` table, if it is given.
fn rows_of<E: TableEntity>(
    entity: &E,
    home: Option<&TableName>,
) -> Result<Vec<EventualRow>, InvalidEntity> {
    // Without the name, and with it.
    let mut full = [None, None];
    let mut rows = Vec::new();
    for (at, template) in E::EVENTUAL.iter().enumerate() {
        let index = first_eventual::<E>() + at;
        let (mut partial, mut taken) = (None, HashSet::new());
        let home = home.filter(|_| template.table.is_some());
        for keys in keys_of_rows(entity, index) {
            let (partition_key, row_key) = keys?;
            if template.row.each.is_some()
                && !taken.insert((partition_key.clone(), row_key.clone()))
            {
                continue;
            }
            let properties = match template.row.copy {
                CopyKind::Full => &mut full[usize::from(home.is_some())],
                CopyKind::Partial => &mut partial,
            };
            let properties = match properties {
                Some(properties) => properties,
                None => properties.insert(encode_in(home, entity, index)?),
            };
            let body = body(&partition_key, &row_key, properties)?;
            rows.push(EventualRow { index, table: template.table, partition_key, row_key, body });
        }
    }
    Ok(rows)
}

fn encode_in<E: TableEntity>(
    home: Option<&TableName>,
    entity: &E,
    index: usize,
) -> Result<PropertiesWriter, PropertyError> {
    let mut properties = encode(entity, index)?;
    if let Some(home) = home {
        // Names of tables have no case.
        properties.property(HOME_TABLE, &home.as_str().to_ascii_lowercase())?;
    }
    Ok(properties)
}

/// The keys of the entity's rows of one kind: none where the entity does not have the row, several where it
/// is written for each element of a field. Either key may name the element.
pub(crate) fn keys_of_rows<E: TableEntity>(
    entity: &E,
    index: usize,
) -> impl Iterator<Item = Result<(String, String), KeyError>> {
    elements::<E>(index).map_while(move |element| keys_of(entity, index, element).transpose())
}

/// The keys of the row for that element; `None` where the entity does not have it.
fn keys_of<E: TableEntity>(
    entity: &E,
    index: usize,
    element: usize,
) -> Result<Option<(String, String)>, KeyError> {
    let Some(row_key) = element_key(entity, index, element)? else { return Ok(None) };
    let partition_key = match eventual_at::<E>(index) {
        Some(template) => eventual_partition_key(entity, index, element, template)?,
        None => Some(partition_key(entity)?),
    };
    Ok(partition_key.map(|partition_key| (partition_key, row_key)))
}

fn eventual_partition_key<E: TableEntity>(
    entity: &E,
    index: usize,
    element: usize,
    template: &EventualTemplate,
) -> Result<Option<String>, KeyError> {
    let mut key = KeyText::new(E::NAME, E::ESCAPE).for_element(element);
    key.literal(template.partition_key.start);
    let written = entity.encode_eventual_partition_key(index, &mut key)?;
    if written { key.finish().map(Some) } else { Ok(None) }
}

/// The PartitionKey and the RowKey of the canonical row of the entity, from the keys of its row at an
/// index; `None` where these are no keys of such a row.
pub(crate) fn home_key<E: TableEntity>(
    index: usize,
    partition_key: &str,
    row_key: &str,
) -> Option<(String, String)> {
    let template = eventual_at::<E>(index)?;
    if !template.row.takes(row_key, E::ESCAPE)
        || !template.partition_key.takes(partition_key, E::ESCAPE)
    {
        return None;
    }
    let keys = StoredKeys { row: index, partition_key, row_key, entity: PhantomData };
    let mut partition = KeyText::new(E::NAME, E::ESCAPE);
    partition.literal(E::PARTITION_KEY.start);
    let mut key = KeyText::new(E::NAME, E::ESCAPE);
    key.literal(template_at::<E>(canonical::<E>())?.start);
    let written = E::encode_home_key(index, &keys, &mut partition, &mut key).ok()?;
    if written { Some((partition.finish().ok()?, key.finish().ok()?)) } else { None }
}
