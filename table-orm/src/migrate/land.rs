//! The last step of a move: the new rows, for the parcel.

use super::migrates::Migrates;
use super::migrating::Migrating;
use super::parcel::Parcel;
use crate::entity::EntityRows;
use crate::error::{Error, Result};
use crate::model::ETag;
use crate::plan::CanonicalKey;

impl<E: Migrates> Migrating<E> {
    /// Sends the transaction that lands a parcel: one request. Returns the version of the new canonical row; `None`
    /// when somebody else has landed it.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`] when another row is under the new key. The parcel stays.
    pub(super) async fn land(
        &self,
        place: &CanonicalKey,
        rows: &EntityRows,
    ) -> Result<Option<ETag>> {
        match self.new.client.send(Parcel::<E>::landing(place, rows)).await {
            // Behind the parcel's.
            Ok(etags) => Ok(etags.into_iter().nth(1).flatten()),
            Err(Error::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lands the parcel of an entity that another client was moving.
    pub(super) async fn finish(&self, parcel: &Parcel<E>) -> Result<()> {
        self.land(&parcel.place, &parcel.rows).await.map(drop)
    }
}
