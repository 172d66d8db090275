//! Sets the properties of a patch, in either form.
//!
//! Invariant: an entity in its old form is changed under the version that was read.

use super::loaded::{MigratingLoaded, Stored};
use super::migrates::Migrates;
use super::migrating::Migrating;
use super::save::{is_lost, is_there};
use crate::codec::overlay;
use crate::entity::{CanonicalKeyOf, CompleteKey, EntityRows, canonical, keys_of, read_row};
use crate::error::{Error, LargeValueError, Result};
use crate::key::KeyError;
use crate::model::ETag;
use crate::plan::CanonicalKey;
use crate::query::KeyRange;
use crate::repo::{EntityPatch, Merge, Patch};
use futures_core::future::BoxFuture;
use std::borrow::Cow;

impl<E: Migrates> Migrating<E> {
    /// Sets the properties of a patch in the stored entity, and keeps the others.
    ///
    /// An entity that has moved takes one request, or two if it has index rows. An entity that has not moved
    /// takes four requests if the client inserts the old form. If the client inserts the new form, the merge
    /// moves the entity: six requests, or four within a partition.
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
    /// let lot = lots.load(&key).await?.expect("it is stored");
    /// assert!(lot.sold);
    /// let etag = lot.etag().expect("it was read");
    /// lots.merge(&key, LotPatch::default().sold(false)).if_match(etag).await?;
    /// assert_eq!(lots.get(&key).await?.map(|lot| lot.sold), Some(false));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - [`Error::NotFound`] when there is no entity of that key, in either form.
    /// - [`Error::Conflict`] when every attempt lost to another writer.
    /// - [`MigrationError::KeyDiffers`](crate::migrate::MigrationError::KeyDiffers) when the conversion to the old type
    ///   changes the key.
    /// - [`MigrationError::RowTaken`](crate::migrate::MigrationError::RowTaken) when the entity waits for an index row that
    ///   another entity has.
    ///
    /// Nothing is written in these cases.
    pub fn merge<Q>(&self, key: Q, patch: impl EntityPatch<E>) -> MigratingMerge<E>
    where
        Q: CompleteKey + CanonicalKeyOf<E>,
    {
        self.merge_at(keys_of(key), patch.into_patch())
    }

    pub(super) fn merge_at(
        &self,
        keys: Result<KeyRange, KeyError>,
        patch: Patch<E>,
    ) -> MigratingMerge<E> {
        MigratingMerge { client: self.clone(), keys, patch, insert: false, if_match: None }
    }
}

/// A merge of a patch, in either form: `.await` sends it.
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct MigratingMerge<E: Migrates> {
    client: Migrating<E>,
    keys: Result<KeyRange, KeyError>,
    patch: Patch<E>,
    insert: bool,
    if_match: Option<ETag>,
}

impl<E: Migrates> MigratingMerge<E> {
    /// Inserts the entity when it does not exist, in the form of this client. The key and the patch must then provide a
    /// value for every field, as in [`Merge::or_insert`].
    ///
    /// # Errors
    /// The call fails with [`Error::IncompleteEntity`] when a field has no value, and with [`Error::AlreadyExists`] when
    /// another entity has its old key.
    pub fn or_insert(mut self) -> Self {
        self.insert = true;
        self
    }

    /// Requires that the stored entity still has that version: [`MigratingLoaded::etag`]. The entity must exist then, also with
    /// [`or_insert`](Self::or_insert). A move gives it another version.
    ///
    /// # Errors
    /// The call fails with [`Error::Conflict`] when the stored entity has another version. Nothing is written then.
    pub fn if_match(mut self, etag: &ETag) -> Self {
        self.if_match = Some(etag.clone());
        self
    }

    /// The merge into the new row.
    fn in_place(&self, keys: KeyRange) -> Merge<E> {
        let merge = self.client.new.merge_keys(Ok(keys), self.patch.clone());
        self.if_match.iter().fold(merge, Merge::if_match)
    }

    async fn run(self) -> Result<()> {
        let client = &self.client;
        let keys = self.keys.clone()?;
        let key = CanonicalKey::of(keys.clone());
        let inserts = self.insert && self.if_match.is_none();
        let absent = inserts.then(|| self.in_place(keys.clone()).inserted()).transpose()?;
        let mut attempts = client.attempts();
        loop {
            let error = match self.in_place(keys.clone()).await {
                Err(error) if matches!(error, Error::NotFound(_)) || is_of_old_key(&error) => error,
                merged => return merged.map(drop),
            };
            let lost = match client.hold(&key).await? {
                Some(mut held) => {
                    let rows = match &held.stored {
                        Stored::Old(old) => Some(Cow::Borrowed(&old.rows)),
                        Stored::Parcel(parcel) => Some(Cow::Borrowed(&parcel.rows)),
                        // A save copies the value.
                        Stored::New(loaded) if is_of_old_key(&error) => {
                            Some(Cow::Owned(loaded.stored_rows()?))
                        }
                        Stored::New(_) | Stored::Moved => None,
                    };
                    if let Some(rows) = &rows {
                        if self.if_match.as_ref().is_some_and(|etag| Some(etag) != held.etag()) {
                            return Err(client.changed(&key));
                        }
                        held.entity = self.merged(rows, &key)?;
                        match self.save(&mut held).await? {
                            Some(lost) => lost,
                            None => return Ok(()),
                        }
                    } else {
                        // It moved between the two: the merge finds it now.
                        error
                    }
                }
                None => match &absent {
                    None if is_of_old_key(&error) => {
                        return Err(client.new.client.not_found(&key.partition_key, &key.row_key));
                    }
                    None => return Err(error),
                    Some(entity) => match client.insert(entity).await {
                        Err(lost) if is_there(&lost) => {
                            if client.is_old_key_taken(&key).await? {
                                return Err(lost);
                            }
                            lost
                        }
                        inserted => return inserted,
                    },
                },
            };
            if !attempts.next().await {
                return Err(lost);
            }
        }
    }

    /// The entity with the properties of the patch.
    fn merged(&self, rows: &EntityRows, key: &CanonicalKey) -> Result<E> {
        let row = rows.canonical().map(|row| &*row.body).unwrap_or_default();
        let body = self.patch.body(&key.partition_key, &key.row_key)?;
        Ok(read_row(canonical::<E>(), &overlay(row, &body, &[])?)?)
    }

    /// Returns the error of a save that lost to another writer.
    async fn save(&self, held: &mut MigratingLoaded<E>) -> Result<Option<Error>> {
        match self.client.save(held).await {
            Ok(()) => Ok(None),
            Err(lost) if is_lost(&lost) => Ok(Some(lost)),
            Err(error) => Err(error),
        }
    }
}

/// Whether the patch has a large value of another key, which may be the old one.
const fn is_of_old_key(error: &Error) -> bool {
    matches!(error, Error::LargeValue(LargeValueError::OfAnotherEntity { .. }))
}

impl<E: Migrates> IntoFuture for MigratingMerge<E> {
    type Output = Result<()>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
