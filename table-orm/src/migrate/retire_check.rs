//! What a migration has left, found before its markers are deleted.
//!
//! Invariant: old rows are read before parcels, so the parcel of each marker that was read is found, or gone for ever.
//! Unless the call leaves what has not moved, no marker is deleted while an intent of the old form is left: it says which
//! entities moved.

use super::migrates::Migrates;
use super::migrating::Migrating;
use super::old_place::AtOld;
use super::verify::head;
use crate::entity::RowHead;
use crate::error::{MigrationError, Result};
use crate::plan::CanonicalKey;
use crate::query::Span;
use crate::repo::{CanonicalPages, Deletes};

/// What [`Migrating::retire`] would do: [`RetireMarkers::plan`](super::RetireMarkers::plan).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetirePlan {
    /// Markers that it would delete.
    pub markers: u64,
    /// Left-over parcels that it would delete.
    pub parcels: u64,
    /// Entities in their old form or on their way, old rows that cannot be read, and intents and tickets of the old form,
    /// which have to be settled. Unless this is 0, it ends with [`MigrationError::NotMoved`] and deletes nothing.
    pub left: u64,
    /// The requests of the whole call, if nobody writes meanwhile: those of its check, of its reads and of its deletes. Each
    /// is one billed transaction. Those for guards of `unique(.., across)` are counted as if each value had a guard that
    /// names the old key.
    pub requests: u64,
}

/// What a check found.
#[derive(Default)]
pub(super) struct RetireCheck {
    pub plan: RetirePlan,
    /// The first of the rows that are left.
    pub first: Option<RowHead>,
    /// Parcels that can never be landed.
    pub left_over: Vec<CanonicalKey>,
}

impl RetireCheck {
    fn leave(&mut self, key: CanonicalKey) {
        self.plan.left += 1;
        self.first.get_or_insert_with(|| head(key));
    }

    /// Fails if an entity is not in its new form.
    pub fn is_complete<E: Migrates>(&self) -> Result<(), MigrationError> {
        match &self.first {
            Some(first) => Err(not_moved::<E>(self.plan.left, first)),
            None => Ok(()),
        }
    }
}

/// The error of entities that are not in their new form.
pub(super) fn not_moved<E: Migrates>(left: u64, first: &RowHead) -> MigrationError {
    let RowHead { partition_key, row_key } = first.clone();
    MigrationError::NotMoved { entity: E::NAME, left, partition_key, row_key }
}

impl<E: Migrates> Migrating<E> {
    /// Looks for what is left: one request for each page of old rows and of parcels, and one for each parcel. Holds one
    /// page in memory.
    pub(super) async fn check_left(&self, mut pages: CanonicalPages) -> Result<RetireCheck> {
        let mut check = RetireCheck::default();
        let (mut old_pages, mut reads, mut deletes) = (0, 0, 0);
        loop {
            let (page, next) = pages.read().await?;
            old_pages += 1;
            let mut markers = Deletes::of(&self.old.client);
            for row in self.old_rows(&page.body)? {
                match row.is {
                    Ok(AtOld::Marker(marker)) => {
                        check.plan.markers += 1;
                        reads += u64::from(marker.parcel.is_some()) + Self::most_renames(&marker);
                        markers.add(row.key, row.etag);
                    }
                    _ => check.leave(row.key),
                }
            }
            deletes += markers.would().requests;
            let Some(next) = next else { break };
            pages.token = Some(next);
        }
        let mut parcels = self.parcels(Span::All);
        while let Some(parcel) = parcels.next().await? {
            reads += 1;
            let at = self.origin(&parcel).await?;
            if at.names(&parcel.place.row_key) {
                check.plan.markers = check.plan.markers.saturating_sub(1);
                check.leave(parcel.old_key);
            } else if !at.is_version(&parcel.made_from) {
                check.left_over.push(parcel.place);
            }
        }
        let (unsettled, intent_pages) = self.unsettled().await?;
        for RowHead { partition_key, row_key } in unsettled {
            check.leave(CanonicalKey { partition_key, row_key });
        }
        check.plan.parcels = check.left_over.len() as u64;
        check.plan.requests =
            2 * old_pages + parcels.requests + intent_pages + reads + deletes + check.plan.parcels;
        Ok(check)
    }
}
