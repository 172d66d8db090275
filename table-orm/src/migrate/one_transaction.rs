//! Whether one transaction can move an entity.

use super::compare_types::has_local_guards;
use super::migrates::Migrates;
use super::migrating::Migrating;
use crate::entity::has_element_rows;
use crate::plan::{CanonicalKey, MeasuredBatch, TableClient};
use crate::store::Batch;

impl<E: Migrates> Migrating<E> {
    /// Whether the rows of an entity in both forms may be more than one transaction takes. Then it travels in a parcel,
    /// also within its partition. A value that is unique in it may not: nobody would have it meanwhile.
    pub(super) const fn may_be_many(&self) -> bool {
        let has_guards = has_local_guards::<E>() || has_local_guards::<E::Old>();
        (has_element_rows::<E>() || has_element_rows::<E::Old>()) && !has_guards
    }

    /// Whether one transaction takes these operations, with those for totals and events and that many intents, where
    /// there is another way.
    pub(super) fn takes(&self, client: &TableClient, batch: &Batch, intents: usize) -> bool {
        if !self.may_be_many() {
            return true;
        }
        let MeasuredBatch { bytes, room, most, more, .. } = client.measure(batch.clone());
        batch.operations.len() + more + intents <= most && bytes <= room
    }

    /// Whether the new rows of an entity are in the partition of its old ones.
    pub(super) fn is_together(&self, old: &CanonicalKey, new: &str) -> bool {
        old.partition_key == new && self.old.table().is(self.new.table())
    }
}
