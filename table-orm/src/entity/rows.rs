//! An entity as the rows that store it.

use super::template::template_at;
use crate::codec::{KEYS_FRAME, write_keys};
use crate::entity::{CopyKind, GuardTemplate, Row, TableEntity};
use crate::key::{KeyError, KeyFault, KeyText};
use crate::model::{KIND, order, reserved_start};
use crate::property::{PropertiesWriter, PropertyError};
use bytes::Bytes;

/// A value that the service would reject. Nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Invalid {
    /// A key cannot hold a value.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// No property can store a value.
    #[error(transparent)]
    Property(#[from] PropertyError),
}

/// One row of an entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityRow {
    /// Which of the entity's key templates it is written from: one of
    /// [`ROWS`](TableEntity::ROWS), or behind them one of [`GUARDS`](TableEntity::GUARDS).
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
    /// sparse rows may be absent. A transaction fails at its first rejected operation, so this is
    /// also the order in which an insert reports rejections.
    pub rows: Vec<EntityRow>,
}

impl EntityRows {
    /// The rows that store the entity.
    ///
    /// # Errors
    /// When the service would reject a key or a property: [`Invalid`].
    pub fn of<E: TableEntity>(entity: &E) -> Result<Self, Invalid> {
        let partition_key = partition_key(entity)?;
        let mut full = None;
        let mut rows = Vec::with_capacity(E::ROWS.len() + E::GUARDS.len());
        for (index, template) in E::ROWS.iter().enumerate() {
            let Some(row_key) = row_key(entity, index)? else { continue };
            let body = match (template.copy, &full) {
                (CopyKind::Full, Some(properties)) => body(&partition_key, &row_key, properties)?,
                (copy, _) => {
                    let mut out = PropertiesWriter::new(E::NAME);
                    entity.encode_properties(index, &mut out)?;
                    mark::<E>(&mut out)?;
                    let body = body(&partition_key, &row_key, &out)?;
                    if copy == CopyKind::Full {
                        full = Some(out);
                    }
                    body
                }
            };
            rows.push(EntityRow { index, row_key, body });
        }
        let mut rows = Self { partition_key, rows };
        rows.add_guards(entity)?;
        let canonical = <E::Canonical as Row>::INDEX;
        rows.rows.sort_by_key(|row| (row.index != canonical, row.index < E::ROWS.len()));
        Ok(rows)
    }

    /// The guard rows, each with the key of the canonical row alone.
    fn add_guards<E: TableEntity>(&mut self, entity: &E) -> Result<(), Invalid> {
        for index in E::ROWS.len()..E::ROWS.len() + E::GUARDS.len() {
            let Some(row_key) = row_key(entity, index)? else { continue };
            let canonical = self.row(<E::Canonical as Row>::INDEX);
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

    /// Whether the row written from the template `index` has that key.
    pub(crate) fn stands_at(&self, index: usize, partition_key: &str, row_key: &str) -> bool {
        self.partition_key == partition_key
            && self.row(index).is_some_and(|row| row.row_key == row_key)
    }

    /// The row written from the template `index`.
    #[must_use]
    pub fn row(&self, index: usize) -> Option<&EntityRow> {
        self.rows.iter().find(|row| row.index == index)
    }
}

/// The PartitionKey of an entity.
pub(crate) fn partition_key<E: TableEntity>(entity: &E) -> Result<String, KeyError> {
    let mut key = KeyText::new(E::NAME, E::ESCAPE);
    key.literal(E::PARTITION_KEY.start);
    entity.encode_partition_key(&mut key)?;
    key.finish()
}

/// The RowKey of that row; `None` where the entity does not have it.
pub(crate) fn row_key<E: TableEntity>(
    entity: &E,
    index: usize,
) -> Result<Option<String>, KeyError> {
    let mut key = KeyText::new(E::NAME, E::ESCAPE);
    let template = template_at::<E>(index);
    let start = template.map_or("", |template| template.start);
    key.literal(start);
    if !entity.encode_row_key(index, &mut key)? {
        return Ok(None);
    }
    let (entity, value) = (E::NAME, key.finish()?);
    // Reads take a row only when its key reads back: what is written must.
    if template.is_none_or(|template| template.takes(&value, E::ESCAPE)) {
        return Ok(Some(value));
    }
    let reserved = reserved_start(&value).filter(|reserved| !start.starts_with(reserved));
    let fault = reserved.map_or(KeyFault::Undecodable, KeyFault::Reserved);
    Err(KeyError { entity, component: "", value, fault })
}

/// Writes the property that tells the rows of a type with a `kind`.
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
