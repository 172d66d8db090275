//! The rows that a stored row implies.

use super::finding::Problem;
use crate::entity::{
    CopyKind, DynamicEntity, EntityRow, EntityRows, GuardTemplate, TableEntity, canonical, read_row,
};
use crate::model::Edm;

/// The rows that follow from the canonical row of a key, including itself. Fails with the problem of that
/// row.
pub(crate) fn expected_rows<E: TableEntity>(
    partition_key: &str,
    row_key: &str,
    body: &[u8],
) -> Result<EntityRows, Problem> {
    let entity = read_row::<E>(canonical::<E>(), body)
        .map_err(|error| Problem::Unreadable { reason: error.to_string() })?;
    let rows = EntityRows::of(&entity)
        .map_err(|error| Problem::Unwritable { reason: error.to_string() })?;
    if rows.stands_at(canonical::<E>(), partition_key, row_key) {
        return Ok(rows);
    }
    let made = rows.canonical().map(|row| row.row_key.clone());
    let row_key = made.unwrap_or_default();
    Err(Problem::KeyMismatch { partition_key: rows.partition_key, row_key })
}

/// The rows beside the canonical one.
pub(crate) fn index_rows<E: TableEntity>(rows: EntityRows) -> impl Iterator<Item = EntityRow> {
    rows.rows.into_iter().filter(|row| row.index != canonical::<E>())
}

/// The RowKey of the canonical row that a full copy or a guard row belongs to, from its own properties.
/// `None` when they do not determine it: the row is a partial copy, or its properties make another key.
pub(crate) fn own_canonical<E: TableEntity>(
    index: usize,
    partition_key: &str,
    row_key: &str,
    body: &[u8],
) -> Option<String> {
    if index >= E::ROWS.len() {
        return reference(body);
    }
    E::ROWS.get(index).filter(|template| template.copy == CopyKind::Full)?;
    let entity = read_row::<E>(index, body).ok()?;
    let rows = EntityRows::of(&entity).ok()?;
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
