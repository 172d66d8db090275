//! Sets the properties of a patch, in either form.
//!
//! Invariant: an entity in its old form is changed under the version that was read.

use super::held::Stored;
use super::migrates::Migrates;
use super::migrating::Migrating;
use super::save::is_lost;
use crate::codec::overlay;
use crate::entity::{CanonicalKeyOf, CompleteKey, canonical, keys_of, read_row};
use crate::error::{Error, Result};
use crate::plan::CanonicalKey;
use crate::query::KeyRange;
use crate::repo::{EntityPatch, Patch};

impl<E: Migrates> Migrating<E> {
    /// Sets the properties of a patch in the stored entity, and keeps the others. One request for an entity that has
    /// moved, or two where it has index rows; for one that has not, four where the client inserts the old form, and six
    /// where it inserts the new one, because the merge moves it then: four within a partition.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, TableEntity)]
    /// # #[table(name = "lots", partition = "{hall}", row = "L:{n:03}")]
    /// # struct LotV1 { hall: String, n: u32, sold: bool }
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "lots2", partition = "{hall}", row = "LOT:{n:08}", migrate_from = LotV1)]
    /// # struct Lot { hall: String, n: u32, sold: bool }
    /// # impl From<LotV1> for Lot { fn from(LotV1 { hall, n, sold }: LotV1) -> Self { Self { hall, n, sold } } }
    /// # impl From<Lot> for LotV1 { fn from(Lot { hall, n, sold }: Lot) -> Self { Self { hall, n, sold } } }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let old = tables.repo::<LotV1>();
    /// # old.create_table().await?;
    /// # old.insert(&LotV1 { hall: "a".into(), n: 1, sold: false }).await?;
    /// # let lots = tables.migrating::<Lot>()?;
    /// # lots.create_table_if_not_exists().await?;
    /// let key = Lot::partition("a").row().n(1_u32);
    /// lots.merge(&key, LotPatch::default().sold(true)).await?;
    /// assert_eq!(lots.get(&key).await?.map(|lot| lot.sold), Some(true));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - [`Error::NotFound`] when there is no entity of that key, in either form.
    /// - [`Error::Conflict`] when every attempt lost to another writer.
    /// - [`MigrationError::KeyDiffers`](crate::migrate::MigrationError::KeyDiffers) when the conversion to the old type
    ///   changes the key.
    ///
    /// Nothing is written in these cases.
    pub async fn merge<Q>(&self, key: Q, patch: impl EntityPatch<E>) -> Result<()>
    where
        Q: CompleteKey + CanonicalKeyOf<E>,
    {
        self.merge_at(keys_of(key)?, patch.into_patch()).await
    }

    pub(super) async fn merge_at(&self, keys: KeyRange, patch: Patch<E>) -> Result<()> {
        let key = CanonicalKey::of(keys.clone());
        let mut attempts = self.attempts();
        loop {
            let merged = self.new.merge_keys(Ok(keys.clone()), patch.clone()).await;
            let error = match merged {
                Err(error @ Error::NotFound(_)) => error,
                merged => return merged.map(drop),
            };
            let Some(mut held) = self.hold(&key).await? else { return Err(error) };
            // It moved between the two: the merge finds it now.
            let lost = if let Stored::Old(old) = &held.stored {
                let row = old.rows.canonical().map(|row| &*row.body).unwrap_or_default();
                let body = patch.body(&key.partition_key, &key.row_key)?;
                held.entity = read_row(canonical::<E>(), &overlay(row, &body, &[])?)?;
                match self.save(&mut held).await {
                    Err(lost) if is_lost(&lost) => lost,
                    saved => return saved,
                }
            } else {
                error
            };
            if !attempts.next().await {
                return Err(lost);
            }
        }
    }
}
