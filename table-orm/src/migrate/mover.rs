//! The mover: every entity in its old form gets its new one.
//!
//! Invariants:
//! - The token is where the next page of old rows starts, so a mover that stopped can go on there. Starting again
//!   from the beginning is safe, too.
//! - Parcels are read after the last page: all that this mover left are landed or deleted.
//! - The mover of one partition reads them after each page, in the new partitions that the page named: one that resumes
//!   does not know those of earlier pages.

use super::group::{Outcome, Unmoved};
use super::migrates::Migrates;
use super::migrating::Migrating;
use super::old_place::{AtOld, OldEntity};
use super::parcel::{self, Parcel};
use crate::entity::{Loaded, RowOf, WholePartition};
use crate::error::{Error, Result};
use crate::plan::CanonicalKey;
use crate::query::{PageToken, ScanPermit, Span};
use crate::repo::CanonicalPages;
use crate::sync::{Concurrent, Pace};
use futures_core::future::BoxFuture;
use std::collections::BTreeSet;
use std::fmt;
use std::mem;

/// How many entities are moved at once unless set.
pub(super) const DEFAULT_PARALLELISM: usize = 16;

/// The progress of a mover, in whole pages.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct MigrateProgress {
    /// Entities that it moved.
    pub moved: u64,
    /// Where the next page starts, for [`Migrate::resume`]. `None` at the end, and before the first page.
    pub token: Option<PageToken>,
}

/// An entity that could not be moved. Somebody has to correct it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Unmovable {
    /// The PartitionKey of its old row.
    pub partition_key: String,
    /// The RowKey of its old row.
    pub row_key: String,
    /// Why: the row cannot be read, the new key or a property is invalid, the entity is too large, or the new key
    /// is taken.
    pub reason: Error,
}

/// The result of a mover.
#[derive(Debug, Default)]
#[must_use = "it may hold entities that were not moved"]
#[non_exhaustive]
pub struct MigrateReport {
    /// The progress it made.
    pub progress: MigrateProgress,
    /// Entities that could not be moved. They stay in their old form, and calls still find them. If the partition
    /// changes and another row has the new key, the entity stays in its parcel, and calls find the other row.
    pub skipped: Vec<Unmovable>,
    /// The error that ended it before the end. Resume at the token of `progress`, or start from the beginning.
    pub ended: Option<Error>,
}

impl MigrateReport {
    /// Returns the number of moved entities when the mover reached the end and skipped nothing.
    ///
    /// # Errors
    /// The error that ended it, or else the reason why the first entity was skipped.
    pub fn all(self) -> Result<u64> {
        let skipped = self.skipped.into_iter().next().map(|skipped| skipped.reason);
        self.ended.or(skipped).map_or(Ok(self.progress.moved), Err)
    }
}

type OnProgress<'a> = Box<dyn FnMut(&MigrateProgress) + Send + 'a>;

/// A mover: `.await` runs it, [`plan`](Self::plan) is a dry run. Any number of movers may run at once.
#[must_use = "nothing is moved until this is awaited"]
pub struct Migrate<'a, E: Migrates> {
    pub(super) client: Migrating<E>,
    pub(super) pages: CanonicalPages,
    /// The new partitions whose parcels are read at the end; `None` for all.
    partitions: Option<BTreeSet<String>>,
    pub(super) in_bulk: bool,
    pub(super) parallelism: usize,
    pub(super) per_second: Option<u32>,
    progress: Option<OnProgress<'a>>,
}

impl<E: Migrates> fmt::Debug for Migrate<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Migrate").field("pages", &self.pages).finish_non_exhaustive()
    }
}

impl<E: Migrates> Migrating<E> {
    /// Moves every entity of the table to its new form. It reads all old rows, at most 1000 a request, and all parcels.
    /// Each entity takes three requests, or one where its partition stays, and those that settle its `eventual` rows.
    /// Readers and writers go on meanwhile; a writer that loaded an entity before its move gets [`Error::Conflict`].
    ///
    /// Run it when every client knows both forms: see [the guide](crate::guide::run::migrating).
    pub fn migrate<'a>(&self, permit: &ScanPermit) -> Migrate<'a, E> {
        self.mover(CanonicalPages::of_table::<E::Old>(&self.old.client, permit), None)
    }

    /// Moves every entity of one partition of the old form, as [`migrate`](Self::migrate) does. It reads the parcels of
    /// the new partitions that the old rows name, and so finishes what other movers of this partition began.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
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
    /// # for hall in ["a", "b"] { old.insert(&LotV1 { hall: hall.into(), n: 1 }).await?; }
    /// # let lots = tables.migrating::<Lot>()?;
    /// # lots.create_table_if_not_exists().await?;
    /// let moved = lots.migrate_partition(LotV1::partition("a")).in_bulk().await.all()?;
    /// assert_eq!(moved, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn migrate_partition<'a, Q>(&self, partition: Q) -> Migrate<'a, E>
    where
        Q: WholePartition,
        Q::Row: RowOf<E::Old>,
    {
        let pages = CanonicalPages::of_partition::<E::Old, Q>(&self.old.client, partition);
        self.mover(pages, Some(BTreeSet::new()))
    }

    fn mover<'a>(
        &self,
        pages: CanonicalPages,
        partitions: Option<BTreeSet<String>>,
    ) -> Migrate<'a, E> {
        Migrate {
            pages,
            partitions,
            in_bulk: false,
            client: self.clone(),
            parallelism: DEFAULT_PARALLELISM,
            per_second: None,
            progress: None,
        }
    }
}

impl<'a, E: Migrates> Migrate<'a, E> {
    /// Moves the entities of one old and one new partition in the same transactions, of at most 100 operations:
    /// three for all of them, or one where the partition stays. Each page of 1000 old rows begins new ones. A
    /// transaction that is rejected, for example because somebody wrote one of its entities, is followed by single
    /// moves.
    pub const fn in_bulk(mut self) -> Self {
        self.in_bulk = true;
        self
    }

    /// Sets the most entities that are moved at once, or transactions in bulk; 0 counts as 1. 16 unless set.
    pub fn parallelism(mut self, entities: usize) -> Self {
        self.parallelism = entities.max(1);
        self
    }

    /// Moves at most that many entities in a second; 0 counts as 1. No limit unless set.
    pub fn per_second(mut self, entities: u32) -> Self {
        self.per_second = Some(entities.max(1));
        self
    }

    /// Calls `progress` after each page. Its token is where to resume.
    pub fn on_progress(mut self, progress: impl FnMut(&MigrateProgress) + Send + 'a) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }

    /// Continues after the page that returned `token`. The mover ends with [`Error::Token`] when the token belongs to
    /// another one.
    pub fn resume(mut self, token: PageToken) -> Self {
        self.pages.token = Some(token);
        self
    }

    async fn run(mut self) -> MigrateReport {
        let mut report = MigrateReport::default();
        report.progress.token = self.pages.token.clone();
        if let Err(error) = self.pages(&mut report).await {
            report.ended = Some(error.repeatable());
        }
        report
    }

    async fn pages(&mut self, report: &mut MigrateReport) -> Result<()> {
        let mut pace = Pace::begin(self.client.old.client.connection.timer, self.per_second);
        loop {
            let (page, next) = self.pages.read().await?;
            self.move_page(&page.body, &mut pace, report).await?;
            self.pages.token.clone_from(&next);
            // A mover that resumes knows the partitions of the pages that it reads.
            if next.is_none() || self.partitions.is_some() {
                self.clear_parcels(&mut report.skipped).await?;
            }
            report.progress.token = next;
            if let Some(progress) = &mut self.progress {
                progress(&report.progress);
            }
            if report.progress.token.is_none() {
                return Ok(());
            }
        }
    }

    /// Moves the entities of one page.
    async fn move_page(
        &mut self,
        body: &[u8],
        pace: &mut Pace,
        report: &mut MigrateReport,
    ) -> Result<()> {
        let mut unmoved = Vec::new();
        for row in self.client.old_rows(body)? {
            let read = match row.is {
                Ok(AtOld::Entity(stored)) => OldEntity::of(&stored).map(|old| (stored, old)),
                // Markers stay.
                Ok(AtOld::Marker(marker)) => {
                    if let (Some(partitions), Some(_)) = (&mut self.partitions, marker.parcel) {
                        partitions.insert(marker.partition_key);
                    }
                    continue;
                }
                Ok(AtOld::Nothing) => continue,
                Err(error) => Err(error),
            };
            match read {
                Ok((stored, old)) => {
                    if let Some(partitions) = &mut self.partitions {
                        partitions.insert(old.rows.partition_key.clone());
                    }
                    unmoved.push(Unmoved { stored, old });
                }
                Err(error) if error.is_of_one_entity() => {
                    report.skipped.push(Unmovable::new(row.key, error));
                }
                Err(error) => return Err(error),
            }
        }
        let groups = self.client.groups(unmoved, self.in_bulk);
        let moves = groups.into_iter().map(|group| {
            let due = pace.due(group.entities.len());
            let client = &self.client;
            async move {
                due.await;
                client.move_group(group).await
            }
        });
        let mut moves = Concurrent::unordered(moves, self.parallelism);
        while let Some(outcomes) = moves.next().await {
            report.count(outcomes)?;
        }
        Ok(())
    }

    /// Lands every living parcel, and deletes those that can never be landed.
    async fn clear_parcels(&mut self, skipped: &mut Vec<Unmovable>) -> Result<()> {
        let spans = match &mut self.partitions {
            None => vec![Span::All],
            Some(partitions) => mem::take(partitions).into_iter().map(Span::Exact).collect(),
        };
        for span in spans {
            let mut parcels = self.client.parcels(span);
            while let Some(parcel) = parcels.next().await? {
                match self.client.clear(&parcel).await {
                    Ok(()) => {}
                    Err(error) if error.is_of_one_entity() => {
                        let unmovable = Unmovable::new(parcel.old_key, error);
                        if !skipped.iter().any(|other| other.is_of(&unmovable)) {
                            skipped.push(unmovable);
                        }
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }
}

impl MigrateReport {
    /// Counts what happened to entities.
    ///
    /// # Errors
    /// The first error that is not of one entity.
    fn count(&mut self, outcomes: Vec<Outcome>) -> Result<()> {
        let mut ended = Ok(());
        for (key, moved) in outcomes {
            match moved {
                Ok(moved) => self.progress.moved += u64::from(moved),
                Err(error) if error.is_of_one_entity() => {
                    self.skipped.push(Unmovable::new(key, error));
                }
                Err(error) => ended = ended.and(Err(error)),
            }
        }
        ended
    }
}

impl Unmovable {
    pub(super) fn new(key: CanonicalKey, reason: Error) -> Self {
        let CanonicalKey { partition_key, row_key } = key;
        Self { partition_key, row_key, reason }
    }

    fn is_of(&self, other: &Self) -> bool {
        self.partition_key == other.partition_key && self.row_key == other.row_key
    }
}

impl<E: Migrates> Migrating<E> {
    /// Moves one entity, again after a conflict. Returns whether it did; `false` when it is in its new form, or gone.
    pub(super) async fn move_one(
        &self,
        key: &CanonicalKey,
        stored: Loaded<E::Old>,
    ) -> Result<bool> {
        let mut attempts = self.attempts();
        let mut stored = stored;
        loop {
            let old = OldEntity::<E>::of(&stored)?;
            let error = match self.move_to(&old, &old.rows).await {
                Ok(_) => return Ok(true),
                Err(error) => error,
            };
            let is_open =
                error.is_unanswered() || matches!(error, Error::Conflict(_) | Error::NotFound(_));
            if !is_open || !attempts.next().await {
                return Err(error);
            }
            stored = match AtOld::read(&self.old.client, key).await? {
                AtOld::Entity(stored) => stored,
                AtOld::Marker(_) | AtOld::Nothing => return Ok(false),
            };
        }
    }

    /// Moves an entity that somebody wrote since it was read.
    pub(super) async fn move_again(&self, key: &CanonicalKey) -> Result<bool> {
        match AtOld::read(&self.old.client, key).await? {
            AtOld::Entity(stored) => self.move_one(key, stored).await,
            AtOld::Marker(_) | AtOld::Nothing => Ok(false),
        }
    }

    async fn clear(&self, parcel: &Parcel<E>) -> Result<()> {
        match self.origin(parcel).await? {
            at if at.names(&parcel.place.row_key) => self.finish(parcel).await,
            AtOld::Entity(stored) if stored.etag().as_str() == parcel.made_from => {
                // Its switch may still come. Once the entity has moved with another parcel, it cannot.
                self.move_one(&parcel.old_key, stored).await?;
                match self.origin(parcel).await? {
                    at if at.names(&parcel.place.row_key) => self.finish(parcel).await,
                    at if at.is_version(&parcel.made_from) => Ok(()),
                    _ => parcel::drop(&self.new.client, &parcel.place).await,
                }
            }
            _ => parcel::drop(&self.new.client, &parcel.place).await,
        }
    }
}

impl<'a, E: Migrates> IntoFuture for Migrate<'a, E> {
    type Output = MigrateReport;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
