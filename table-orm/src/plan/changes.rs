//! The operations that turn the stored rows of an entity into its new rows.
//!
//! Invariants:
//! - After the operations, the stored rows are exactly those of the new entity.
//! - A batch that writes anything checks the ETag of the canonical row.

use crate::entity::{
    EntityRow, EntityRows, GuardTemplate, TableEntity, has_element_rows, reaches_across,
};
use crate::model::{ETag, MAX_TRANSACTION_OPERATIONS};
use crate::store::{Action, Batch, IfMatch, Operation};
use bytes::Bytes;

/// Inserts every row. No row may exist.
pub(crate) fn insert_all(rows: EntityRows) -> Batch {
    all(rows, Action::Insert)
}

/// Inserts or replaces every row. Only for types whose row keys follow from the canonical key.
pub(crate) fn upsert_all(rows: EntityRows) -> Batch {
    all(rows, Action::InsertOrReplace)
}

/// Inserts every row, or sets its given properties. Only for types whose row keys follow from the
/// canonical key.
pub(crate) fn merge_all(rows: EntityRows) -> Batch {
    all(rows, Action::InsertOrMerge)
}

/// Replaces the canonical row if it has the given version. Inserts or replaces every other row, because
/// a row that was added to the type later may not be stored yet. Only for types whose row keys follow
/// from the canonical key.
pub(crate) fn replace_all(rows: EntityRows, canonical: usize, guard: &IfMatch) -> Batch {
    each(rows, |index, body| {
        if index == canonical {
            Action::Replace(body, guard.clone())
        } else {
            Action::InsertOrReplace(body)
        }
    })
}

/// Deletes every row; the canonical row only in the given version.
pub(crate) fn delete_all(rows: EntityRows, canonical: usize, guard: &IfMatch) -> Batch {
    each(rows, |index, _| {
        Action::Delete(if index == canonical { guard.clone() } else { IfMatch::Any })
    })
}

fn all(rows: EntityRows, action: impl Fn(Bytes) -> Action) -> Batch {
    each(rows, |_, body| action(body))
}

fn each(rows: EntityRows, action: impl Fn(usize, Bytes) -> Action) -> Batch {
    let operation =
        |EntityRow { index, row_key, body }| Operation { row_key, action: action(index, body) };
    Batch {
        partition_key: rows.partition_key,
        operations: rows.rows.into_iter().map(operation).collect(),
    }
}

/// What an update does with stored properties that the new row does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UpdateMode {
    /// Removes them.
    Replace,
    /// Keeps them.
    Merge,
    /// Keeps them in the canonical row. Removes them from the others, which were not read and may have former
    /// names of properties.
    MergeCanonical,
}

impl UpdateMode {
    fn over(self, body: Bytes, condition: IfMatch) -> Action {
        match self {
            Self::Replace => Action::Replace(body, condition),
            Self::Merge | Self::MergeCanonical => Action::Merge(body, condition),
        }
    }

    fn over_any(self, body: Bytes) -> Action {
        match self {
            Self::Replace | Self::MergeCanonical => Action::InsertOrReplace(body),
            Self::Merge => Action::InsertOrMerge(body),
        }
    }
}

/// The operations from the stored rows to the new ones, which are in the same partition. Empty when
/// nothing differs. A row is what is stored under its key: of the rows for the elements of a field, those
/// of elements that stay are replaced, and only if they differ.
pub(crate) fn changes(
    stored: &EntityRows,
    new: &EntityRows,
    canonical: usize,
    etag: &ETag,
    mode: UpdateMode,
) -> Batch {
    let partition_key = new.partition_key.clone();
    let mut operations = Vec::new();
    if stored == new {
        return Batch { partition_key, operations };
    }
    let guard = |row: &EntityRow| (row.index == canonical).then(|| IfMatch::ETag(etag.clone()));
    let delete = |row: &EntityRow| Operation {
        row_key: row.row_key.clone(),
        action: Action::Delete(guard(row).unwrap_or(IfMatch::Any)),
    };
    let (mut gone, gone_altogether): (Vec<_>, Vec<_>) = stored
        .rows
        .iter()
        .filter(|row| new.row(&row.row_key).is_none())
        .partition(|row| new.rows.iter().any(|other| other.index == row.index));
    for row in &new.rows {
        // Of one kind of row, those that go come before those that come.
        operations.extend(gone.extract_if(.., |old| old.index == row.index).map(delete));
        let action = action(stored.row(&row.row_key), row, guard(row), mode);
        let row_key = row.row_key.clone();
        operations.extend(action.map(|action| Operation { row_key, action }));
    }
    operations.extend(gone_altogether.into_iter().map(delete));
    Batch { partition_key, operations }
}

/// What is done with one row. `guard` is the condition of the canonical row, which is written even when it
/// stays the same, so that its version is checked.
fn action(
    stored: Option<&EntityRow>,
    new: &EntityRow,
    guard: Option<IfMatch>,
    mode: UpdateMode,
) -> Option<Action> {
    match (stored, guard) {
        (None, _) => Some(Action::Insert(new.body.clone())),
        (Some(_), Some(guard)) => Some(mode.over(new.body.clone(), guard)),
        (Some(stored), None) if stored.body == new.body => None,
        (Some(_), None) => Some(mode.over_any(new.body.clone())),
    }
}

/// The most operations that the changes of one entity have: two for each row, guard row and large value, and those
/// of the intent and the tickets of rows and values in other partitions.
pub(crate) fn most_changes<E: TableEntity>() -> usize {
    if const { has_element_rows::<E>() } {
        return MAX_TRANSACTION_OPERATIONS;
    }
    let others = usize::from(reaches_across::<E>());
    2 * (E::ROWS.len() + guards_beside(E::GUARDS) + E::OVERFLOW.len() + others)
}

/// How many of the guards are in the entity's partition.
pub(crate) fn guards_beside(guards: &[GuardTemplate]) -> usize {
    guards.iter().filter(|guard| !guard.across).count()
}

/// One operation for two of one transaction on the same row: a row that one entity gives up and another
/// takes over is replaced. `None` where one operation cannot do both.
pub(crate) fn combine(one: &Action, other: &Action) -> Option<Action> {
    match (one, other) {
        (Action::Delete(guard), Action::Insert(body))
        | (Action::Insert(body), Action::Delete(guard)) => Some(match guard {
            // Such a row may be absent: an entity stored before its type had the row has none.
            IfMatch::Any => Action::InsertOrReplace(body.clone()),
            guard @ IfMatch::ETag(_) => Action::Replace(body.clone(), guard.clone()),
        }),
        _ => None,
    }
}
