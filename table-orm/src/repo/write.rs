//! Writes of an entity as it is, loaded before or not.

use super::Repo;
use super::over_stored::{OnExisting, over_stored};
use crate::entity::{
    EntityRows, InvalidEntity, Loaded, Row, TableEntity, merges_blind, writes_blind,
};
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::eventual::{
    Intents, Settling, change_and_settle, plan_of_delete, plan_with_settling, settling_methods,
};
use crate::model::ETag;
use crate::plan::{
    CanonicalKey, OptimisticWrite, Plan, RetryLimits, TableClient, delete_all, insert_all,
    merge_all, replace_all, upsert_all,
};
use crate::store::{Batch, IfMatch};
use futures_core::future::BoxFuture;
use std::marker::PhantomData;
use std::time::Duration;

impl<E: TableEntity> Repo<E> {
    /// Inserts an entity: all of its rows in one request. Returns its ETag. Types with `sums`, an `outbox`, `eventual`
    /// rows or `unique(.., across)` take more requests.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`] when one of its rows exists, and [`Error::UniqueViolation`] when another
    /// entity has one of its unique values. Nothing is written then.
    ///
    /// ```
    /// # use table_orm::{Error, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "tracks", partition = "{album}", row = "{number:02}")]
    /// # struct Track { album: String, number: u8, title: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tracks = Tables::in_memory()?.repo::<Track>();
    /// # tracks.create_table().await?;
    /// let track = Track { album: "Blue".into(), number: 1, title: "All I Want".into() };
    /// tracks.insert(&track).await?;
    /// // The stored entity is not replaced.
    /// let again = Track { title: "Carey".into(), ..track.clone() };
    /// assert!(matches!(tracks.insert(&again).await, Err(Error::AlreadyExists(_))));
    /// assert_eq!(tracks.list(Track::partition("Blue")).one().await?, track);
    /// # Ok(())
    /// # }
    /// ```
    pub fn insert(&self, entity: &E) -> Write<E> {
        self.blind(entity, insert_all)
    }

    /// Inserts an entity, or replaces the one under its canonical key. Returns its ETag.
    ///
    /// One request where [`KEYS_FOLLOW_CANONICAL`](TableEntity::KEYS_FOLLOW_CANONICAL). Otherwise it reads
    /// the canonical row and writes the difference under that row's ETag, one call at a time as
    /// [`update`](Self::update). It waits and starts again when another writer changed the entity in between,
    /// for up to [`CONFLICT_RETRY_TIME`](crate::repo::CONFLICT_RETRY_TIME) or the time set by
    /// [`retry_for`](Write::retry_for).
    ///
    /// The stored properties that `E` does not know are removed ([two versions at
    /// once](crate::guide::run::versions#two-versions-at-once)).
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "runners", partition = "{race}")]
    /// # #[row(by_bib, key = "BIB:{bib:05}")]
    /// # #[row(by_age, key = "AGE:{age:03}__{bib:05}")]
    /// # struct Runner { race: String, bib: u32, age: u8, city: Option<String> }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let runners = Tables::in_memory()?.repo::<Runner>();
    /// # runners.create_table().await?;
    /// let runner = Runner { race: "Boston".into(), bib: 7, age: 54, city: None };
    /// runners.upsert(&runner).await?;
    /// runners.upsert(&Runner { age: 55, ..runner }).await?;
    /// // The row of the old age is gone.
    /// let boston = Runner::partition("Boston");
    /// assert_eq!(runners.list(boston.by_age()).one().await?.age, 55);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - [`Error::Conflict`] when every attempt lost to another writer. Nothing is written; calling again
    ///   is safe.
    /// - [`Error::KeyMismatch`] when the properties of the stored row make another key, so the index rows
    ///   to remove are unknown.
    pub fn upsert(&self, entity: &E) -> Write<E> {
        if writes_blind::<E>() {
            self.blind(entity, upsert_all)
        } else {
            self.over_stored(entity, OnExisting::Upsert)
        }
    }

    /// Inserts an entity, or sets its properties in the one under its canonical key. Returns its ETag.
    ///
    /// Properties without a value (`None`, empty slots of a series) keep their stored value. To remove a
    /// property, replace the entity with `save`, `update` or `upsert`. A series that is a `Vec` has no empty
    /// slots: its values overwrite the first stored ones, and the rest of a longer stored series stays.
    ///
    /// One request where [`KEYS_FOLLOW_CANONICAL`](TableEntity::KEYS_FOLLOW_CANONICAL) and no field has an
    /// `alias`, else a read and a guarded write, as [`upsert`](Self::upsert).
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "profiles", partition = "{team}", row = "{name}")]
    /// # struct Profile { #[table(key_only)] team: String, #[table(key_only)] name: String, mail: Option<String>, city: Option<String> }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let profiles = Tables::in_memory()?.repo::<Profile>();
    /// # profiles.create_table().await?;
    /// let profile = Profile { team: "red".into(), name: "ann".into(), mail: None, city: None };
    /// profiles.insert(&Profile { mail: Some("ann@example.org".into()), ..profile.clone() }).await?;
    /// profiles.insert_or_merge(&Profile { city: Some("Oslo".into()), ..profile }).await?;
    /// let stored = profiles.list(Profile::partition("red")).one().await?;
    /// assert_eq!(stored.mail.as_deref(), Some("ann@example.org"));
    /// assert_eq!(stored.city.as_deref(), Some("Oslo"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn insert_or_merge(&self, entity: &E) -> Write<E> {
        if merges_blind::<E>() {
            self.blind(entity, merge_all)
        } else {
            self.over_stored(entity, OnExisting::Merge)
        }
    }

    /// Replaces the entity under the same canonical key, whatever its version. Returns its ETag.
    ///
    /// Overwrites what other writers changed since the entity was read; [`save`](Self::save) fails then.
    ///
    /// One request where [`KEYS_FOLLOW_CANONICAL`](TableEntity::KEYS_FOLLOW_CANONICAL), else a read and a
    /// guarded write, as [`upsert`](Self::upsert).
    ///
    /// ```
    /// # use table_orm::{Error, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "invoices", partition = "{customer}", row = "{number:05}")]
    /// # struct Invoice { customer: String, number: u32, cents: u32, paid: bool }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let invoices = Tables::in_memory()?.repo::<Invoice>();
    /// # invoices.create_table().await?;
    /// let invoice = Invoice { customer: "acme".into(), number: 1, cents: 900, paid: false };
    /// assert!(matches!(invoices.force_replace(&invoice).await, Err(Error::NotFound(_))));
    /// invoices.insert(&invoice).await?;
    /// invoices.force_replace(&Invoice { paid: true, ..invoice }).await?;
    /// assert!(invoices.list(Invoice::partition("acme")).one().await?.paid);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFound`] when the entity does not exist.
    pub fn force_replace(&self, entity: &E) -> Write<E> {
        if writes_blind::<E>() {
            let canonical = <E::Canonical as Row>::INDEX;
            self.blind(entity, |rows| replace_all(rows, canonical, &IfMatch::Any))
        } else {
            self.over_stored(entity, OnExisting::Replace(None))
        }
    }

    /// Replaces the entity under the same canonical key if it still has that version. Returns its
    /// new ETag.
    ///
    /// Use it for an ETag from outside, such as the `If-Match` of an app's own client. A loaded
    /// entity is written by [`save`](Self::save), which may also change the canonical key.
    ///
    /// One request where [`KEYS_FOLLOW_CANONICAL`](TableEntity::KEYS_FOLLOW_CANONICAL), else a read
    /// and a guarded write, as [`upsert`](Self::upsert).
    ///
    /// ```
    /// # use table_orm::{Error, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "notes", partition = "{owner}", row = "{id:05}")]
    /// # struct Note { owner: String, id: u32, text: String }
    /// # async fn run() -> table_orm::Result<()> {
    /// # let notes = Tables::in_memory()?.repo::<Note>();
    /// # notes.create_table().await?;
    /// let mut note = Note { owner: "ann".into(), id: 1, text: "milk".into() };
    /// let etag = notes.insert(&note).await?;
    /// note.text = "bread".into();
    /// notes.replace(&note, &etag).await?;
    /// // The stored version is a newer one now.
    /// assert!(matches!(notes.replace(&note, &etag).await, Err(Error::Conflict(_))));
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`Error::Conflict`] when the stored entity has another version, and [`Error::NotFound`] when it
    /// does not exist. Nothing is written then.
    pub fn replace(&self, entity: &E, etag: &ETag) -> Write<E> {
        if writes_blind::<E>() {
            let canonical = <E::Canonical as Row>::INDEX;
            let guard = IfMatch::ETag(etag.clone());
            self.blind(entity, |rows| replace_all(rows, canonical, &guard))
        } else {
            self.over_stored(entity, OnExisting::Replace(Some(etag.clone())))
        }
    }

    /// Deletes the entity under the canonical key of `entity`, whatever its version.
    ///
    /// Also deletes what other writers changed since the entity was read; [`delete`](Self::delete) fails
    /// then.
    ///
    /// One request where [`KEYS_FOLLOW_CANONICAL`](TableEntity::KEYS_FOLLOW_CANONICAL), else a read and a
    /// guarded write, as [`upsert`](Self::upsert).
    ///
    /// ```
    /// # use table_orm::{Error, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "notes", partition = "{owner}", row = "{id:05}")]
    /// # struct Note { owner: String, id: u32, text: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let notes = Tables::in_memory()?.repo::<Note>();
    /// # notes.create_table().await?;
    /// let note = Note { owner: "ann".into(), id: 1, text: "milk".into() };
    /// notes.insert(&note).await?;
    /// notes.force_delete(&note).await?;
    /// assert!(matches!(notes.force_delete(&note).await, Err(Error::NotFound(_))));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFound`] when the entity does not exist.
    pub fn force_delete(&self, entity: &E) -> Write<E, ()> {
        if writes_blind::<E>() {
            let canonical = <E::Canonical as Row>::INDEX;
            self.blind(entity, |rows| delete_all(rows, canonical, &IfMatch::Any))
        } else {
            self.over_stored(entity, OnExisting::Delete)
        }
    }

    fn blind<T>(&self, entity: &E, operations: impl FnOnce(EntityRows) -> Batch) -> Write<E, T> {
        let change = EntityRows::of_in(entity, &self.client.table).and_then(|rows| {
            let mut intents = Intents::default();
            // Of a type with rows in other partitions, only an insert writes without a read.
            intents.add::<E>(&self.client, &rows.partition_key, None, rows.canonical())?;
            Ok(Change::Blind { batch: operations(rows), intents })
        });
        self.write(change)
    }

    fn over_stored<T>(&self, entity: &E, on_existing: OnExisting) -> Write<E, T> {
        let rows = EntityRows::of_in(entity, &self.client.table);
        let change = rows.map(|rows| Change::OverStored { rows, on_existing });
        self.write(change)
    }

    fn write<T>(&self, change: Result<Change, InvalidEntity>) -> Write<E, T> {
        let (client, limits) = (self.client.clone(), RetryLimits::default());
        Write { client, change, limits, settling: Settling::default(), entity: PhantomData }
    }
}

/// A write of an entity: `.await` sends it, `.plan()` shows it.
///
/// ```
/// # use table_orm::{TableEntity, Tables};
/// # #[derive(Debug, Clone, PartialEq, TableEntity)]
/// # #[table(name = "runners", partition = "{race}")]
/// # #[row(by_bib, key = "BIB:{bib:05}")]
/// # #[row(by_age, key = "AGE:{age:03}__{bib:05}")]
/// # struct Runner { race: String, bib: u32, age: u8, city: Option<String> }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let runners = Tables::in_memory()?.repo::<Runner>();
/// # runners.create_table().await?;
/// let runner = Runner { race: "Boston".into(), bib: 7, age: 54, city: None };
/// let insert = runners.insert(&runner);
/// // The canonical row and the index row, in one transaction.
/// assert_eq!(insert.plan()?.operations().count(), 2);
/// let etag = insert.await?;
/// runners.replace(&Runner { age: 55, ..runner }, &etag).attempts(1).await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct Write<E, T = ETag> {
    client: TableClient,
    change: Result<Change, InvalidEntity>,
    limits: RetryLimits,
    settling: Settling,
    entity: PhantomData<fn() -> (E, T)>,
}

/// How the rows of an entity are written.
#[derive(Debug, Clone)]
enum Change {
    /// Without a read. The first operation writes the canonical row.
    Blind { batch: Batch, intents: Intents },
    /// After a read of the stored rows.
    OverStored { rows: EntityRows, on_existing: OnExisting },
}

/// A [`Change`] as it is sent.
enum Prepared {
    Blind { key: CanonicalKey, batch: Batch, intents: Intents },
    OverStored { rows: EntityRows, on_existing: OnExisting, write: Box<OptimisticWrite> },
}

impl<E: TableEntity, T> Write<E, T> {
    /// Sets how long it tries again when other writers change the entity in between, instead of
    /// [`CONFLICT_RETRY_TIME`](crate::repo::CONFLICT_RETRY_TIME). With zero it makes one attempt. A write that reads nothing
    /// first is sent once.
    pub const fn retry_for(mut self, time: Duration) -> Self {
        self.limits.time = time;
        self
    }

    /// Sets the most writes that it sends within that time; 0 counts as 1. A write that reads nothing first
    /// is sent once.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "runners", partition = "{race}")]
    /// # #[row(by_bib, key = "BIB:{bib:05}")]
    /// # #[row(by_age, key = "AGE:{age:03}__{bib:05}")]
    /// # struct Runner { race: String, bib: u32, age: u8, city: Option<String> }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let runners = Tables::in_memory()?.repo::<Runner>();
    /// # runners.create_table().await?;
    /// let runner = Runner { race: "Boston".into(), bib: 7, age: 54, city: None };
    /// let upsert = runners.upsert(&runner).attempts(2);
    /// assert!(upsert.plan()?.to_string().contains("at most 2 attempts"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn attempts(mut self, attempts: usize) -> Self {
        self.limits.set_attempts(attempts);
        self
    }

    /// Returns what it will send, without sending it.
    ///
    /// # Errors
    /// When the service would reject a key or property.
    pub fn plan(&self) -> Result<Plan> {
        let change = self.change.clone()?;
        Ok(match change.prepare::<E>(&self.client, self.limits)? {
            Prepared::Blind { batch, intents, .. } => {
                intents.plan(&self.client, batch, &self.settling)?
            }
            Prepared::OverStored { write, on_existing: OnExisting::Delete, .. } => {
                plan_of_delete::<E>(&self.client, write.plan(), &self.settling)
            }
            Prepared::OverStored { write, .. } => {
                plan_with_settling::<E>(&self.client, write.plan(), &self.settling)
            }
        })
    }

    settling_methods!();

    /// Sends it. Returns the canonical row's new ETag, `None` after a delete.
    async fn run(self) -> Result<(CanonicalKey, Option<ETag>)> {
        match self.change?.prepare::<E>(&self.client, self.limits)? {
            Prepared::Blind { key, batch, mut intents } => {
                let etags =
                    intents.send(&self.client, batch, Some(&key.row_key), &self.settling).await?;
                intents.settle(&self.client, &etags, &self.settling).await;
                Ok((key, etags.into_iter().next().flatten()))
            }
            Prepared::OverStored { rows, on_existing, write } => {
                let client = &self.client;
                let mut decide = |loaded: &Loaded<E>| match on_existing {
                    OnExisting::Merge if !client.is_alive(loaded) => {
                        write.when_expired(client, loaded)
                    }
                    _ => on_existing.decide(client, loaded, &rows),
                };
                let outcome =
                    change_and_settle(&write, client, &self.settling, &mut decide).await?;
                let etag = outcome.etag;
                let deletes = on_existing == OnExisting::Delete;
                Ok((write.key().clone(), etag.filter(|_| !deletes)))
            }
        }
    }
}

impl Change {
    fn prepare<E: TableEntity>(
        self,
        client: &TableClient,
        limits: RetryLimits,
    ) -> Result<Prepared> {
        Ok(match self {
            Self::Blind { batch, intents } => {
                let canonical = batch.operations.first();
                let row_key = canonical.map(|operation| operation.row_key.clone());
                let key = CanonicalKey {
                    partition_key: batch.partition_key.clone(),
                    row_key: row_key.unwrap_or_default(),
                };
                Prepared::Blind { key, batch, intents }
            }
            Self::OverStored { rows, on_existing } => {
                let inserts = matches!(on_existing, OnExisting::Upsert | OnExisting::Merge);
                let write = over_stored::<E>(client, &rows, inserts, limits)?;
                Prepared::OverStored { rows, on_existing, write: Box::new(write) }
            }
        })
    }
}

impl<E: TableEntity + 'static> IntoFuture for Write<E, ETag> {
    type Output = Result<ETag>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let client = self.client.clone();
            let (key, etag) = self.run().await?;
            client.version(&key, etag)
        })
    }
}

impl<E: TableEntity + 'static> IntoFuture for Write<E, ()> {
    type Output = Result<()>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.run().await.map(drop) })
    }
}
