//! The rows that a stored row implies.

use super::finding::Problem;
use crate::codec::rename;
use crate::entity::{
    CopyKind, DynamicEntity, EntityRow, EntityRows, EventualRow, GuardTemplate, read_row,
};
use crate::error::Result;
use crate::model::{Edm, TableName};
use crate::repo::maintenance::MaintainedType;
use bytes::Bytes;
use std::collections::BTreeMap;

/// The rows that follow from the canonical row of a key, including itself. Fails with the problem of that
/// row.
pub(crate) fn expected_rows(
    of: &'static MaintainedType,
    partition_key: &str,
    row_key: &str,
    body: &[u8],
) -> Result<EntityRows, Problem> {
    let rows = (of.entity_rows)(of.canonical, body)
        .map_err(|error| Problem::Unreadable { reason: error.to_string() })?
        .map_err(|error| Problem::Unwritable { reason: error.to_string() })?;
    if rows.stands_at(of.canonical, partition_key, row_key) {
        return Ok(rows);
    }
    let made = rows.canonical().map(|row| row.row_key.clone());
    let row_key = made.unwrap_or_default();
    Err(Problem::KeyMismatch { partition_key: rows.partition_key, row_key })
}

/// A row that a canonical row implies.
#[derive(Debug)]
pub(crate) struct ExpectedRow {
    /// Which of the entity's key templates it is written from.
    pub index: usize,
    pub row_key: String,
    pub body: Bytes,
    /// The canonical row's body.
    canonical: Bytes,
    /// The table of the canonical row, for a row in another partition.
    home: Option<TableName>,
}

impl ExpectedRow {
    /// Whether an entity whose row has these properties instead, its canonical row else, is read as the
    /// expected one.
    pub fn is_read_from(
        &self,
        of: &'static MaintainedType,
        properties: BTreeMap<String, Edm>,
    ) -> bool {
        let is_guard = self.index >= of.rows.len() && of.eventual_at(self.index).is_none();
        !is_guard && self.read_from(of, properties).is_some()
    }

    fn read_from(
        &self,
        of: &'static MaintainedType,
        mut properties: BTreeMap<String, Edm>,
    ) -> Option<()> {
        let own = read_row::<DynamicEntity>(0, &self.body).ok()?.properties;
        let mut whole = read_row::<DynamicEntity>(0, &self.canonical).ok()?;
        rename(&mut whole.properties, of.aliases);
        rename(&mut properties, of.aliases);
        whole.properties.retain(|name, _| !own.contains_key(name));
        whole.properties.extend(properties.into_iter().filter(|(name, _)| own.contains_key(name)));
        let canonical = whole.body().ok()?;
        if let Some(home) = &self.home {
            let rows = (of.eventual_rows)(home, &canonical).ok()?;
            return rows.iter().find(|row| row.body == self.body).map(drop);
        }
        let rows = (of.entity_rows)(of.canonical, &canonical).ok()?.ok()?;
        rows.row(&self.row_key).filter(|row| row.body == self.body).map(drop)
    }
}

/// The rows in other partitions and tables of the entity whose canonical row in the table `home` has that body,
/// each with its table, which is the entity's for `None`, and its PartitionKey.
pub(crate) fn expected_eventual_rows(
    of: &'static MaintainedType,
    home: &TableName,
    body: &[u8],
) -> Result<Vec<(Option<&'static str>, String, ExpectedRow)>> {
    let rows = (of.eventual_rows)(home, body)?;
    let canonical = Bytes::copy_from_slice(body);
    let expected =
        rows.into_iter().map(|EventualRow { index, table, partition_key, row_key, body }| {
            let (canonical, home) = (canonical.clone(), Some(home.clone()));
            (table, partition_key, ExpectedRow { index, row_key, body, canonical, home })
        });
    Ok(expected.collect())
}

/// The rows beside the canonical one.
pub(crate) fn index_rows(
    of: &'static MaintainedType,
    rows: EntityRows,
) -> impl Iterator<Item = ExpectedRow> + use<> {
    let canonical_body = rows.canonical().map(|row| row.body.clone()).unwrap_or_default();
    let canonical = of.canonical;
    let index_rows = rows.rows.into_iter().filter(move |row| row.index != canonical);
    index_rows.map(move |EntityRow { index, row_key, body }| ExpectedRow {
        index,
        row_key,
        body,
        canonical: canonical_body.clone(),
        home: None,
    })
}

/// The RowKey of the canonical row that a full copy or a guard row belongs to, from its own properties.
/// `None` when they do not determine it: the row is a partial copy, or its properties make another key.
pub(crate) fn own_canonical(
    of: &'static MaintainedType,
    index: usize,
    partition_key: &str,
    row_key: &str,
    body: &[u8],
) -> Option<String> {
    if index >= of.rows.len() {
        return reference(body);
    }
    of.rows.get(index).filter(|template| template.copy == CopyKind::Full)?;
    let rows = (of.entity_rows)(index, body).ok()?.ok()?;
    let own = rows.canonical().filter(|_| rows.stands_at(index, partition_key, row_key));
    own.map(|row| row.row_key.clone())
}

/// The canonical row that a guard row names.
fn reference(guard: &[u8]) -> Option<String> {
    let mut guard = read_row::<DynamicEntity>(0, guard).ok()?;
    match guard.properties.remove(GuardTemplate::REFERENCE)? {
        Edm::String(row_key) => Some(row_key),
        _ => None,
    }
}
