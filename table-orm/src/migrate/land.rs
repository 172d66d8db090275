//! The last step of a move: inserts the new rows and deletes the parcel.

use super::migrates::Migrates;
use super::migrating::Migrating;
use super::old_place::shown;
use super::parcel::Parcel;
use crate::entity::EntityRows;
use crate::error::{Error, MigrationError, Result};
use crate::model::ETag;
use crate::plan::{Attempts, CanonicalKey};

impl<E: Migrates> Migrating<E> {
    /// Sends the transaction that lands a parcel: one request. Returns the version of the new canonical row; `None`
    /// when somebody else has landed it.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`] when another row is under the new key, or another entity has a row under the key of an
    /// index row. The parcel stays.
    pub(super) async fn land(
        &self,
        place: &CanonicalKey,
        rows: &EntityRows,
    ) -> Result<Option<ETag>> {
        // Whoever switched the entity reported what changed.
        let client = self.new.client.unreported();
        match client.send(Parcel::<E>::landing(place, rows)).await {
            // After the parcel's.
            Ok(etags) => Ok(etags.into_iter().nth(1).flatten()),
            Err(Error::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lands the parcel of an entity that another client was moving.
    ///
    /// # Errors
    /// [`MigrationError::RowTaken`] when another row has the key of one of the new rows. The parcel stays.
    pub(super) async fn finish(&self, parcel: &Parcel<E>) -> Result<()> {
        match self.land(&parcel.place, &parcel.rows).await {
            Ok(_) => Ok(()),
            Err(Error::AlreadyExists(taken)) => {
                let (entity, key) = (E::NAME, shown(&parcel.new_key()));
                let (taken_by, index_row) = (taken.row_key, taken.index_row);
                Err(MigrationError::RowTaken { entity, key, taken_by, index_row }.into())
            }
            Err(error) => Err(error),
        }
    }

    /// Lands the parcel that a call met before its own write. Where the store does not answer, it waits for the next
    /// attempt: then the caller looks again where the entity is.
    ///
    /// # Errors
    /// [`MigrationError::Unlanded`] when there is no next attempt, and [`MigrationError::RowTaken`].
    pub(super) async fn finish_or_wait(
        &self,
        parcel: &Parcel<E>,
        attempts: &mut Attempts,
    ) -> Result<()> {
        match self.finish(parcel).await {
            Err(error) if error.is_unanswered() => {
                if attempts.next().await {
                    return Ok(());
                }
                let (entity, key) = (E::NAME, shown(&parcel.new_key()));
                Err(MigrationError::Unlanded { entity, key, cause: error.to_string() }.into())
            }
            landed => landed,
        }
    }
}
