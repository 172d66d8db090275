//! Which sums can follow entities whose keys change.

use super::compare_types::same_table;
use super::migrates::Migrates;
use crate::entity::{ReadRow as _, Sum, TableEntity as _};
use crate::error::MigrationError;

const COPIED: &str = "its totals have copies in another partition";
const SPREAD: &str = "the two types spread its totals over different numbers of rows";

/// Fails where a total could not follow.
pub(super) fn check_sums<E: Migrates>() -> Result<(), MigrationError> {
    let refuse = |entity, sum, reason| Err(MigrationError::Sum { entity, sum, reason });
    let (new, old) = (E::sums(), E::Old::sums());
    if let Some(sum) = new.iter().find(|sum| sum.is_over_partitions()) {
        return refuse(E::NAME, sum.name(), COPIED);
    }
    if let Some(sum) = old.iter().find(|sum| sum.is_over_partitions()) {
        return refuse(E::Old::NAME, sum.name(), COPIED);
    }
    // Two shards of one row would be two operations on it in one transaction.
    let differs = |sum: &Sum<E>| {
        old.iter()
            .any(|old| old.name() == sum.name() && old.rows_of_a_total() != sum.rows_of_a_total())
    };
    match new.iter().find(|sum| same_table::<E>() && differs(sum)) {
        Some(sum) => refuse(E::NAME, sum.name(), SPREAD),
        None => Ok(()),
    }
}
