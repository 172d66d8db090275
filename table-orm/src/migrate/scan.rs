//! Scans over both forms.
//!
//! Invariant: old rows are read first, then parcels, then new rows. Entities go one way only, so one that is there all
//! the time is seen; of several readings of one, the last counts.

use super::migrates::Migrates;
use super::migrating::Migrating;
use super::old_place::{AtOld, OldEntity};
use super::readings::Readings;
use crate::entity::canonical;
use crate::error::Result;
use crate::query::{KeyRange, ScanPermit, Span};

impl<E: Migrates> Migrating<E> {
    /// Reads all entities of the table, of both forms, in the order of their new keys: the whole old form, then the
    /// parcels, then the whole new form. Holds all entities in memory.
    ///
    /// # Errors
    /// When the store rejects a request, or a row cannot be read.
    pub async fn scan(&self, _permit: &ScanPermit) -> Result<Vec<E>> {
        let mut readings = Readings::of(KeyRange::ALL, canonical::<E>(), self.only_alive(None));
        self.old_pass(Span::All, |row| {
            if let AtOld::Entity(stored) = row.is? {
                let old = OldEntity::<E>::of(&stored)?;
                readings.take(&old.entity, &old.rows, old.stored());
            }
            Ok(())
        })
        .await?;
        self.read_parcels(Span::All, &mut readings).await?;
        let mut invalid = Ok(());
        self.new_pass(|loaded| match loaded.stored_rows() {
            Ok(rows) => {
                readings.take(&loaded, &rows, loaded.stored());
            }
            Err(error) => invalid = Err(error),
        })
        .await?;
        invalid?;
        Ok(readings.in_order().into_iter().map(|(_, entity)| entity).collect())
    }

    pub(super) async fn read_parcels(
        &self,
        partition: Span,
        readings: &mut Readings<E>,
    ) -> Result<()> {
        for parcel in self.parcels_in(partition).await? {
            if self.origin(&parcel).await?.names(&parcel.place.row_key) {
                readings.take(&parcel.entity, &parcel.rows, &parcel.stored);
            }
        }
        Ok(())
    }
}
