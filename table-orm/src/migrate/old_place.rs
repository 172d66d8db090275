//! What is stored under an old key.

use super::canonical::{canonical_key, shown};
use super::determined_key::key_of;
use super::entity_expiry::expires;
use super::kinds::check_kinds;
use super::migrates::Migrates;
use crate::entity::{
    EntityRow, EntityRows, InvalidEntity, Loaded, Marker, MovedRow, ReadBackError, TableEntity,
    canonical, has_across, read_row,
};
use crate::error::{Error, MigrationError, Result};
use crate::eventual::{UniqueValue, unique_values};
use crate::model::{ETag, Period};
use crate::plan::{CanonicalKey, Found, TableClient};
use bytes::Bytes;
use serde_json::Value;
use std::collections::BTreeMap;

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
pub(super) fn known(moved: &MovedRow) -> Result<Marker, MigrationError> {
    Marker::parse(&moved.to).ok_or_else(|| unknown(moved))
}

/// The error of a row that was moved, whose mark no marker has.
pub(super) fn unknown(moved: &MovedRow) -> MigrationError {
    MigrationError::UnknownMove {
        entity: moved.entity,
        partition_key: moved.partition_key.clone(),
        row_key: moved.row_key.clone(),
        content: moved.to.clone(),
    }
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
        let (values, period) = (unique_values(&old)?, period_of(&old));
        let entity = E::from(old);
        let rows = EntityRows::of(&entity)?;
        has_old_key::<E>(&rows, &old_rows)?;
        has_period(&entity, period, &rows)?;
        has_values(&entity, &values, &rows)?;
        check_kinds(&entity, || Ok(loaded.as_stored()?), &rows)?;
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

/// Fails unless an entity with these new rows becomes an old one with the key that the new one says, if it says one.
pub(super) fn check_conversion<E: Migrates>(entity: &E, rows: &EntityRows) -> Result<()> {
    match key_of::<E::Old, E>(&canonical_key(rows)) {
        Some(_) => {
            let old = || E::Old::from(entity.clone());
            has_old_key::<E>(rows, &EntityRows::of(&old())?)?;
            has_period(entity, period_of(&old()), rows)?;
            has_values(entity, &unique_values(&old())?, rows)?;
            check_kinds(entity, || Ok(old()), rows)
        }
        None => Ok(()),
    }
}

/// The old form of an entity with these new rows, and its old rows, from which the same entity is read.
pub(super) fn as_old<E: Migrates>(entity: &E, rows: &EntityRows) -> Result<(E::Old, EntityRows)> {
    let old = E::Old::from(entity.clone());
    let old_rows = EntityRows::of(&old)?;
    has_old_key::<E>(rows, &old_rows)?;
    has_period(entity, period_of(&old), rows)?;
    has_values(entity, &unique_values(&old)?, rows)?;
    check_kinds(entity, || Ok(E::Old::from(entity.clone())), rows)?;
    if is_held(entity, rows)? {
        return Ok((old, old_rows));
    }
    Err(MigrationError::Lossy { entity: E::NAME, new: shown(&canonical_key(rows)) }.into())
}

/// Whether the old form holds all of an entity with these rows: it is the same one after both conversions.
pub(crate) fn is_held<E: Migrates>(entity: &E, rows: &EntityRows) -> Result<bool, InvalidEntity> {
    let again = EntityRows::of(&E::from(E::Old::from(entity.clone())))?;
    let are_same = |(one, other): (&EntityRow, &EntityRow)| {
        one.row_key == other.row_key && have_same_values(&one.body, &other.body)
    };
    Ok(again.partition_key == rows.partition_key
        && again.rows.len() == rows.rows.len()
        && again.rows.iter().zip(&rows.rows).all(are_same))
}

/// Whether the properties of two rows are the same. A map that a conversion makes anew may be written in another order
/// as JSON text.
fn have_same_values(one: &[u8], other: &[u8]) -> bool {
    let values = |row: &[u8]| -> Option<BTreeMap<String, Value>> {
        let mut values: BTreeMap<String, Value> = serde_json::from_slice(row).ok()?;
        for value in values.values_mut() {
            let json = value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
            if let Some(json @ (Value::Object(_) | Value::Array(_))) = json {
                *value = json;
            }
        }
        Some(values)
    };
    one == other || values(one).is_some_and(|one| Some(one) == values(other))
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
    if E::EXPIRES.is_some() && expires::<E>(rows)? != expires::<E::Old>(made)? {
        return Err(MigrationError::ExpiryDiffers { entity, new: shown(&new) }.into());
    }
    Ok(())
}

/// The period of an entity, if it is of a type with a table for each.
fn period_of<E: TableEntity>(entity: &E) -> Option<Period> {
    E::BUCKET.and_then(|bucketing| bucketing.period_of(entity))
}

/// Fails unless the entity with these new rows is in that period.
fn has_period<E: TableEntity>(entity: &E, old: Option<Period>, rows: &EntityRows) -> Result<()> {
    if period_of(entity) == old {
        return Ok(());
    }
    Err(MigrationError::PeriodDiffers { entity: E::NAME, new: shown(&canonical_key(rows)) }.into())
}

/// Fails unless the entity with these new rows has those values that are unique over all partitions.
fn has_values<E: TableEntity>(entity: &E, old: &[UniqueValue], rows: &EntityRows) -> Result<()> {
    if has_across::<E>() && unique_values(entity)? != old {
        let new = shown(&canonical_key(rows));
        return Err(MigrationError::UniqueDiffers { entity: E::NAME, new }.into());
    }
    Ok(())
}

/// The keys of the guard rows of an entity.
fn guards<T: TableEntity>(rows: &EntityRows) -> Vec<&str> {
    let guards = rows.rows.iter().filter(|row| row.index >= T::ROWS.len());
    guards.map(|row| &*row.row_key).collect()
}

#[cfg(test)]
mod tests {
    use super::have_same_values;

    #[test]
    fn maps_in_json_text_are_the_same_in_any_order_and_other_texts_are_not() {
        let row = |text: &str| serde_json::json!({ "A": text, "B": 1 }).to_string().into_bytes();
        for (one, other, same) in [
            (r#"{"x":1,"y":[2,3]}"#, r#"{"y":[2,3],"x":1}"#, true),
            ("[1]", "[1]", true),
            ("[1,2]", "[2,1]", false),
            (r#"{"x":1}"#, r#"{"x":2}"#, false),
            ("1.0", "1.00", false),
            ("true", "true ", false),
            ("text", "text", true),
        ] {
            assert_eq!(have_same_values(&row(one), &row(other)), same, "{one} {other}");
        }
    }
}
