//! Writes into the table of an entity's period.

use super::{Bucketed, Periods};
use crate::entity::{AsLoaded, Loaded};
use crate::model::ETag;
use crate::repo::{Delete, InsertLoaded, Repo, Save, Write};

/// A write of one entity goes to the table of its period. Each is the call of the same name of a [`Repo`]; the
/// first write of a period takes three requests, because it creates the table.
impl<E: Bucketed> Periods<E> {
    /// Inserts an entity, as [`Repo::insert`] does.
    pub fn insert(&self, entity: &E) -> Write<E> {
        self.of(entity).insert(entity)
    }

    /// Inserts an entity and returns it loaded, as [`Repo::insert_loaded`] does.
    pub fn insert_loaded(&self, entity: &E) -> InsertLoaded<E> {
        self.of(entity).insert_loaded(entity)
    }

    /// Inserts or replaces an entity, as [`Repo::upsert`] does.
    pub fn upsert(&self, entity: &E) -> Write<E> {
        self.of(entity).upsert(entity)
    }

    /// Inserts an entity, or sets the properties that have a value, as [`Repo::insert_or_merge`] does.
    pub fn insert_or_merge(&self, entity: &E) -> Write<E> {
        self.of(entity).insert_or_merge(entity)
    }

    /// Replaces an entity in the version of the ETag, as [`Repo::replace`] does.
    pub fn replace(&self, entity: &E, etag: &ETag) -> Write<E> {
        self.of(entity).replace(entity, etag)
    }

    /// Replaces an entity in any version, as [`Repo::force_replace`] does.
    pub fn force_replace(&self, entity: &E) -> Write<E> {
        self.of(entity).force_replace(entity)
    }

    /// Deletes an entity in any version, as [`Repo::force_delete`] does.
    pub fn force_delete(&self, entity: &E) -> Write<E, ()> {
        self.of(entity).force_delete(entity)
    }

    /// Saves a loaded entity in the table where it is stored, as [`Repo::save`] does.
    ///
    /// # Errors
    /// [`Error::PeriodMismatch`](crate::Error::PeriodMismatch) when the time was changed to that of another period.
    /// Nothing is written then: insert the entity with its new time, and delete the old one.
    ///
    /// ```
    /// # use table_orm::{Error, TableEntity, Tables};
    /// # use time::{Duration, OffsetDateTime};
    /// # #[derive(Debug, Clone, TableEntity)]
    /// # #[table(name = "readings", partition = "{sensor}", row = "{id:05}", bucket(month, at))]
    /// # struct Reading { sensor: String, id: u32, at: OffsetDateTime }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let readings = Tables::in_memory()?.periods::<Reading>();
    /// # let now = OffsetDateTime::from_unix_timestamp(1_794_000_000)?;
    /// let mut reading = readings.insert_loaded(&Reading { sensor: "roof".into(), id: 1, at: now }).await?;
    /// reading.at += Duration::minutes(1);
    /// readings.save(&mut reading).await?;
    /// let old = reading.clone();
    /// reading.at += Duration::days(60);
    /// assert!(matches!(readings.save(&mut reading).await, Err(Error::PeriodMismatch(_))));
    ///
    /// readings.insert(&reading).await?;
    /// readings.delete(old).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn save<'a, L: AsLoaded<E> + 'a>(&self, loaded: L) -> Save<'a, E, L> {
        self.of_stored(loaded.loaded()).save(loaded)
    }

    /// Deletes a loaded entity from the table where it is stored, as [`Repo::delete`] does.
    pub fn delete(&self, loaded: Loaded<E>) -> Delete<E> {
        self.of_stored(&loaded).delete(loaded)
    }

    /// The table that the entity was loaded from.
    pub(super) fn of_stored(&self, loaded: &Loaded<E>) -> Repo<E> {
        match loaded.as_stored() {
            Ok(stored) => self.of(&stored),
            // A save and a delete fail with the same error.
            Err(_) => self.of(loaded),
        }
    }
}
