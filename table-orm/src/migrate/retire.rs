//! The end of a migration: the markers go.
//!
//! Invariant: a marker is deleted in the version that was read, and only when its parcel is gone.

use super::migrates::Migrates;
use super::migrating::Migrating;
use super::old_place::AtOld;
use super::parcel;
use super::verify::head;
use crate::entity::RowHead;
use crate::error::Result;
use crate::plan::TableClient;
use crate::query::{ScanPermit, Span};
use crate::repo::Deletes;

/// The result of [`Migrating::retire`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use = "it says whether something is left"]
#[non_exhaustive]
pub struct RetireReport {
    /// Markers that were deleted.
    pub markers: u64,
    /// Left-over parcels that were deleted.
    pub parcels: u64,
    /// Old rows of entities, and rows that cannot be read. After `verify_migrated` was complete, these are *strays*: an
    /// insert of an old client, which nobody saw answered, came late. They stay. A version that knows the new form
    /// alone does not see them. Run the mover again, or delete them.
    pub strays: Vec<RowHead>,
    /// Old rows that stay: the strays, and markers of entities on their way. Run the mover, and look at each.
    pub left: u64,
}

impl<E: Migrates> Migrating<E> {
    /// Deletes the markers, and the parcels that can never be landed: one request for each 100 markers of a partition,
    /// and a point read for each marker that names a parcel.
    ///
    /// Call it when no client runs any more that knows the old form, this version included, and `verify_migrated` is
    /// complete: an old client would insert where a marker was.
    ///
    /// # Errors
    /// When the store rejects a request. What was deleted by then stays deleted; call it again.
    pub async fn retire(&self, _permit: &ScanPermit) -> Result<RetireReport> {
        let mut report = RetireReport::default();
        let mut markers = Vec::new();
        self.old_pass(Span::All, |row| {
            match row.is {
                Ok(AtOld::Marker(marker)) => markers.push((row.key, row.etag, marker)),
                _ => report.strays.push(head(row.key)),
            }
            Ok(())
        })
        .await?;
        report.left = report.strays.len() as u64;
        // A marker is no entity: no total has it, and it has no events.
        let client = TableClient { summed: Vec::new(), ..self.old.client.unreported() };
        let mut deletes = Deletes::of(&client);
        for (key, etag, marker) in markers {
            if self.parcel(&marker, &key).await?.is_some() {
                report.left += 1;
            } else {
                deletes.add(key, etag);
            }
        }
        report.markers = deletes.send(1).await?.rows;
        for parcel in self.parcels_in(Span::All).await? {
            let at = self.origin(&parcel).await?;
            // Its switch may still come, or it counts.
            if at.is_version(&parcel.made_from) || at.names(&parcel.place.row_key) {
                continue;
            }
            parcel::drop(&self.new.client, &parcel.place).await?;
            report.parcels += 1;
        }
        Ok(report)
    }
}
