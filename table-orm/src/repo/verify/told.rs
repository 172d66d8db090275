//! What a stored row tells of other rows.

use super::finding::Problem;
use super::templates::canonical;
use crate::entity::{CopyKind, TableEntity};
use crate::row::{EntityRow, EntityRows, read_row};

/// The rows that the canonical row of that key tells of, itself among them.
pub(in crate::repo) fn told_rows<E: TableEntity>(
    partition_key: &str,
    row_key: &str,
    body: &[u8],
) -> Result<EntityRows, Problem> {
    let unreadable = |reason: String| Problem::Unreadable { reason };
    let entity = read_row::<E>(canonical::<E>(), body).map_err(|e| unreadable(e.to_string()))?;
    let rows = EntityRows::of(&entity).map_err(|error| unreadable(error.to_string()))?;
    match rows.row(canonical::<E>()) {
        Some(row) if row.row_key == row_key && rows.partition_key == partition_key => Ok(rows),
        row => Err(Problem::Misplaced {
            row_key: row.map(|row| row.row_key.clone()).unwrap_or_default(),
            partition_key: rows.partition_key,
        }),
    }
}

/// The rows beside the canonical one.
pub(in crate::repo) fn index_rows<E: TableEntity>(
    rows: EntityRows,
) -> impl Iterator<Item = EntityRow> {
    rows.rows.into_iter().filter(|row| row.index != canonical::<E>())
}

/// The RowKey of the canonical row that a full copy belongs to, by its own properties; `None` where
/// they do not tell: the row is a partial copy, or does not stand under the key they tell.
pub(in crate::repo) fn own_canonical<E: TableEntity>(
    index: usize,
    partition_key: &str,
    row_key: &str,
    body: &[u8],
) -> Option<String> {
    E::ROWS.get(index).filter(|template| template.copy == CopyKind::Full)?;
    let entity = read_row::<E>(index, body).ok()?;
    let rows = EntityRows::of(&entity).ok()?;
    rows.row(index).filter(|row| row.row_key == row_key && rows.partition_key == partition_key)?;
    rows.row(canonical::<E>()).map(|row| row.row_key.clone())
}
