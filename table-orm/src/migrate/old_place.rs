//! What is stored under an old key.

use super::determined_key::key_of;
use super::instant::instant;
use super::marker::Marker;
use super::migrates::Migrates;
use crate::entity::{EntityRows, Loaded, Moved, ReadBackError, TableEntity, canonical, read_row};
use crate::error::{Error, MigrationError, Result};
use crate::model::ETag;
use crate::plan::{CanonicalKey, Found, TableClient};
use bytes::Bytes;

/// What is stored under an old key.
#[derive(Debug)]
pub(super) enum AtOld<O> {
    /// An entity in its old form.
    Entity(Loaded<O>),
    /// The marker of one that has moved, or never was in its old form.
    Marker(Marker),
    /// No row, or one of another type.
    Nothing,
}

impl<O> AtOld<O> {
    /// Whether it is the marker that names that parcel.
    pub fn names(&self, parcel: &str) -> bool {
        matches!(self, Self::Marker(marker) if marker.parcel.as_deref() == Some(parcel))
    }

    /// Whether it is an entity in that version.
    pub fn is_version(&self, etag: &str) -> bool {
        matches!(self, Self::Entity(stored) if stored.etag().as_str() == etag)
    }
}

impl<O: TableEntity> AtOld<O> {
    /// Reads it: one request.
    pub async fn read(client: &TableClient, key: &CanonicalKey) -> Result<Self> {
        Ok(match client.find::<O>(&client.point_of::<O>(key)).await {
            Ok(Found::Entity(stored)) => Self::Entity(stored),
            Ok(Found::OtherType | Found::Nothing) => Self::Nothing,
            Err(Error::Moved(moved)) => Self::Marker(known(&moved)?),
            Err(error) => return Err(error),
        })
    }

    /// A row of a page; `Nothing` for one of another type.
    pub fn of_row(json: &[u8]) -> Result<Self> {
        Ok(match Loaded::read(Bytes::copy_from_slice(json), None) {
            Ok(Some(stored)) => Self::Entity(stored),
            Ok(None) => Self::Nothing,
            Err(ReadBackError::Moved(moved)) => Self::Marker(known(&moved)?),
            Err(error) => return Err(error.into()),
        })
    }
}

/// The marker of a row that was moved.
fn known(moved: &Moved) -> Result<Marker, MigrationError> {
    Marker::parse(&moved.to).ok_or_else(|| MigrationError::UnknownMove {
        entity: moved.entity,
        partition_key: moved.partition_key.clone(),
        row_key: moved.row_key.clone(),
        content: moved.to.clone(),
    })
}

/// An entity in its old form, and what it will be in the new one.
#[derive(Debug, Clone)]
pub(super) struct OldEntity<E> {
    /// Its canonical row as it is stored.
    stored: Bytes,
    pub etag: ETag,
    /// All rows as they are stored.
    pub old_rows: EntityRows,
    /// Its old canonical key.
    pub key: CanonicalKey,
    pub entity: E,
    /// The rows that it will have.
    pub rows: EntityRows,
}

impl<E: Migrates> OldEntity<E> {
    /// Converts an entity.
    pub fn of(loaded: &Loaded<E::Old>) -> Result<Self> {
        let stored = loaded.stored().clone();
        let old = read_row::<E::Old>(canonical::<E::Old>(), &stored)?;
        let old_rows = loaded.stored_rows()?;
        let key = canonical_key(&old_rows);
        let entity = E::from(old);
        let rows = EntityRows::of(&entity)?;
        has_old_key::<E>(&rows, &old_rows)?;
        Ok(Self { stored, etag: loaded.etag().clone(), old_rows, key, entity, rows })
    }

    /// Its canonical row as it is stored.
    pub fn stored(&self) -> &[u8] {
        &self.stored
    }

    /// The entity as it was loaded.
    pub fn loaded(&self, client: &TableClient) -> Result<Loaded<E::Old>> {
        let loaded = Loaded::read(self.stored.clone(), Some(self.etag.clone()))?;
        loaded.ok_or_else(|| client.not_found(&self.key.partition_key, &self.key.row_key))
    }

    /// Its new canonical key.
    pub fn new_key(&self) -> CanonicalKey {
        canonical_key(&self.rows)
    }
}

/// The key of the canonical row.
pub(super) fn canonical_key(rows: &EntityRows) -> CanonicalKey {
    let row_key = rows.canonical().map(|row| row.row_key.clone());
    CanonicalKey { partition_key: rows.partition_key.clone(), row_key: row_key.unwrap_or_default() }
}

/// Fails unless an entity with these new rows becomes an old one with the key that the new one says, if it says one.
pub(super) fn check_conversion<E: Migrates>(entity: &E, rows: &EntityRows) -> Result<()> {
    match key_of::<E::Old, E>(&canonical_key(rows)) {
        Some(_) => has_old_key::<E>(rows, &EntityRows::of(&E::Old::from(entity.clone()))?),
        None => Ok(()),
    }
}

/// The old form of an entity with these new rows, and its old rows, from which the same entity is read.
pub(super) fn as_old<E: Migrates>(entity: &E, rows: &EntityRows) -> Result<(E::Old, EntityRows)> {
    let old = E::Old::from(entity.clone());
    let old_rows = EntityRows::of(&old)?;
    has_old_key::<E>(rows, &old_rows)?;
    if EntityRows::of(&E::from(E::Old::from(entity.clone())))? == *rows {
        return Ok((old, old_rows));
    }
    Err(MigrationError::Lossy { entity: E::NAME, new: shown(&canonical_key(rows)) }.into())
}

/// Fails unless the entity with these new rows has that old key, and expires when it did.
fn has_old_key<E: Migrates>(rows: &EntityRows, made: &EntityRows) -> Result<()> {
    let (entity, new, made_key) = (E::NAME, canonical_key(rows), canonical_key(made));
    let old = key_of::<E::Old, E>(&new);
    if old.as_ref() != Some(&made_key) {
        let old = old.map_or_else(|| "none".to_owned(), |old| shown(&old));
        let made = shown(&made_key);
        return Err(MigrationError::KeyDiffers { entity, new: shown(&new), old, made }.into());
    }
    if guards::<E>(rows) != guards::<E::Old>(made) {
        return Err(MigrationError::UniqueDiffers { entity, new: shown(&new) }.into());
    }
    if E::EXPIRES.is_some() && instant::<E>(rows)? != instant::<E::Old>(made)? {
        return Err(MigrationError::ExpiryDiffers { entity, new: shown(&new) }.into());
    }
    Ok(())
}

/// The keys of the guard rows of an entity.
fn guards<T: TableEntity>(rows: &EntityRows) -> Vec<&str> {
    let guards = rows.rows.iter().filter(|row| row.index >= T::ROWS.len());
    guards.map(|row| &*row.row_key).collect()
}

/// A key as errors show it.
pub(super) fn shown(key: &CanonicalKey) -> String {
    format!("{:?} / {:?}", key.partition_key, key.row_key)
}
