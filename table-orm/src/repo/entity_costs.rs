//! What calls write for each entity that they find, at least and at most.
//!
//! Invariant: the bounds hold where the rows of an entity are in step.

use crate::entity::{TableEntity, has_element_rows, reaches_across};
use crate::eventual::cost_after_delete;
use crate::model::MAX_TRANSACTION_OPERATIONS;
use crate::plan::{Bounds, Cost, PlacedCost, TableClient, guards_beside};

/// A delete of the entity.
pub(super) fn deleting<E: TableEntity>(client: &TableClient) -> PlacedCost {
    if !(E::SUM_NAMES.is_empty() && E::OUTBOX.is_none() && E::OVERFLOW.is_empty()) {
        return PlacedCost::UNBOUNDED;
    }
    let own = if reaches_across::<E>() {
        // An intent is among its operations.
        Cost::writes(Bounds::up_to(1), Bounds::between(1, rows::<E>() + 1))
    } else {
        Cost::deletes(Bounds::up_to(1), Bounds::between(1, rows::<E>()))
    };
    PlacedCost::home(own) + cost_after_delete::<E>(client)
}

/// Inserts of its index rows, or of one kind of them. Where one of them exists, the rows of the entity are read, and
/// a second transaction inserts those that are missing.
pub(super) fn backfilling<E: TableEntity>(only: bool) -> Cost {
    if reaches_across::<E>() {
        return Cost::UNBOUNDED;
    }
    // Each transaction checks the canonical row.
    let operations = if only { rows::<E>().min(2) } else { rows::<E>() };
    let reads = Cost::point_queries(Bounds::up_to(rows::<E>()));
    reads + Cost::writes(Bounds::up_to(2), Bounds::up_to(2 * operations))
}

/// Replacements of those of its rows that have another form. The index rows are read for this.
pub(super) fn rewriting<E: TableEntity>() -> Cost {
    if reaches_across::<E>() {
        return Cost::UNBOUNDED;
    }
    let reads = Cost::point_queries(Bounds::up_to(rows::<E>() - 1));
    reads + Cost::writes(Bounds::up_to(1), Bounds::up_to(rows::<E>()))
}

/// A delete of the row.
pub(super) fn dropping() -> Cost {
    Cost::deletes(Bounds::up_to(1), Bounds::up_to(1))
}

/// The most rows of an entity in its partition: what one transaction takes, where a field decides how many there are.
fn rows<E: TableEntity>() -> u64 {
    if has_element_rows::<E>() {
        MAX_TRANSACTION_OPERATIONS as u64
    } else {
        (E::ROWS.len() + guards_beside(E::GUARDS)).max(1) as u64
    }
}
