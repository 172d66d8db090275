//! The calls that read the entity of one new key, whatever its form.

use super::loaded::{MigratingLoaded, Stored};
use super::located::Located;
use super::migrates::Migrates;
use super::migrating::Migrating;
use crate::entity::{CanonicalKeyOf, CompleteKey, has_across, keys_of};
use crate::error::{Error, MigrationError, Result};
use crate::plan::CanonicalKey;
use crate::repo::MAX_PARALLEL_GETS;
use crate::sync::Concurrent;

impl<E: Migrates> Migrating<E> {
    /// Reads the entity under a new key, whatever its form. One request for an entity that has moved, two for one that
    /// has not, three for one that never was, four for one that was deleted after its move.
    ///
    /// # Errors
    /// When the key cannot hold one of the values, the store rejects a request, or the row cannot be read.
    pub async fn get<Q>(&self, key: Q) -> Result<Option<E>>
    where
        Q: CompleteKey + CanonicalKeyOf<E>,
    {
        self.entity(&CanonicalKey::of(keys_of(key)?)).await
    }

    /// Reads the entities of many new keys, at most 16 at a time, each as [`get`](Self::get) does. Returns the answers in
    /// the order of the keys, `None` where there is no entity.
    ///
    /// # Errors
    /// When a key cannot hold one of the values; nothing is sent then. As [`get`](Self::get).
    pub async fn get_many<Q>(&self, keys: impl IntoIterator<Item = Q>) -> Result<Vec<Option<E>>>
    where
        Q: CompleteKey + CanonicalKeyOf<E>,
    {
        let keys = keys.into_iter().map(|key| Ok(CanonicalKey::of(keys_of(key)?)));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        let entities = keys.into_iter().map(|key| async move { self.entity(&key).await });
        Concurrent::in_order(entities, MAX_PARALLEL_GETS).try_all().await
    }

    /// The entity of a new key.
    pub(super) async fn entity(&self, key: &CanonicalKey) -> Result<Option<E>> {
        Ok(match self.locate_alive(key).await? {
            Located::New(loaded) => Some(loaded.into_inner()),
            Located::Old(old) => Some(old.entity),
            Located::Parcel(parcel) => Some(parcel.entity),
            Located::Nowhere => None,
        })
    }

    /// Reads the entity under a new key, with what `save` and `delete` need. As many requests as [`get`](Self::get).
    /// Finishes the move of an entity that another client was moving, unless another entity has one of its index rows.
    ///
    /// It takes one complete key, so it returns an `Option`. [`Repo::load`](crate::Repo::load) takes any query and
    /// returns a set, of which `optional` is the same.
    ///
    /// # Errors
    /// As [`get`](Self::get); [`Unlanded`](crate::migrate::MigrationError::Unlanded) when the store does not answer the
    /// end of such a move, and [`RowTaken`](crate::migrate::MigrationError::RowTaken) when another row is in its way;
    /// where that is an index row, only of a type with `outbox` or `unique(.., across)`.
    pub async fn load<Q>(&self, key: Q) -> Result<Option<MigratingLoaded<E>>>
    where
        Q: CompleteKey + CanonicalKeyOf<E>,
    {
        self.hold(&CanonicalKey::of(keys_of(key)?)).await
    }

    pub(super) async fn hold(&self, key: &CanonicalKey) -> Result<Option<MigratingLoaded<E>>> {
        let mut attempts = self.attempts();
        loop {
            return Ok(Some(match self.locate_alive(key).await? {
                Located::New(loaded) => {
                    let entity = (*loaded).clone();
                    MigratingLoaded {
                        entity,
                        key: key.clone(),
                        stored: Stored::New(Box::new(loaded)),
                    }
                }
                Located::Old(old) => {
                    let entity = old.entity.clone();
                    MigratingLoaded { entity, key: key.clone(), stored: Stored::Old(old) }
                }
                Located::Parcel(parcel) => {
                    match self.finish_or_wait(&parcel, &mut attempts).await {
                        Err(taken) if may_be_written::<E>(&taken) => {
                            let entity = parcel.entity.clone();
                            MigratingLoaded {
                                entity,
                                key: key.clone(),
                                stored: Stored::Parcel(parcel),
                            }
                        }
                        landed => {
                            landed?;
                            continue;
                        }
                    }
                }
                Located::Nowhere => return Ok(None),
            }));
        }
    }
}

/// Whether an entity cannot land that can be written where it waits. The event of such a write would not say what it
/// changed, so an entity with an outbox is not. Nor is one with values that are unique over all partitions.
const fn may_be_written<E: Migrates>(error: &Error) -> bool {
    matches!(error, Error::Migration(MigrationError::RowTaken { index_row: Some(_), .. }))
        && E::OUTBOX.is_none()
        && !has_across::<E>()
}
