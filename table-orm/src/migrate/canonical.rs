//! Canonical keys: of an entity by its rows, and as errors show them.

use crate::entity::EntityRows;
use crate::plan::CanonicalKey;

/// The key of the canonical row.
pub(super) fn canonical_key(rows: &EntityRows) -> CanonicalKey {
    let row_key = rows.canonical().map(|row| row.row_key.clone());
    CanonicalKey { partition_key: rows.partition_key.clone(), row_key: row_key.unwrap_or_default() }
}

/// A key as errors show it.
pub(super) fn shown(key: &CanonicalKey) -> String {
    format!("{:?} / {:?}", key.partition_key, key.row_key)
}
