//! What is left of the old form.

use super::located::Located;
use super::migrates::Migrates;
use super::migrating::Migrating;
use super::old_key::old_key;
use super::old_place::{AtOld, OldEntity};
use crate::entity::RowHead;
use crate::error::Result;
use crate::plan::CanonicalKey;
use crate::query::{ScanPermit, Span};

/// What is left of the old form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use = "it says whether the migration has ended"]
#[non_exhaustive]
pub struct VerifyMigrated {
    /// The old rows of entities that have not moved, with those that cannot be read. After an earlier report was complete,
    /// these are *strays*: an insert of an old client, which nobody saw answered, came late.
    pub unmoved: Vec<RowHead>,
    /// Parcels of entities on their way. A mover lands each, unless another row has the new key: then its report names
    /// the entity.
    pub in_transit: Vec<RowHead>,
    /// Parcels that can never be landed, or whose old row is still there. A mover deletes them.
    pub left_over: Vec<RowHead>,
    /// Old rows of entities that have a new row too. The new one counts; another program made one of the two.
    pub twice: Vec<RowHead>,
    /// What has to be settled of writes of entities in their old form: their rows in other partitions may differ, or values
    /// of `unique(.., across)` may be reserved that nobody has.
    /// [`Migrating::settle`] settles it.
    pub unsettled: Vec<RowHead>,
    /// Markers, which [`Migrating::retire`] deletes.
    pub markers: u64,
}

impl VerifyMigrated {
    /// Whether every entity is in its new form, and nothing of the old form is left to settle. That is final when no
    /// client inserts the old form any more.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.unmoved.is_empty()
            && self.in_transit.is_empty()
            && self.twice.is_empty()
            && self.unsettled.is_empty()
    }
}

impl<E: Migrates> Migrating<E> {
    /// Looks for entities in their old form, for parcels, and for what has to be settled of the old form. Reads all of
    /// these rows, and writes nothing.
    ///
    /// # Errors
    /// When the store rejects a request, a parcel cannot be read, or a marker names another table: the table is a copy,
    /// made during a migration.
    pub async fn verify_migrated(&self, _permit: &ScanPermit) -> Result<VerifyMigrated> {
        let mut report = VerifyMigrated::default();
        let mut unmoved = Vec::new();
        self.old_pass(Span::All, |row| {
            match row.is {
                Ok(AtOld::Marker(_)) => report.markers += 1,
                Ok(AtOld::Entity(stored)) => {
                    unmoved
                        .push((row.key, OldEntity::<E>::of(&stored).ok().map(|old| old.new_key())));
                }
                _ => unmoved.push((row.key, None)),
            }
            Ok(())
        })
        .await?;
        for (key, new) in unmoved {
            let twice = match new {
                Some(new) => {
                    matches!(self.locate(&new).await?, Located::New(_)) && self.is_old(&new).await?
                }
                None => false,
            };
            let found = if twice { &mut report.twice } else { &mut report.unmoved };
            found.push(head(key));
        }
        let mut parcels = self.parcels(Span::All);
        while let Some(parcel) = parcels.next().await? {
            let living = self.origin(&parcel).await?.names(&parcel.place.row_key);
            let found = if living { &mut report.in_transit } else { &mut report.left_over };
            found.push(head(parcel.place));
        }
        (report.unsettled, _) = self.unsettled().await?;
        Ok(report)
    }

    /// Whether the old row of an entity is there now: it may have moved since the page was read.
    async fn is_old(&self, new: &CanonicalKey) -> Result<bool> {
        let Some(old) = old_key::<E>(new) else { return Ok(false) };
        Ok(matches!(AtOld::<E::Old>::read(&self.old.client, &old).await?, AtOld::Entity(_)))
    }
}

pub(super) fn head(key: CanonicalKey) -> RowHead {
    let CanonicalKey { partition_key, row_key } = key;
    RowHead { partition_key, row_key }
}
