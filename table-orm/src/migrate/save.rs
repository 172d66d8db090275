//! Writes of loaded entities, in either form.

use super::canonical::{canonical_key, shown};
use super::large_values::{OwnValues, with_copies};
use super::loaded::{MigratingLoaded, Stored};
use super::migrates::Migrates;
use super::migrating::Migrating;
use super::old_key::old_key;
use super::old_place::{AtOld, OldEntity, as_old};
use super::stored_form::StoredForm;
use crate::entity::{
    CanonicalKeyOf, CompleteKey, EntityRows, Loaded, TableEntity, has_across, keys_of,
};
use crate::error::{Error, MigrationError, Result};
use crate::eventual::unique_values;
use crate::model::ETag;
use crate::plan::CanonicalKey;
use std::borrow::Cow;

impl<E: Migrates> Migrating<E> {
    /// Saves a loaded entity if nobody has written it since. An entity in its old form is written in place by a client
    /// that inserts the old form: one request. A client that inserts the new form moves it: three requests, or one within
    /// a partition. An entity in its new form is written in place. If a value of `unique(.., across)` changes, the entity
    /// moves as it was loaded, and is then saved in its new form.
    ///
    /// # Errors
    /// - [`Error::Conflict`] when another client, or a mover, has written the entity since. Load it again.
    /// - [`Error::NotFound`] or [`Error::Conflict`] when the entity is gone.
    /// - [`Error::UniqueViolation`] when another entity, in either form, has one of its unique values. If it is one of
    ///   `unique(.., across)`, the entity may have moved as it was loaded.
    /// - [`MigrationError::KeyChanged`] when a field of the new canonical key changed.
    /// - [`MigrationError::RowTaken`] when the entity waits for an index row that another entity has, and would still
    ///   need it.
    ///
    /// Nothing else is written in these cases.
    pub async fn save(&self, held: &mut MigratingLoaded<E>) -> Result<()> {
        let mut rows = EntityRows::of_in(&held.entity, self.new.table())?;
        let key = canonical_key(&rows);
        if key != held.key {
            let (from, to) = (shown(&held.key), shown(&key));
            return Err(MigrationError::KeyChanged { entity: E::NAME, from, to }.into());
        }
        if let (Stored::Old(old), StoredForm::New) = (&held.stored, self.form)
            && changes_values(&old.entity, &held.entity)?
        {
            // Values change in one form: the entity moves as it is.
            let old = old.clone();
            self.move_held(held, &old).await?;
            rows = EntityRows::of(&held.entity)?;
        }
        match (&held.stored, self.form) {
            (Stored::New(loaded), _) => {
                let saved = self.save_new(loaded, &held.entity, &rows).await?;
                held.entity = (*saved).clone();
                held.stored = Stored::New(Box::new(saved));
            }
            (Stored::Old(old), StoredForm::Old) => {
                let (entity, _) = as_old(&held.entity, &rows)?;
                let mut loaded = old.loaded(&self.old.client)?;
                *loaded = entity;
                let saved = match self.old.save(loaded).await {
                    // The entity has moved, and may have the value itself.
                    Err(error) if self.is_marked(&error, &old.key).await? => {
                        return Err(self.changed(&held.key));
                    }
                    saved => saved?,
                };
                held.stored = Stored::Old(Box::new(OldEntity::of(&saved)?));
            }
            (Stored::Old(old), StoredForm::New) => {
                let moved = self.move_to(old, &rows).await?;
                held.moved(&moved.rows, moved.etag)?;
            }
            (Stored::Parcel(parcel), _) => {
                let own = self.own_values(Cow::Borrowed(&rows), Some(&parcel.rows)).await?;
                let saved = self.save_waiting(parcel, &own.rows).await;
                held.moved(&own.rows, self.copied(&own.copied, saved).await?)?;
            }
            (Stored::Moved, _) => return Err(self.changed(&held.key)),
        }
        Ok(())
    }

    /// Saves an entity that was read in its new form.
    async fn save_new(
        &self,
        loaded: &Loaded<E>,
        entity: &E,
        rows: &EntityRows,
    ) -> Result<Loaded<E>> {
        let stored = loaded.stored_rows()?;
        let OwnValues { copied, .. } = self.own_values(Cow::Borrowed(rows), Some(&stored)).await?;
        let mut loaded = loaded.clone();
        *loaded = match &copied.copies {
            none if none.is_empty() => entity.clone(),
            copies => with_copies(rows, copies)?,
        };
        let saved = self.new.save(loaded).await;
        self.copied(&copied, saved).await
    }

    /// Deletes a loaded entity if nobody has written it since: one request, in its own form.
    ///
    /// # Errors
    /// [`Error::Conflict`] when another client, or a mover, has written it since, and [`Error::NotFound`] when it is
    /// gone. Nothing is deleted then.
    pub async fn delete(&self, held: MigratingLoaded<E>) -> Result<()> {
        match held.stored {
            Stored::New(loaded) => self.new.delete(*loaded).await,
            Stored::Old(old) => self.old.delete(old.loaded(&self.old.client)?).await,
            Stored::Parcel(parcel) => self.delete_waiting(&parcel).await,
            Stored::Moved => Err(self.changed(&held.key)),
        }
    }

    /// Reads an entity, changes it, and saves it, again after a conflict, for up to
    /// [`CONFLICT_RETRY_TIME`](crate::repo::CONFLICT_RETRY_TIME). Returns the saved entity, with what a further `save`
    /// needs, as [`Repo::update`](crate::Repo::update) does.
    ///
    /// # Errors
    /// - [`Error::NotFound`] when there is no entity of that key, and [`Error::Conflict`] when every attempt lost to
    ///   another writer.
    /// - [`MigrationError::RowTaken`] when the entity waits for an index row that another entity has, and would still
    ///   need it.
    ///
    /// Nothing is written in these cases.
    pub async fn update<Q>(
        &self,
        key: Q,
        mut change: impl FnMut(&mut E) + Send,
    ) -> Result<MigratingLoaded<E>>
    where
        Q: CompleteKey + CanonicalKeyOf<E>,
    {
        let key = CanonicalKey::of(keys_of(key)?);
        let mut attempts = self.attempts();
        loop {
            let Some(mut held) = self.hold(&key).await? else {
                return Err(self.new.client.not_found(&key.partition_key, &key.row_key));
            };
            change(&mut held);
            match self.save(&mut held).await {
                Ok(()) => return Ok(held),
                Err(error) if is_lost(&error) => {
                    if !attempts.next().await {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Inserts an entity, or saves it over the one of the same key. It reads first, in every form.
    ///
    /// # Errors
    /// - [`Error::Conflict`], [`Error::NotFound`] or [`Error::AlreadyExists`] when every attempt lost to another writer.
    /// - [`Error::AlreadyExists`] at once when another entity has its old key. Move that one first.
    /// - [`MigrationError::RowTaken`] when the stored entity waits for an index row that another entity has, and would
    ///   still need it.
    ///
    /// The entity is not written in these cases.
    pub async fn upsert(&self, entity: &E) -> Result<()> {
        let key = canonical_key(&EntityRows::of(entity)?);
        let mut attempts = self.attempts();
        loop {
            let written = match self.hold(&key).await? {
                Some(mut held) => {
                    *held = entity.clone();
                    self.save(&mut held).await
                }
                None => self.insert(entity).await,
            };
            match written {
                Err(error) if is_lost(&error) || is_there(&error) => {
                    let is_refused = is_there(&error) && self.is_old_key_taken(&key).await?;
                    if is_refused || !attempts.next().await {
                        return Err(error);
                    }
                }
                written => return written,
            }
        }
    }

    /// Whether another entity has the old key, so that no insert can succeed before that one has moved.
    pub(super) async fn is_old_key_taken(&self, key: &CanonicalKey) -> Result<bool> {
        let Some(old) = old_key::<E>(key) else { return Ok(false) };
        Ok(match AtOld::<E::Old>::read(&self.old.client, &old).await? {
            AtOld::Entity(stored) => OldEntity::<E>::of(&stored)?.new_key() != *key,
            AtOld::Marker(_) | AtOld::Nothing => false,
        })
    }

    pub(super) fn changed(&self, key: &CanonicalKey) -> Error {
        self.new.client.changed(&key.partition_key, &key.row_key)
    }
}

impl<E: Migrates> MigratingLoaded<E> {
    /// It has these rows now; the canonical one has that version, where it is known.
    fn moved(&mut self, rows: &EntityRows, etag: Option<ETag>) -> Result<()> {
        self.stored = match etag.zip(rows.canonical()) {
            Some((etag, row)) => {
                let mut loaded = Loaded::<E>::of_rows(rows)?;
                loaded.written(row.body.clone(), etag);
                self.entity = (*loaded).clone();
                Stored::New(Box::new(loaded))
            }
            None => Stored::Moved,
        };
        Ok(())
    }
}

/// Whether two entities differ in their values that are unique over all partitions.
fn changes_values<E: TableEntity>(before: &E, after: &E) -> Result<bool> {
    Ok(has_across::<E>() && unique_values(before)? != unique_values(after)?)
}

/// Whether another writer was faster.
pub(super) const fn is_lost(error: &Error) -> bool {
    matches!(error, Error::Conflict(_) | Error::NotFound(_))
}

/// Whether another writer inserted the entity first.
pub(super) fn is_there(error: &Error) -> bool {
    matches!(error, Error::AlreadyExists(rejection) if rejection.index_row.is_none())
}
