//! The last step of a move: inserts the new rows and deletes the parcel.
//!
//! Invariant: an entity that waits in its parcel is written by the transaction that deletes the parcel, which never comes
//! back. So each parcel ends once: it is landed, written or deleted.

use super::canonical::{canonical_key, shown};
use super::follow::settled;
use super::migrates::Migrates;
use super::migrating::Migrating;
use super::parcel::{Parcel, deletion};
use crate::entity::EntityRows;
use crate::error::{Error, MigrationError, Rejection, Result};
use crate::model::ETag;
use crate::plan::{Attempts, CanonicalKey};

/// What a landing has done.
pub(super) struct Landed {
    /// The version of the new canonical row, where it is known.
    pub etag: Option<ETag>,
    /// Whether the rows in other partitions are there.
    pub is_settled: bool,
}

impl<E: Migrates> Migrating<E> {
    /// Sends the transaction that lands a parcel: one request, and settles what it makes due. `None` when somebody else
    /// has landed it.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`] when another row is under the new key, or another entity has a row under the key of an
    /// index row. The parcel stays.
    pub(super) async fn land(
        &self,
        place: &CanonicalKey,
        rows: &EntityRows,
    ) -> Result<Option<Landed>> {
        match self.send_landing(place, rows).await {
            Err(Error::NotFound(_)) => Ok(None),
            landed => landed.map(Some),
        }
    }

    async fn send_landing(&self, place: &CanonicalKey, rows: &EntityRows) -> Result<Landed> {
        // Whoever switched the entity reported what changed.
        let client = self.new.client.unreported();
        let mut due = self.entered(rows)?;
        let landing = Parcel::<E>::landing(place, rows);
        let etags = due.send_deleting_all(&client, landing).await?;
        let is_settled = settled(&client, due, &etags).await;
        // After the parcel's.
        Ok(Landed { etag: etags.into_iter().nth(1).flatten(), is_settled })
    }

    /// Saves an entity that waits in its parcel; it will have these rows. One request. Returns the version of the new
    /// canonical row, where it is known.
    ///
    /// # Errors
    /// [`Error::Conflict`] when it is not in this parcel any more, and [`MigrationError::RowTaken`] when another row has
    /// the key of one of these rows. Nothing is written then.
    pub(super) async fn save_waiting(
        &self,
        parcel: &Parcel<E>,
        rows: &EntityRows,
    ) -> Result<Option<ETag>> {
        match self.send_landing(&parcel.place, rows).await {
            Err(Error::NotFound(_)) => Err(self.changed(&parcel.new_key())),
            Err(Error::AlreadyExists(taken)) => Err(row_taken::<E>(rows, *taken)),
            saved => {
                let landed = saved?;
                self.remove_values_of(parcel).await;
                Ok(landed.etag)
            }
        }
    }

    /// Deletes an entity that waits in its parcel: one request.
    ///
    /// # Errors
    /// [`Error::Conflict`] when it is not in this parcel any more. Nothing is deleted then.
    pub(super) async fn delete_waiting(&self, parcel: &Parcel<E>) -> Result<()> {
        match self.new.client.send(deletion(&parcel.place)).await {
            Err(Error::NotFound(_)) => Err(self.changed(&parcel.new_key())),
            deleted => {
                deleted?;
                self.remove_values_of(parcel).await;
                Ok(())
            }
        }
    }

    /// Lands the parcel of an entity that another client was moving.
    ///
    /// # Errors
    /// [`MigrationError::RowTaken`] when another row has the key of one of the new rows. The parcel stays.
    pub(super) async fn finish(&self, parcel: &Parcel<E>) -> Result<()> {
        match self.land(&parcel.place, &parcel.rows).await {
            Ok(_) => Ok(()),
            Err(Error::AlreadyExists(taken)) => Err(row_taken::<E>(&parcel.rows, *taken)),
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

/// The error of a landing that inserts these rows, one of which another row is in the way of.
fn row_taken<E: Migrates>(rows: &EntityRows, taken: Rejection) -> Error {
    let (entity, key) = (E::NAME, shown(&canonical_key(rows)));
    let (taken_by, index_row) = (taken.row_key, taken.index_row);
    MigrationError::RowTaken { entity, key, taken_by, index_row }.into()
}
