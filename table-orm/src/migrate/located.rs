//! Where the entity of a new key is: at the new key, at the old one, or on its way.

use super::entity_expiry::is_alive_at;
use super::migrates::Migrates;
use super::migrating::Migrating;
use super::old_key::old_key;
use super::old_place::{AtOld, OldEntity};
use super::parcel::Parcel;
use crate::entity::{Loaded, Marker};
use crate::error::{MigrationError, Result};
use crate::plan::{CanonicalKey, Found};

/// Where an entity is.
pub(super) enum Located<E> {
    New(Loaded<E>),
    Old(Box<OldEntity<E>>),
    /// On its way.
    Parcel(Box<Parcel<E>>),
    Nowhere,
}

impl<E: Migrates> Migrating<E> {
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

    pub(super) async fn at_new(&self, key: &CanonicalKey) -> Result<Option<Loaded<E>>> {
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
}
