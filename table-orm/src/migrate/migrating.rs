//! The calls on entities whose stored keys change, and where each entity is found.

use super::check::check;
use super::check_sums::check_sums;
use super::form::Form;
use super::held::{Held, Stored};
use super::instant::is_alive_at;
use super::marker::Marker;
use super::migrates::Migrates;
use super::old_key::old_key;
use super::old_place::{AtOld, OldEntity};
use super::parcel::Parcel;
use super::stays::same_table;
use crate::entity::{CanonicalKeyOf, CompleteKey, Loaded, TableEntity, keys_of};
use crate::error::{Error, MigrationError, Result};
use crate::model::TableName;
use crate::plan::{CanonicalKey, Connection, Found, MeasuredBatch, TableClient};
use crate::repo::Repo;
use crate::store::Batch;
use std::fmt;
use std::sync::Arc;

/// The entities of a type whose stored keys change: [`Tables::migrating`](crate::Tables::migrating).
///
/// Each entity is stored in its old form or in the new one, and every call finds it in either. Clients that insert
/// the old form and clients that insert the new one may run at once, with any number of movers. A move neither
/// loses nor doubles an entity, nor brings a deleted one back, whatever stops, waits or comes late. The guide's
/// page on [migrating](crate::guide::run::migrating) says what to deploy in which order.
///
/// It lacks some calls of [`Repo`], such as projections. `Tables::repo` of the type compiles once the migration has
/// ended.
pub struct Migrating<E: Migrates> {
    pub(crate) new: Repo<E>,
    pub(super) old: Repo<E::Old>,
    pub(super) form: Form,
}

impl<E: Migrates> Clone for Migrating<E> {
    fn clone(&self) -> Self {
        Self { new: self.new.clone(), old: self.old.clone(), form: self.form }
    }
}

impl<E: Migrates> fmt::Debug for Migrating<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Migrating")
            .field("table", self.new.table())
            .field("form", &self.form)
            .finish_non_exhaustive()
    }
}

/// Where an entity is.
pub(super) enum Located<E> {
    New(Loaded<E>),
    Old(Box<OldEntity<E>>),
    /// On its way.
    Parcel(Box<Parcel<E>>),
    Nowhere,
}

impl<E: Migrates> Migrating<E> {
    /// The entities in these tables.
    pub(crate) fn new(
        connection: &Arc<Connection>,
        old: TableName,
        new: TableName,
    ) -> Result<Self> {
        const { check::<E>() };
        check_sums::<E>()?;
        // Keys that may meet in one table are told apart only where the types say that they share it.
        let is_one = old.as_str().eq_ignore_ascii_case(new.as_str());
        if is_one != same_table::<E>() {
            let tables = if is_one { "two tables" } else { "one table" };
            let (entity, old, new) = (E::NAME, old.to_string(), new.to_string());
            return Err(MigrationError::TableCount { entity, tables, old, new }.into());
        }
        let mut new = Repo::<E>::new(Arc::clone(connection), new);
        let mut old = Repo::<E::Old>::new(Arc::clone(connection), old);
        if same_table::<E>() {
            // An expired entity of either form may be in the way of a write in the other one.
            let evicted = new.client.expiry.evict.clone();
            new.client.expiry.evict.extend(old.client.expiry.evict.iter().cloned());
            old.client.expiry.evict.extend(evicted);
        }
        Ok(Self { new, old, form: Form::New })
    }

    /// The same client, which inserts that form. [`Form::New`] unless set.
    #[must_use]
    pub fn inserting(self, form: Form) -> Self {
        Self { form, ..self }
    }

    /// Creates the table of the new form unless it exists: one request. Returns whether it was created.
    ///
    /// # Errors
    /// When the store cannot be reached, or is still deleting a table of that name.
    pub async fn create_table_if_not_exists(&self) -> Result<bool> {
        self.new.create_table_if_not_exists().await
    }

    /// Reads the entity under a new key, whatever its form. One request for an entity that has moved, two for one that
    /// has not, three for one that never was, four for one that was deleted after its move.
    ///
    /// # Errors
    /// When the key cannot hold one of the values, the store rejects a request, or the row cannot be read.
    pub async fn get<Q>(&self, key: Q) -> Result<Option<E>>
    where
        Q: CompleteKey + CanonicalKeyOf<E>,
    {
        Ok(match self.locate_alive(&CanonicalKey::of(keys_of(key)?)).await? {
            Located::New(loaded) => Some(loaded.into_inner()),
            Located::Old(old) => Some(old.entity),
            Located::Parcel(parcel) => Some(parcel.entity),
            Located::Nowhere => None,
        })
    }

    /// Reads the entity under a new key, with what `save` and `delete` need. As many requests as [`get`](Self::get).
    /// Finishes the move of an entity that another client was moving, unless another entity has one of its index rows.
    ///
    /// It takes one complete key, so it returns an `Option`. [`Repo::load`](Repo::load) takes any query and returns a set,
    /// of which `optional` is the same.
    ///
    /// # Errors
    /// As [`get`](Self::get); [`MigrationError::Unlanded`] when the store does not answer the end of such a move, and
    /// [`MigrationError::RowTaken`] when another row is in its way; where that is an index row, only of a type with
    /// `outbox`.
    pub async fn load<Q>(&self, key: Q) -> Result<Option<Held<E>>>
    where
        Q: CompleteKey + CanonicalKeyOf<E>,
    {
        self.hold(&CanonicalKey::of(keys_of(key)?)).await
    }

    pub(super) async fn hold(&self, key: &CanonicalKey) -> Result<Option<Held<E>>> {
        let mut attempts = self.attempts();
        loop {
            return Ok(Some(match self.locate_alive(key).await? {
                Located::New(loaded) => {
                    let entity = (*loaded).clone();
                    Held { entity, key: key.clone(), stored: Stored::New(Box::new(loaded)) }
                }
                Located::Old(old) => {
                    let entity = old.entity.clone();
                    Held { entity, key: key.clone(), stored: Stored::Old(old) }
                }
                Located::Parcel(parcel) => {
                    match self.finish_or_wait(&parcel, &mut attempts).await {
                        Err(taken) if may_be_written::<E>(&taken) => {
                            let entity = parcel.entity.clone();
                            Held { entity, key: key.clone(), stored: Stored::Parcel(parcel) }
                        }
                        landed => {
                            landed?;
                            continue;
                        }
                    }
                }
                Located::Nowhere => return Ok(None),
            }));
        }
    }

    /// Looks for the entity of a new key, unless it has expired.
    pub(super) async fn locate_alive(&self, key: &CanonicalKey) -> Result<Located<E>> {
        let located = self.locate(key).await?;
        let now = self.new.client.read_time();
        let is_alive = match &located {
            Located::New(loaded) => self.new.client.is_alive(loaded),
            Located::Old(old) => is_alive_at::<E>(&old.rows, now),
            Located::Parcel(parcel) => is_alive_at::<E>(&parcel.rows, now),
            Located::Nowhere => true,
        };
        Ok(if is_alive { located } else { Located::Nowhere })
    }

    /// Looks for the entity of a new key, expired or not: at the new key, at the old one, in the parcel, and at the new key again.
    pub(super) async fn locate(&self, key: &CanonicalKey) -> Result<Located<E>> {
        if let Some(loaded) = self.at_new(key).await? {
            return Ok(Located::New(loaded));
        }
        // Where no old key has the values, there is no old form.
        let Some(old_key) = old_key::<E>(key) else { return Ok(Located::Nowhere) };
        match AtOld::<E::Old>::read(&self.old.client, &old_key).await? {
            AtOld::Entity(stored) => {
                let old = OldEntity::of(&stored)?;
                // Another entity may have the old key, where the new one says more.
                if old.new_key() == *key {
                    return Ok(Located::Old(Box::new(old)));
                }
            }
            AtOld::Marker(marker) => {
                if let Some(parcel) = self.parcel(&marker, &old_key).await?
                    && parcel.new_key() == *key
                {
                    return Ok(Located::Parcel(Box::new(parcel)));
                }
            }
            AtOld::Nothing => {}
        }
        // It may have moved between the two readings.
        Ok(self.at_new(key).await?.map_or(Located::Nowhere, Located::New))
    }

    async fn at_new(&self, key: &CanonicalKey) -> Result<Option<Loaded<E>>> {
        let client = &self.new.client;
        Ok(match client.find::<E>(&client.point_of::<E>(key)).await? {
            Found::Entity(loaded) => Some(loaded),
            Found::OtherType | Found::Nothing => None,
        })
    }

    /// Fails where a marker names another table than that of the new rows.
    pub(super) fn check_marker(&self, marker: &Marker, old_key: &CanonicalKey) -> Result<()> {
        if marker.table.eq_ignore_ascii_case(self.new.table().as_str()) {
            return Ok(());
        }
        let CanonicalKey { partition_key, row_key } = old_key.clone();
        let (entity, content) = (E::NAME, format!("{marker:?}"));
        Err(MigrationError::UnknownMove { entity, partition_key, row_key, content }.into())
    }

    /// The parcel that a marker names, if it has not been landed.
    pub(super) async fn parcel(
        &self,
        marker: &Marker,
        old_key: &CanonicalKey,
    ) -> Result<Option<Parcel<E>>> {
        self.check_marker(marker, old_key)?;
        let Some(row_key) = marker.parcel.clone() else { return Ok(None) };
        let place = CanonicalKey { partition_key: marker.partition_key.clone(), row_key };
        Parcel::get(&self.new.client, place, self.old.table()).await
    }

    /// Whether the rows of an entity in both forms may be more than one transaction takes. Then it travels in a parcel,
    /// also within its partition. A unique value may not: nobody would have it meanwhile.
    pub(super) const fn may_be_many(&self) -> bool {
        let has_guards = !(E::GUARDS.is_empty() && E::Old::GUARDS.is_empty());
        (has_elements::<E>() || has_elements::<E::Old>()) && !has_guards
    }

    /// Whether one transaction takes these operations, with those for totals and events, where there is another way.
    pub(super) fn takes(&self, client: &TableClient, batch: &Batch) -> bool {
        if !self.may_be_many() {
            return true;
        }
        let MeasuredBatch { bytes, room, most, more, .. } = client.measure(batch.clone());
        batch.operations.len() + more <= most && bytes <= room
    }

    /// Whether the new rows of an entity are in the partition of its old ones.
    pub(super) fn is_together(&self, old: &CanonicalKey, new: &str) -> bool {
        old.partition_key == new
            && self.old.table().as_str().eq_ignore_ascii_case(self.new.table().as_str())
    }
}

/// Whether an entity cannot land that can be written where it waits. The event of such a write would not say what it
/// changed, so an entity with an outbox is not.
const fn may_be_written<E: Migrates>(error: &Error) -> bool {
    matches!(error, Error::Migration(MigrationError::RowTaken { index_row: Some(_), .. }))
        && E::OUTBOX.is_none()
}

/// Whether an entity may have a row for each element of a field.
const fn has_elements<T: TableEntity>() -> bool {
    let mut at = 0;
    while at < T::ROWS.len() {
        if T::ROWS[at].each.is_some() {
            return true;
        }
        at += 1;
    }
    false
}
