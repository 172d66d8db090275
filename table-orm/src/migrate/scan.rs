//! Scans over both forms.
//!
//! Invariants:
//! - Old rows are read first, then parcels, then new rows. Entities go one way only, so one that is there all the time is
//!   seen, and of several readings of one, the first is given.
//! - In memory are one page, and a fingerprint of each entity that was given from an old row or a parcel.

use super::canonical::canonical_key;
use super::entity_expiry::is_alive_at;
use super::migrates::Migrates;
use super::migrating::Migrating;
use super::old_place::{AtOld, OldEntity};
use super::verify::head;
use crate::error::{Error, Result};
use crate::model::{DateTime, PARCEL_START};
use crate::plan::CanonicalKey;
use crate::query::{ScanPermit, Span};
use crate::repo::{CanonicalPages, RowStream};
use futures_core::future::BoxFuture;
use futures_util::{TryStreamExt as _, stream};
use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};

/// A scan of all entities of a table, of both forms: `.await` reads them all, [`stream`](Self::stream) returns them
/// page by page. [`Migrating::scan`] returns it.
///
/// An entity that exists during the whole scan is returned exactly once, as it was at some time during the scan,
/// whatever moves meanwhile.
#[must_use = "nothing is sent until this is awaited, or one of the last methods is called"]
pub struct MigratingScan<E: Migrates> {
    client: Migrating<E>,
    old: CanonicalPages,
    parcels: CanonicalPages,
    new: CanonicalPages,
}

impl<E: Migrates> fmt::Debug for MigratingScan<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MigratingScan").field("client", &self.client).finish_non_exhaustive()
    }
}

impl<E: Migrates> Migrating<E> {
    /// Reads all entities of the table, of both forms: the whole old form, then the parcels, then the whole new form. One
    /// request for each 1000 rows, and one for each parcel.
    ///
    /// Awaiting it holds all entities in memory, and returns them in the order of their new keys. `stream` and `count` hold
    /// one page.
    ///
    /// ```
    /// # use table_orm::{ScanPermit, TableEntity, Tables};
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
    /// # lots.insert(&Lot { hall: "a".into(), n: 3 }).await?;
    /// let permit = ScanPermit::because("a nightly report");
    /// let mut sum = 0;
    /// let mut all = lots.scan(&permit).stream();
    /// while let Some(lot) = all.next().await? {
    ///     sum += lot.n;
    /// }
    /// assert_eq!((sum, lots.scan(&permit).count().await?), (6, 3));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the store rejects a request, or a row cannot be read.
    pub fn scan(&self, permit: &ScanPermit) -> MigratingScan<E> {
        let (old, new) = (&self.old.client, &self.new.client);
        MigratingScan {
            client: self.clone(),
            old: CanonicalPages::of_table::<E::Old>(old, permit),
            parcels: CanonicalPages::of_rows(new, Span::prefix(PARCEL_START), permit),
            new: CanonicalPages::of_table::<E>(new, permit),
        }
    }
}

impl<E: Migrates> MigratingScan<E> {
    /// Returns the entities one after another, page by page: those in their old form, those on their way, and the
    /// others. It keeps 16 bytes for each entity of the first two kinds, so that it returns none twice.
    #[must_use]
    pub fn stream(self) -> RowStream<E> {
        RowStream::new(self.found().map_ok(|(_, entity)| entity))
    }

    /// Reads all entities, as the scan does when it is awaited.
    ///
    /// # Errors
    /// As [`Migrating::scan`].
    pub fn collect(self) -> BoxFuture<'static, Result<Vec<E>>>
    where
        E: 'static,
    {
        self.into_future()
    }

    /// Counts the entities, as [`stream`](Self::stream) reads them.
    ///
    /// # Errors
    /// As [`Migrating::scan`].
    pub async fn count(self) -> Result<u64> {
        self.found().try_fold(0, |count, _| async move { Ok(count + 1) }).await
    }

    /// The entities with their new keys.
    fn found(self) -> impl stream::Stream<Item = Result<(CanonicalKey, E)>> + Send {
        let Self { client, old, parcels, new } = self;
        let now = client.new.client.read_time();
        let passes = vec![(Pass::New, new), (Pass::Parcels, parcels), (Pass::Old, old)];
        let scan = Scan { client, now, passes, given: HashSet::new(), hashes: Default::default() };
        let pages = stream::try_unfold(scan, |mut scan| async move {
            let page = scan.page().await?;
            Ok::<_, Error>(page.map(|page| (stream::iter(page.into_iter().map(Ok)), scan)))
        });
        pages.try_flatten()
    }
}

/// What a pass reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    Old,
    Parcels,
    New,
}

/// A scan in progress.
struct Scan<E: Migrates> {
    client: Migrating<E>,
    /// Entities that have expired then are left out.
    now: Option<DateTime>,
    /// The passes to come, of which the last is the next.
    passes: Vec<(Pass, CanonicalPages)>,
    /// Fingerprints of the entities that were given from old rows and parcels.
    given: HashSet<[u64; 2]>,
    /// Random, so nobody can choose two keys of one fingerprint.
    hashes: [RandomState; 2],
}

impl<E: Migrates> Scan<E> {
    /// Reads a page. Returns `None` after the last one.
    async fn page(&mut self) -> Result<Option<Vec<(CanonicalKey, E)>>> {
        let Some((pass, mut pages)) = self.passes.pop() else { return Ok(None) };
        let (page, next) = pages.read().await?;
        if next.is_some() {
            pages.token = next;
            self.passes.push((pass, pages));
        }
        let mut found = match pass {
            Pass::Old => self.of_old_form(&page.body)?,
            Pass::Parcels => self.parcels(&page.body).await?,
            Pass::New => self.of_new_form(&page.body)?,
        };
        let is_first = |(key, _): &(CanonicalKey, E)| {
            let fingerprint = [0, 1].map(|at: usize| self.hashes[at].hash_one(key));
            if pass == Pass::New {
                !self.given.contains(&fingerprint)
            } else {
                self.given.insert(fingerprint)
            }
        };
        found.retain(is_first);
        Ok(Some(found))
    }

    fn of_old_form(&self, body: &[u8]) -> Result<Vec<(CanonicalKey, E)>> {
        let mut found = Vec::new();
        for row in self.client.old_rows(body)? {
            if let AtOld::Entity(stored) = row.is? {
                let old = OldEntity::<E>::of(&stored)?;
                if is_alive_at::<E>(&old.rows, self.now) {
                    found.push((old.new_key(), old.entity));
                }
            }
        }
        Ok(found)
    }

    async fn parcels(&self, body: &[u8]) -> Result<Vec<(CanonicalKey, E)>> {
        let mut found = Vec::new();
        for parcel in self.client.parcels_of(body)? {
            let is_on_its_way = self.client.origin(&parcel).await?.names(&parcel.place.row_key);
            if is_on_its_way && is_alive_at::<E>(&parcel.rows, self.now) {
                found.push((parcel.new_key(), parcel.entity));
            }
        }
        Ok(found)
    }

    fn of_new_form(&self, body: &[u8]) -> Result<Vec<(CanonicalKey, E)>> {
        let mut found = Vec::new();
        for loaded in self.client.new_rows(body)? {
            let rows = loaded.stored_rows()?;
            if is_alive_at::<E>(&rows, self.now) {
                found.push((canonical_key(&rows), loaded.into_inner()));
            }
        }
        Ok(found)
    }
}

impl<E: Migrates + 'static> IntoFuture for MigratingScan<E> {
    type Output = Result<Vec<E>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let found = self.found().map_ok(|(key, entity)| (head(key), entity));
            let mut all: Vec<_> = found.try_collect().await?;
            all.sort_by(|(one, _), (other, _)| one.cmp(other));
            Ok(all.into_iter().map(|(_, entity)| entity).collect())
        })
    }
}
