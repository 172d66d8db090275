//! The operations that bring an entity's rows from one state to another.
//!
//! Invariant: whatever the operations, the rows afterwards are exactly those of the new entity,
//! and the canonical row's ETag is asked for whenever anything is written.

use crate::entity::ETag;
use crate::row::{EntityRow, EntityRows};
use crate::store::{Action, IfMatch, Operation, Transaction};
use bytes::Bytes;

/// Every row inserted: none of them may exist.
pub(crate) fn insert_all(rows: EntityRows) -> Transaction {
    all(rows, Action::Insert)
}

/// Every row inserted or replaced. Right only where the row keys follow from the canonical key.
pub(crate) fn upsert_all(rows: EntityRows) -> Transaction {
    all(rows, Action::InsertOrReplace)
}

/// Every row replaced, whatever its version. Right only where the row keys follow from the
/// canonical key.
pub(crate) fn replace_all(rows: EntityRows) -> Transaction {
    all(rows, |body| Action::Replace(body, IfMatch::Any))
}

/// Every row deleted; the canonical row only in the given version.
pub(crate) fn delete_all(rows: EntityRows, canonical: usize, guard: &IfMatch) -> Transaction {
    let operation = |row: EntityRow| {
        let condition = if row.index == canonical { guard.clone() } else { IfMatch::Any };
        Operation { row_key: row.row_key, action: Action::Delete(condition) }
    };
    Transaction {
        partition_key: rows.partition_key,
        operations: rows.rows.into_iter().map(operation).collect(),
    }
}

fn all(rows: EntityRows, action: impl Fn(Bytes) -> Action) -> Transaction {
    let operation = |row: EntityRow| Operation { row_key: row.row_key, action: action(row.body) };
    Transaction {
        partition_key: rows.partition_key,
        operations: rows.rows.into_iter().map(operation).collect(),
    }
}

/// From the stored rows to the new ones; no operations when nothing differs. Both are rows of one
/// partition.
pub(crate) fn changes(
    stored: &EntityRows,
    new: &EntityRows,
    canonical: usize,
    etag: &ETag,
) -> Transaction {
    let mut operations = Vec::new();
    if stored != new {
        let templates = stored.rows.iter().chain(&new.rows).map(|row| row.index + 1).max();
        for index in 0..templates.unwrap_or(0) {
            let guard = (index == canonical).then(|| IfMatch::ETag(etag.clone()));
            row_changes(stored.row(index), new.row(index), guard, &mut operations);
        }
    }
    Transaction { partition_key: new.partition_key.clone(), operations }
}

/// `guard` is the condition of the canonical row, which is written even when it stays the same so
/// that its version is checked.
fn row_changes(
    stored: Option<&EntityRow>,
    new: Option<&EntityRow>,
    guard: Option<IfMatch>,
    operations: &mut Vec<Operation>,
) {
    let mut push = |row: &EntityRow, action| {
        operations.push(Operation { row_key: row.row_key.clone(), action });
    };
    match (stored, new) {
        (Some(stored), Some(new)) if stored.row_key == new.row_key => match guard {
            Some(guard) => push(new, Action::Replace(new.body.clone(), guard)),
            None if stored.body == new.body => {}
            None => push(new, Action::InsertOrReplace(new.body.clone())),
        },
        (stored, new) => {
            if let Some(stored) = stored {
                push(stored, Action::Delete(guard.unwrap_or(IfMatch::Any)));
            }
            if let Some(new) = new {
                push(new, Action::Insert(new.body.clone()));
            }
        }
    }
}
