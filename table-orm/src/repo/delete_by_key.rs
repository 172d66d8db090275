//! Deletes of an entity by its key, in one version or in any.

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
use std::time::Duration;

impl<E: TableEntity> Repo<E> {
    /// Deletes the entity under a canonical key if it still has that version.
    ///
    /// Use it for an ETag from outside, such as the `If-Match` of an app's own client; a loaded entity is
    /// deleted by [`delete`](Self::delete). It takes one request if the type has one row, and neither `unique(..)`,
    /// `sums` nor an `outbox`. Otherwise it reads the other rows first, and writes under the ETag. Such calls run one
    /// at a time, as those of [`update`](Self::update).
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
    pub fn delete_if<Q>(&self, key: Q, etag: &ETag) -> DeleteByKey<E>
    where
        Q: CompleteKey + CanonicalKeyOf<E>,
    {
        self.by_key(key, Some(etag.clone()))
    }

    /// Deletes the entity under a canonical key, whatever its version.
    ///
    /// It also deletes what other writers have just changed; [`delete`](Self::delete) and
    /// [`delete_if`](Self::delete_if) fail then. It takes one request if the type has one row, and neither
    /// `unique(..)`, `sums` nor an `outbox`. Otherwise it reads the other rows first, writes under the ETag that it
    /// read, and tries again when another writer was faster. Such calls run one at a time, as those of
    /// [`update`](Self::update).
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
    /// notes.insert(&Note { owner: "ann".into(), id: 1, text: "milk".into() }).await?;
    /// let key = Note::partition("ann").row().id(1);
    /// notes.delete_by_key(&key).await?;
    /// assert!(matches!(notes.delete_by_key(&key).await, Err(Error::NotFound(_))));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - [`Error::NotFound`] when the entity does not exist.
    /// - [`Error::Conflict`] when other writers were faster for as long as it tried.
    /// - [`Error::KeyMismatch`] when the properties of the stored row make another key, if it reads first.
    ///
    /// Nothing is deleted in any of these cases.
    pub fn delete_by_key<Q>(&self, key: Q) -> DeleteByKey<E>
    where
        Q: CompleteKey + CanonicalKeyOf<E>,
    {
        self.by_key(key, None)
    }

    fn by_key<Q>(&self, key: Q, if_match: Option<ETag>) -> DeleteByKey<E>
    where
        Q: CompleteKey + CanonicalKeyOf<E>,
    {
        DeleteByKey {
            client: self.client.clone(),
            keys: key.into_keys(),
            if_match,
            limits: RetryLimits::default(),
            settling: Settling::default(),
            entity: PhantomData,
        }
    }
}

/// A delete of the entity under a key: `.await` sends it, `.plan()` shows it.
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct DeleteByKey<E> {
    client: TableClient,
    keys: Result<KeyRange, KeyError>,
    /// The version that it has to have; `None` for any.
    if_match: Option<ETag>,
    limits: RetryLimits,
    settling: Settling,
    entity: PhantomData<fn() -> E>,
}

/// A delete as it is sent.
enum Prepared {
    OneRow(Batch),
    OverStored(Box<OptimisticWrite>),
}

impl<E: TableEntity> DeleteByKey<E> {
    fn has_one_row() -> bool {
        E::ROWS.len() == 1 && E::GUARDS.is_empty() && !has_eventual_rows::<E>()
    }

    /// Sets how long it tries again when other writers change the entity in between, instead of
    /// [`CONFLICT_RETRY_TIME`](crate::repo::CONFLICT_RETRY_TIME). With zero it makes one attempt. A delete of one
    /// version, or one that reads nothing first, is sent once.
    pub const fn retry_for(mut self, time: Duration) -> Self {
        self.limits.time = time;
        self
    }

    /// Sets the most writes that it sends within that time; 0 counts as 1. A delete of one version, or one that reads
    /// nothing first, is sent once.
    pub fn attempts(mut self, attempts: usize) -> Self {
        self.limits.set_attempts(attempts);
        self
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
            let limits = if self.if_match.is_some() { RetryLimits::ONCE } else { self.limits };
            let write = OptimisticWrite::new::<E>(&self.client, key, None, limits);
            return Ok(Prepared::OverStored(Box::new(write)));
        }
        let CanonicalKey { partition_key, row_key } = key;
        let guard = self.if_match.clone().map_or(IfMatch::Any, IfMatch::ETag);
        let operations = vec![Operation { row_key, action: Action::Delete(guard) }];
        Ok(Prepared::OneRow(Batch { partition_key, operations }))
    }

    async fn run(self) -> Result<()> {
        match self.prepare()? {
            Prepared::OneRow(batch) => {
                let row_key = batch.operations.first().map(|operation| operation.row_key.clone());
                let canonical = row_key.as_deref();
                Intents::default().send(&self.client, batch, canonical, &self.settling).await?;
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
        if self.if_match.as_ref().is_some_and(|etag| etag != loaded.etag()) {
            return Err(self.client.changed(&key.partition_key, &key.row_key));
        }
        let guard = IfMatch::ETag(loaded.etag().clone());
        let batch = delete_all(loaded.stored_rows()?, <E::Canonical as Row>::INDEX, &guard);
        Ok(Decision { batch, canonical: None })
    }
}

impl<E: TableEntity + 'static> IntoFuture for DeleteByKey<E> {
    type Output = Result<()>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
