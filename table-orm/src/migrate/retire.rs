//! The end of a migration: the markers go.
//!
//! Invariant: a marker is deleted in the version that was read, and only when its parcel is gone.

use super::migrates::Migrates;
use super::migrating::Migrating;
use super::mover::DEFAULT_PARALLELISM;
use super::old_place::AtOld;
use super::parcel;
use super::verify::head;
use crate::entity::RowHead;
use crate::error::{Error, Result};
use crate::plan::TableClient;
use crate::query::{ScanPermit, Span};
use crate::repo::{CanonicalPages, Deletes};
use futures_core::future::BoxFuture;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use std::fmt;

/// The result of [`Migrating::retire`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use = "it says whether something is left"]
#[non_exhaustive]
pub struct RetireReport {
    /// Markers that were deleted.
    pub markers: u64,
    /// Left-over parcels that were deleted.
    pub parcels: u64,
    /// Old rows of entities, and rows that cannot be read. They stay. If `verify_migrated` was complete before,
    /// these are *strays*: inserts of an old client that took effect late and got no answer. A version that
    /// knows only the new form does not see them. Run the mover again, or delete them.
    pub strays: Vec<RowHead>,
    /// Old rows that stay: the strays, and markers of entities on their way. Run the mover, and look at each.
    pub left: u64,
}

type OnProgress<'a> = Box<dyn FnMut(&RetireReport) + Send + 'a>;

/// The end of a migration: `.await` deletes the markers. [`Migrating::retire`] returns it.
#[must_use = "nothing is deleted until this is awaited"]
pub struct RetireMarkers<'a, E: Migrates> {
    client: Migrating<E>,
    pages: CanonicalPages,
    parallelism: usize,
    progress: Option<OnProgress<'a>>,
}

impl<E: Migrates> fmt::Debug for RetireMarkers<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetireMarkers").field("pages", &self.pages).finish_non_exhaustive()
    }
}

impl<E: Migrates> Migrating<E> {
    /// Deletes the markers, and the parcels that can never be landed. It reads the old table page by page: one request
    /// for each 1000 rows, one for each 100 markers of a partition, and a point read for each marker that names a parcel.
    ///
    /// Call it when no client runs any more that knows the old form, this version included, and `verify_migrated` is
    /// complete: an old client would insert where a marker was.
    ///
    /// It fails with the error of a request that the store rejects. What was deleted by then stays deleted, so call it
    /// again.
    pub fn retire<'a>(&self, permit: &ScanPermit) -> RetireMarkers<'a, E> {
        RetireMarkers {
            pages: CanonicalPages::of_table::<E::Old>(&self.old.client, permit),
            client: self.clone(),
            parallelism: DEFAULT_PARALLELISM,
            progress: None,
        }
    }
}

impl<'a, E: Migrates> RetireMarkers<'a, E> {
    /// Sets the most requests at once; 0 counts as 1. 16 unless set.
    pub fn parallelism(mut self, requests: usize) -> Self {
        self.parallelism = requests.max(1);
        self
    }

    /// Calls `progress` after each page of the old table, with the report so far.
    pub fn on_progress(mut self, progress: impl FnMut(&RetireReport) + Send + 'a) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }

    async fn run(mut self) -> Result<RetireReport> {
        let mut report = RetireReport::default();
        loop {
            let (page, next) = self.pages.read().await?;
            self.delete_markers(&page.body, &mut report).await?;
            if let Some(progress) = &mut self.progress {
                progress(&report);
            }
            let Some(next) = next else { break };
            self.pages.token = Some(next);
        }
        self.client.drop_parcels(&mut report).await?;
        Ok(report)
    }

    /// Deletes the markers of one page.
    async fn delete_markers(&mut self, body: &[u8], report: &mut RetireReport) -> Result<()> {
        let mut markers = Vec::new();
        for row in self.client.old_rows(body)? {
            match row.is {
                Ok(AtOld::Marker(marker)) => markers.push((row.key, row.etag, marker)),
                _ => {
                    report.left += 1;
                    report.strays.push(head(row.key));
                }
            }
        }
        let migrating = &self.client;
        let landed = markers.into_iter().map(|(key, etag, marker)| async move {
            let parcel = migrating.parcel(&marker, &key).await?;
            Ok::<_, Error>(parcel.is_none().then_some((key, etag)))
        });
        // In their order, so that markers of one partition share transactions.
        let landed = stream::iter(landed.collect::<Vec<_>>()).buffered(self.parallelism);
        // A marker is no entity: no total has it, and it has no events.
        let client = TableClient { summed: Vec::new(), ..migrating.old.client.unreported() };
        let mut deletes = Deletes::of(&client);
        for marker in landed.try_collect::<Vec<_>>().await? {
            match marker {
                Some((key, etag)) => deletes.add(key, etag),
                None => report.left += 1,
            }
        }
        report.markers += deletes.send(self.parallelism).await?.rows;
        Ok(())
    }
}

impl<E: Migrates> Migrating<E> {
    /// Deletes the parcels that can never be landed.
    async fn drop_parcels(&self, report: &mut RetireReport) -> Result<()> {
        for parcel in self.parcels_in(Span::All).await? {
            let at = self.origin(&parcel).await?;
            // Its switch may still come, or it counts.
            if at.is_version(&parcel.made_from) || at.names(&parcel.place.row_key) {
                continue;
            }
            parcel::drop(&self.new.client, &parcel.place).await?;
            report.parcels += 1;
        }
        Ok(())
    }
}

impl<'a, E: Migrates> IntoFuture for RetireMarkers<'a, E> {
    type Output = Result<RetireReport>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
