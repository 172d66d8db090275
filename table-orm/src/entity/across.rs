//! What an entity has in other partitions: values that are unique over all of them, and work for its writes.

use super::rows::{guards, row_key};
use super::sum::has_sum_copies;
use super::{GuardTemplate, TableEntity};
use crate::key::KeyError;

/// The PartitionKeys of the guard rows of an entity's `unique(.., across)`, with their templates.
pub(crate) fn across_keys<E: TableEntity>(
    entity: &E,
) -> Result<Vec<(&'static GuardTemplate, String)>, KeyError> {
    let mut keys = Vec::new();
    for index in guards(E::ROWS, E::GUARDS, true) {
        if let Some(key) = row_key(entity, index)? {
            keys.push((&E::GUARDS[index - E::ROWS.len()], key));
        }
    }
    Ok(keys)
}

/// Whether the type has values that are unique over all partitions.
pub(crate) const fn has_across<E: TableEntity>() -> bool {
    any_across(E::GUARDS)
}

/// Whether one of the guards is of a value that is unique over all partitions.
pub(super) const fn any_across(guards: &[GuardTemplate]) -> bool {
    let mut at = 0;
    while at < guards.len() {
        if guards[at].across {
            return true;
        }
        at += 1;
    }
    false
}

/// Whether all that a write of an entity touches is in its partition. Known to the compiler, which then builds nothing
/// for other partitions.
pub(crate) const fn stays_in_partition<E: TableEntity>() -> bool {
    E::EVENTUAL.is_empty() && !E::HAS_SUMS && !has_across::<E>()
}

/// Whether a write of an entity has work outside its partition: rows that follow it, copies of totals, or values
/// that are unique over all partitions.
pub(crate) fn reaches_across<E: TableEntity>() -> bool {
    has_eventual_rows::<E>() || has_across::<E>()
}

/// Whether a write of an entity may change rows in other partitions.
pub(crate) fn has_eventual_rows<E: TableEntity>() -> bool {
    !E::EVENTUAL.is_empty() || has_sum_copies::<E>()
}
