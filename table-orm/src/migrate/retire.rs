//! Ends a migration: deletes the markers.
//!
//! Invariants:
//! - No marker is deleted before a complete read finds every entity in its new form, unless the call says so.
//! - A marker is deleted in the version that was read, and only when its parcel is gone and no guard of a unique value
//!   names the entity by the key under it.

use super::migrates::Migrates;
use super::migrating::Migrating;
use super::mover::DEFAULT_PARALLELISM;
use super::old_place::AtOld;
use super::parcel;
use super::retire_check::{RetirePlan, not_moved};
use super::verify::head;
use crate::entity::RowHead;
use crate::error::{Error, Result};
use crate::plan::TableClient;
use crate::query::ScanPermit;
use crate::repo::{CanonicalPages, Deletes};
use crate::sync::Concurrent;
use futures_core::future::BoxFuture;
use std::fmt;

/// How much [`Migrating::retire`] did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RetireProgress {
    /// Markers that were deleted.
    pub markers: u64,
    /// Left-over parcels that were deleted.
    pub parcels: u64,
    /// Old rows of entities, and rows that cannot be read, that it met as it deleted markers. They stay. If
    /// `verify_migrated` was complete before, these are *strays*: inserts that an old client sent, and that
    /// took effect after it had stopped. A version that knows only the new form does not see them. Run the mover again, or delete them.
    pub strays: Vec<RowHead>,
    /// Old rows that stay: the strays, and markers of entities on their way. Run the mover, and look at each.
    pub left: u64,
}

/// The result of [`Migrating::retire`].
#[derive(Debug, Default)]
#[must_use = "it may hold an error"]
#[non_exhaustive]
pub struct RetireReport {
    /// The progress it made.
    pub progress: RetireProgress,
    /// The error that ended it before the end. What was deleted by then stays deleted, so call it again.
    pub ended: Option<Error>,
}

impl RetireReport {
    /// Returns the progress when the call reached the end.
    ///
    /// # Errors
    /// The error that ended it.
    pub fn all(self) -> Result<RetireProgress> {
        self.ended.map_or(Ok(self.progress), Err)
    }
}

type OnProgress<'a> = Box<dyn FnMut(&RetireProgress) + Send + 'a>;

/// The end of a migration: `.await` deletes the markers. [`Migrating::retire`] returns it.
#[must_use = "nothing is deleted until this is awaited"]
pub struct RetireMarkers<'a, E: Migrates> {
    client: Migrating<E>,
    pages: CanonicalPages,
    parallelism: usize,
    leaves_unmoved: bool,
    progress: Option<OnProgress<'a>>,
}

impl<E: Migrates> fmt::Debug for RetireMarkers<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetireMarkers").field("pages", &self.pages).finish_non_exhaustive()
    }
}

impl<E: Migrates> Migrating<E> {
    /// Deletes the markers, and the parcels that can never be landed.
    ///
    /// First it reads all old rows and all parcels. If an entity is in its old form or on its way, it ends with
    /// [`MigrationError::NotMoved`](crate::migrate::MigrationError::NotMoved) and has deleted nothing. Then it reads the
    /// old rows again and deletes page by page. So it takes two requests for each 1000 old rows, one for each 1000
    /// parcels, one for each parcel, one for each 100 markers of a partition, and a point read for each marker that names
    /// a parcel. With `unique(.., across)`, a marker of an entity that was moved takes a point read of the entity, and for
    /// each of its values a read of the guard, and a write if that names the old key; and it scans the old table for
    /// intents and tickets. [`plan`](RetireMarkers::plan) counts them.
    ///
    /// Call it when no client runs any more that knows the old form, this version included, and `verify_migrated` is
    /// complete: an old client would insert where a marker was. It cannot see whether such a client runs. An entity that
    /// one of them inserts during the call ends it, too, unless its key is in a part that was read before.
    ///
    /// ```
    /// # use table_orm::migrate::MigrationError;
    /// # use table_orm::{Error, ScanPermit, TableEntity, Tables};
    /// # #[derive(Debug, Clone, TableEntity)]
    /// # #[table(name = "lots", partition = "{hall}", row = "L:{n:03}")]
    /// # struct LotV1 { hall: String, n: u32 }
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "lots2", partition = "{hall}", row = "LOT:{n:08}", migrate_from = LotV1)]
    /// # struct Lot { hall: String, n: u32 }
    /// # impl From<LotV1> for Lot { fn from(LotV1 { hall, n }: LotV1) -> Self { Self { hall, n } } }
    /// # impl From<Lot> for LotV1 { fn from(Lot { hall, n }: Lot) -> Self { Self { hall, n } } }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let old = tables.repo::<LotV1>();
    /// # old.create_table().await?;
    /// # for n in [1, 2] { old.insert(&LotV1 { hall: "a".into(), n }).await?; }
    /// # let lots = tables.migrating::<Lot>()?;
    /// # lots.create_table_if_not_exists().await?;
    /// let permit = ScanPermit::because("the migration has ended");
    /// let early = lots.retire(&permit).await.all();
    /// assert!(matches!(early, Err(Error::Migration(MigrationError::NotMoved { left: 2, .. }))));
    /// lots.migrate(&permit).await.all()?;
    /// assert_eq!(lots.retire(&permit).await.all()?.markers, 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn retire<'a>(&self, permit: &ScanPermit) -> RetireMarkers<'a, E> {
        RetireMarkers {
            pages: CanonicalPages::of_table::<E::Old>(&self.old.client, permit),
            client: self.clone(),
            parallelism: DEFAULT_PARALLELISM,
            leaves_unmoved: false,
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

    /// Deletes the markers of entities that have moved although others have not. Those stay in their old form, where a
    /// client that knows only the new form does not see them, and the report names them. Use it for rows that can never
    /// move, such as those that cannot be read.
    pub const fn leave_unmoved(mut self) -> Self {
        self.leaves_unmoved = true;
        self
    }

    /// Calls `progress` after each page of markers.
    pub fn on_progress(mut self, progress: impl FnMut(&RetireProgress) + Send + 'a) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }

    /// Reads what the check of the call reads, and returns what the call would do. Deletes nothing.
    ///
    /// # Errors
    /// When the store rejects a request, or a marker names another table.
    pub fn plan(&self) -> impl Future<Output = Result<RetirePlan>> + Send + use<E> {
        // What is called for progress cannot be shared with another thread.
        let (client, pages) = (self.client.clone(), self.pages.clone());
        async move { Ok(client.check_left(pages).await?.plan) }
    }

    async fn run(mut self) -> RetireReport {
        let mut report = RetireReport::default();
        if let Err(error) = self.pages(&mut report.progress).await {
            report.ended = Some(error.repeatable());
        }
        report
    }

    async fn pages(&mut self, done: &mut RetireProgress) -> Result<()> {
        let check = self.client.check_left(self.pages.clone()).await?;
        if !self.leaves_unmoved {
            check.is_complete::<E>()?;
        }
        loop {
            let (page, next) = self.pages.read().await?;
            self.delete_markers(&page.body, done).await?;
            if let Some(progress) = &mut self.progress {
                progress(done);
            }
            let Some(next) = next else { break };
            self.pages.token = Some(next);
        }
        for place in check.left_over {
            parcel::drop(&self.client.new.client, &place).await?;
            done.parcels += 1;
        }
        Ok(())
    }

    /// Deletes the markers of one page.
    async fn delete_markers(&mut self, body: &[u8], done: &mut RetireProgress) -> Result<()> {
        let mut markers = Vec::new();
        for row in self.client.old_rows(body)? {
            match row.is {
                Ok(AtOld::Marker(marker)) => markers.push((row.key, row.etag, marker)),
                _ => {
                    done.left += 1;
                    done.strays.push(head(row.key));
                }
            }
        }
        if let (Some(first), false) = (done.strays.first(), self.leaves_unmoved) {
            return Err(not_moved::<E>(done.left, first).into());
        }
        let migrating = &self.client;
        let landed = markers.into_iter().map(|(key, etag, marker)| async move {
            if migrating.parcel(&marker, &key).await?.is_some() {
                return Ok(None);
            }
            migrating.rename_guards(&marker, &key).await?;
            Ok::<_, Error>(Some((key, etag)))
        });
        // In their order, so that markers of one partition share transactions.
        let landed = Concurrent::in_order(landed, self.parallelism);
        // A marker is no entity: no total has it, and it has no events.
        let client = TableClient { summed: Vec::new(), ..migrating.old.client.unreported() };
        let mut deletes = Deletes::of(&client);
        for marker in landed.try_all().await? {
            match marker {
                Some((key, etag)) => deletes.add(key, etag),
                None => done.left += 1,
            }
        }
        done.markers += deletes.send(self.parallelism).await?.rows;
        Ok(())
    }
}

impl<'a, E: Migrates> IntoFuture for RetireMarkers<'a, E> {
    type Output = RetireReport;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
