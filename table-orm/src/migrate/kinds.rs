//! A kind of row in other partitions, in both forms of an entity.
//!
//! Invariant: where an entity has a row of the new form, it has one of the old form in a partition, and under a key, where
//! a list looks for it.

use super::canonical::{canonical_key, shown};
use super::determined_key::write;
use super::migrates::Migrates;
use super::old_key::partitions_of;
use super::sorted::sort_alike;
use crate::entity::{
    EntityRows, EventualTemplate, TableEntity as _, eventual_at, eventual_rows, first_eventual,
};
use crate::error::{MigrationError, Result};

/// The templates of such a row.
pub(super) struct Kinds {
    pub new: &'static EventualTemplate,
    pub old: &'static EventualTemplate,
    /// Where the old one is among the templates of its type.
    pub old_index: usize,
    /// Whether their keys sort alike.
    pub is_sorted: bool,
}

impl Kinds {
    /// Those of the new row at an index. `None` for a row in the entity's own partition.
    pub fn of<E: Migrates>(index: usize) -> Option<Self> {
        let new = eventual_at::<E>(index)?;
        let at = E::Old::EVENTUAL.iter().position(|old| old.row.name == new.row.name)?;
        let old = &E::Old::EVENTUAL[at];
        let is_one = new.row.each.is_none() && old.row.each.is_none();
        let is_sorted = is_one && sort_alike(&new.row.template(), &old.row.template());
        Some(Self { new, old, old_index: first_eventual::<E::Old>() + at, is_sorted })
    }

    /// The old partitions of the rows of a new one; `None` where they may be in any partition.
    pub fn old_partitions<E: Migrates>(&self, new: &str) -> Option<Vec<String>> {
        partitions_of((&self.new.partition_key, &self.old.partition_key), E::ESCAPE, new)
    }

    /// The old RowKey that a new key determines; `None` where it determines none.
    pub fn old_row_key<E: Migrates>(&self, new: &str, row_key: &str) -> Option<String> {
        let keys = [(self.new.partition_key, new), (self.new.row.template(), row_key)];
        write(&self.old.row.template(), &keys, E::ESCAPE)
    }
}

/// Fails unless the old form of an entity has a row where a list looks for each row of its new form.
pub(super) fn check_kinds<E: Migrates>(
    entity: &E,
    old: impl FnOnce() -> Result<E::Old>,
    rows: &EntityRows,
) -> Result<()> {
    if E::EVENTUAL.is_empty() {
        return Ok(());
    }
    let old_rows = eventual_rows(&old()?)?;
    for new in eventual_rows(entity)? {
        let Some(kinds) = Kinds::of::<E>(new.index) else { continue };
        let Some(partitions) = kinds.old_partitions::<E>(&new.partition_key) else { continue };
        let row_key = kinds.old_row_key::<E>(&new.partition_key, &new.row_key);
        let row_key = row_key.filter(|_| kinds.is_sorted);
        let is_found = old_rows.iter().any(|old| {
            old.index == kinds.old_index
                && partitions.contains(&old.partition_key)
                && row_key.as_ref().is_none_or(|row_key| *row_key == old.row_key)
        });
        if !is_found {
            let (entity, row, new) = (E::NAME, kinds.new.row.name, shown(&canonical_key(rows)));
            return Err(MigrationError::EventualRowDiffers { entity, row, new }.into());
        }
    }
    Ok(())
}
