//! Writes of an entity as it is, whether it was loaded before or not.

use super::Repo;
use super::merge::merge_into;
use crate::entity::{EntityRows, Invalid, Loaded, Row, TableEntity};
use crate::error::{Error, Result};
use crate::model::ETag;
use crate::plan::{
    CanonicalKey, Decision, MAX_ATTEMPTS, OptimisticWrite, Plan, Step, TableClient, UpdateMode,
    changes, delete_all, insert_all, merge_all, replace_all, upsert_all,
};
use crate::store::{Batch, IfMatch};
use futures_core::future::BoxFuture;
use std::marker::PhantomData;

impl<E: TableEntity> Repo<E> {
    /// Inserts an entity: all of its rows in one request. Returns its ETag.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`] when one of the rows is there.
    pub fn insert(&self, entity: &E) -> Write<E> {
        self.blind(entity, insert_all)
    }

    /// Inserts an entity, or replaces the one under its canonical key. Returns its ETag.
    ///
    /// One request where [`KEYS_FOLLOW_CANONICAL`](TableEntity::KEYS_FOLLOW_CANONICAL); else it
    /// reads the canonical row and writes the difference under its ETag, in turn with others as
    /// [`update`](Self::update), at most [`MAX_ATTEMPTS`] times or [as told](Write::attempts). Then
    /// [`Error::Conflict`] says that writers from elsewhere came between each time: call again; and
    /// [`Error::KeyMismatch`] that the properties stored there make another key, so that it is not known
    /// which rows are to go.
    ///
    /// Of properties that `E` does not know none stays ([two versions at
    /// once](crate::guide::run::versions#two-versions-at-once)).
    pub fn upsert(&self, entity: &E) -> Write<E> {
        if E::KEYS_FOLLOW_CANONICAL {
            self.blind(entity, upsert_all)
        } else {
            self.over_stored(entity, OnExisting::Upsert)
        }
    }

    /// Inserts an entity, or sets its properties in the one under its canonical key: properties
    /// that it has none of (`None`, empty slots of a series) stay as they are stored. Returns its
    /// ETag.
    ///
    /// One request, or a read and a guarded write, as [`upsert`](Self::upsert).
    ///
    /// A property is removed by `save`, `update`, or `upsert`, which replace. A series that is a
    /// `Vec` has no empty slots: its values are merged one by one, so that of a longer stored one
    /// the rest stays.
    pub fn insert_or_merge(&self, entity: &E) -> Write<E> {
        if E::KEYS_FOLLOW_CANONICAL {
            self.blind(entity, merge_all)
        } else {
            self.over_stored(entity, OnExisting::Merge)
        }
    }

    /// Replaces the entity under the same canonical key, whatever its version. Returns its ETag.
    ///
    /// One request, or a read and a guarded write, as [`upsert`](Self::upsert).
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn force_replace(&self, entity: &E) -> Write<E> {
        if E::KEYS_FOLLOW_CANONICAL {
            let canonical = <E::Canonical as Row>::INDEX;
            self.blind(entity, |rows| replace_all(rows, canonical, &IfMatch::Any))
        } else {
            self.over_stored(entity, OnExisting::Replace(None))
        }
    }

    /// Replaces the entity under the same canonical key if it still has that version: for an ETag
    /// that came from outside, such as the `If-Match` of an app's own client. What `load` gave is
    /// written by [`save`](Self::save), which may also change the canonical key. Returns the new
    /// ETag.
    ///
    /// One request, or a read and a guarded write, as [`upsert`](Self::upsert).
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
    /// // The version is another one now.
    /// assert!(matches!(notes.replace(&note, &etag).await, Err(Error::Conflict(_))));
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`Error::Conflict`] when it has another version; [`Error::NotFound`].
    pub fn replace(&self, entity: &E, etag: &ETag) -> Write<E> {
        if E::KEYS_FOLLOW_CANONICAL {
            let canonical = <E::Canonical as Row>::INDEX;
            let guard = IfMatch::ETag(etag.clone());
            self.blind(entity, |rows| replace_all(rows, canonical, &guard))
        } else {
            self.over_stored(entity, OnExisting::Replace(Some(etag.clone())))
        }
    }

    /// Deletes the entity under the canonical key of `entity`, whatever its version.
    ///
    /// One request, or a read and a guarded write, as [`upsert`](Self::upsert).
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn force_delete(&self, entity: &E) -> Write<E, ()> {
        if E::KEYS_FOLLOW_CANONICAL {
            let canonical = <E::Canonical as Row>::INDEX;
            self.blind(entity, |rows| delete_all(rows, canonical, &IfMatch::Any))
        } else {
            self.over_stored(entity, OnExisting::Delete)
        }
    }

    fn blind<T>(&self, entity: &E, operations: impl FnOnce(EntityRows) -> Batch) -> Write<E, T> {
        let change = EntityRows::of(entity).map(|rows| Change::Blind(operations(rows)));
        self.write(change)
    }

    fn over_stored<T>(&self, entity: &E, on_existing: OnExisting) -> Write<E, T> {
        let change = EntityRows::of(entity).map(|rows| Change::OverStored { rows, on_existing });
        self.write(change)
    }

    fn write<T>(&self, change: Result<Change, Invalid>) -> Write<E, T> {
        let client = self.client.clone();
        Write { client, change, attempts: MAX_ATTEMPTS, entity: PhantomData }
    }
}

/// A write of an entity: `.await` sends it, `.plan()` shows it.
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct Write<E, T = ETag> {
    client: TableClient,
    change: Result<Change, Invalid>,
    attempts: usize,
    entity: PhantomData<fn() -> (E, T)>,
}

/// How the rows of an entity are written.
#[derive(Debug, Clone)]
enum Change {
    /// Without a read; the first operation is the canonical row's.
    Blind(Batch),
    /// By the rows that are stored.
    OverStored { rows: EntityRows, on_existing: OnExisting },
}

/// What happens to the stored rows.
#[derive(Debug, Clone, PartialEq, Eq)]
enum OnExisting {
    /// They become the new rows; where nothing is stored, the new rows are inserted.
    Upsert,
    /// They become the new rows. Fails where nothing is stored, or with another version than given.
    Replace(Option<ETag>),
    /// The new properties are set in them; where nothing is stored, the new rows are inserted.
    Merge,
    /// They are deleted. Fails where nothing is stored.
    Delete,
}

/// A [`Change`] as it is sent.
enum Prepared {
    Blind { key: CanonicalKey, batch: Batch },
    OverStored { rows: EntityRows, on_existing: OnExisting, write: Box<OptimisticWrite> },
}

impl<E: TableEntity, T> Write<E, T> {
    /// Sets how many times it is tried when other writers come between, instead of
    /// [`MAX_ATTEMPTS`]; 0 counts as 1. A blind write, which reads nothing first, is sent once
    /// whatever this says.
    pub fn attempts(mut self, attempts: usize) -> Self {
        self.attempts = attempts.max(1);
        self
    }

    /// Returns what it will send.
    ///
    /// # Errors
    /// When the service would refuse a key or property.
    pub fn plan(&self) -> Result<Plan> {
        Ok(match self.prepare()? {
            Prepared::Blind { batch, .. } => Step::write(self.client.table.clone(), batch).into(),
            Prepared::OverStored { write, .. } => write.plan(),
        })
    }

    fn prepare(&self) -> Result<Prepared> {
        Ok(match self.change.clone()? {
            Change::Blind(batch) => {
                let canonical = batch.operations.first();
                let row_key = canonical.map(|operation| operation.row_key.clone());
                let key = CanonicalKey {
                    partition_key: batch.partition_key.clone(),
                    row_key: row_key.unwrap_or_default(),
                };
                Prepared::Blind { key, batch }
            }
            Change::OverStored { rows, on_existing } => {
                let inserts = matches!(on_existing, OnExisting::Upsert | OnExisting::Merge);
                let write = over_stored::<E>(&self.client, &rows, inserts, self.attempts)?;
                Prepared::OverStored { rows, on_existing, write: Box::new(write) }
            }
        })
    }

    /// Sends it. Returns the canonical row's new ETag, `None` after a delete.
    async fn run(self) -> Result<(CanonicalKey, Option<ETag>)> {
        match self.prepare()? {
            Prepared::Blind { key, batch } => {
                let etags = self.client.send_changes(batch, &key.row_key).await?;
                Ok((key, etags.into_iter().next().flatten()))
            }
            Prepared::OverStored { rows, on_existing, write } => {
                let client = &self.client;
                let outcome = write
                    .run::<E, Error>(client, |loaded| on_existing.decide(client, loaded, &rows));
                let etag = outcome.await?.etag;
                let deletes = on_existing == OnExisting::Delete;
                Ok((write.key().clone(), etag.filter(|_| !deletes)))
            }
        }
    }
}

/// The read and the write that bring the stored rows of an entity to `rows`.
fn over_stored<E: TableEntity>(
    client: &TableClient,
    rows: &EntityRows,
    inserts: bool,
    attempts: usize,
) -> Result<OptimisticWrite> {
    let canonical = rows.canonical().ok_or_else(|| client.not_found(&rows.partition_key, ""))?;
    let key = CanonicalKey::in_partition(&rows.partition_key, canonical);
    Ok(OptimisticWrite::new::<E>(client, key, inserts.then(|| rows.clone()), attempts))
}

impl OnExisting {
    /// What brings the rows of `loaded` to `rows`.
    fn decide<E: TableEntity>(
        &self,
        client: &TableClient,
        loaded: &Loaded<E>,
        rows: &EntityRows,
    ) -> Result<Decision> {
        let canonical = <E::Canonical as Row>::INDEX;
        let row = rows.canonical();
        match self {
            Self::Merge => match row {
                Some(row) => merge_into(loaded, &row.body),
                None => Err(client.not_found(&rows.partition_key, "")),
            },
            Self::Delete => {
                let guard = IfMatch::ETag(loaded.etag().clone());
                let batch = delete_all(loaded.stored_rows()?, canonical, &guard);
                Ok(Decision { batch, canonical: None })
            }
            Self::Replace(Some(etag)) if etag != loaded.etag() => {
                let row_key = row.map_or("", |row| &row.row_key);
                Err(client.changed(&rows.partition_key, row_key))
            }
            Self::Upsert | Self::Replace(_) => {
                let (stored, etag) = (loaded.stored_rows()?, loaded.etag());
                let batch = changes(&stored, rows, canonical, etag, UpdateMode::Replace);
                Ok(Decision { batch, canonical: row.cloned() })
            }
        }
    }
}

/// An upsert that reads first, as one of many.
pub(super) fn upsert_over_stored<E: TableEntity>(
    client: &TableClient,
    entity: &E,
) -> Result<OptimisticWrite> {
    over_stored::<E>(client, &EntityRows::of(entity)?, true, MAX_ATTEMPTS)
}

/// Sends such an upsert, and gives the entity back with the answer.
pub(super) fn send_upsert<E: TableEntity + 'static>(
    client: TableClient,
    entity: E,
) -> BoxFuture<'static, (E, Result<()>)> {
    Box::pin(async move {
        let written = async {
            let rows = EntityRows::of(&entity)?;
            let write = over_stored::<E>(&client, &rows, true, MAX_ATTEMPTS)?;
            let decide = |loaded: &mut _| OnExisting::Upsert.decide(&client, loaded, &rows);
            write.run::<E, Error>(&client, decide).await.map(drop)
        };
        let written = written.await;
        (entity, written)
    })
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
