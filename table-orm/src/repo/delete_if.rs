//! Deletes of an entity by its key and version.

use super::Repo;
use crate::entity::{CanonicalKeyOf, CompleteKey, Loaded, Row, TableEntity, has_eventual_rows};
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::eventual::{Intents, Settling, change_and_settle, plan_of_delete, settling_methods};
use crate::key::KeyError;
use crate::model::ETag;
use crate::plan::{
    CanonicalKey, Decision, OptimisticWrite, Plan, RetryLimits, TableClient, delete_all,
};
use crate::query::KeyRange;
use crate::store::{Action, Batch, IfMatch, Operation};
use futures_core::future::BoxFuture;
use std::marker::PhantomData;

impl<E: TableEntity> Repo<E> {
    /// Deletes the entity under a canonical key if it still has that version.
    ///
    /// Use it for an ETag from outside, such as the `If-Match` of an app's own client; a loaded entity is
    /// deleted by [`delete`](Self::delete). It takes one request if the entity has one row and no `unique(..)`.
    /// Otherwise it reads the other rows first, and writes under the ETag. Such calls run one at a time, as
    /// those of [`update`](Self::update).
    ///
    /// ```
    /// # use table_orm::{Error, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "notes", partition = "{owner}", row = "{id:05}")]
    /// # struct Note { owner: String, id: u32, text: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let notes = Tables::in_memory()?.repo::<Note>();
    /// # notes.create_table().await?;
    /// let mut note = Note { owner: "ann".into(), id: 1, text: "milk".into() };
    /// let etag = notes.insert(&note).await?;
    /// note.text = "bread".into();
    /// let newer = notes.replace(&note, &etag).await?;
    /// let key = Note::partition("ann").row().id(1);
    /// assert!(matches!(notes.delete_if(&key, &etag).await, Err(Error::Conflict(_))));
    /// notes.delete_if(&key, &newer).await?;
    /// assert_eq!(notes.get(&key).await?, None);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - [`Error::Conflict`] when the stored entity has another version.
    /// - [`Error::NotFound`] when it does not exist.
    /// - [`Error::KeyMismatch`] when the properties of the stored row make another key, if it reads first.
    ///
    /// Nothing is deleted in any of these cases.
    pub fn delete_if<Q>(&self, key: Q, etag: &ETag) -> DeleteIf<E>
    where
        Q: CompleteKey + CanonicalKeyOf<E>,
    {
        let (client, keys) = (self.client.clone(), key.into_keys());
        let settling = Settling::default();
        DeleteIf { client, keys, etag: etag.clone(), settling, entity: PhantomData }
    }
}

/// A delete of an entity in one version: `.await` sends it, `.plan()` shows it.
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct DeleteIf<E> {
    client: TableClient,
    keys: Result<KeyRange, KeyError>,
    etag: ETag,
    settling: Settling,
    entity: PhantomData<fn() -> E>,
}

/// A delete as it is sent.
enum Prepared {
    OneRow(Batch),
    OverStored(Box<OptimisticWrite>),
}

impl<E: TableEntity> DeleteIf<E> {
    fn has_one_row() -> bool {
        E::ROWS.len() == 1 && E::GUARDS.is_empty() && !has_eventual_rows::<E>()
    }

    /// Returns what it will send, without sending it.
    ///
    /// # Errors
    /// When a key cannot hold one of the values.
    pub fn plan(&self) -> Result<Plan> {
        Ok(match self.prepare()? {
            Prepared::OneRow(batch) => {
                Intents::default().plan(&self.client, batch, &self.settling)?
            }
            Prepared::OverStored(write) => {
                plan_of_delete::<E>(&self.client, write.plan(), &self.settling)
            }
        })
    }

    settling_methods!();

    fn prepare(&self) -> Result<Prepared> {
        let key = CanonicalKey::of(self.keys.clone()?);
        if !Self::has_one_row() {
            let write = OptimisticWrite::new::<E>(&self.client, key, None, RetryLimits::ONCE);
            return Ok(Prepared::OverStored(Box::new(write)));
        }
        let CanonicalKey { partition_key, row_key } = key;
        let action = Action::Delete(IfMatch::ETag(self.etag.clone()));
        let operations = vec![Operation { row_key, action }];
        Ok(Prepared::OneRow(Batch { partition_key, operations }))
    }

    async fn run(self) -> Result<()> {
        match self.prepare()? {
            Prepared::OneRow(batch) => {
                Intents::default().send(&self.client, batch, None, &self.settling).await?;
                self.settling.done();
                Ok(())
            }
            Prepared::OverStored(write) => {
                let mut decide = |loaded: &Loaded<E>| self.decide(write.key(), loaded);
                change_and_settle(&write, &self.client, &self.settling, &mut decide).await.map(drop)
            }
        }
    }

    fn decide(&self, key: &CanonicalKey, loaded: &Loaded<E>) -> Result<Decision> {
        if *loaded.etag() != self.etag {
            return Err(self.client.changed(&key.partition_key, &key.row_key));
        }
        let guard = IfMatch::ETag(self.etag.clone());
        let batch = delete_all(loaded.stored_rows()?, <E::Canonical as Row>::INDEX, &guard);
        Ok(Decision { batch, canonical: None })
    }
}

impl<E: TableEntity + 'static> IntoFuture for DeleteIf<E> {
    type Output = Result<()>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
