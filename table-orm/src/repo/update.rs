//! Changes of a stored entity that depend on what is stored.

use super::Repo;
use super::save::prepare;
use crate::entity::{CanonicalKeyOf, CompleteKey, Loaded, TableEntity};
use crate::error::{Error, Result};
use crate::key::KeyError;
use crate::plan::{
    CanonicalKey, Decision, MAX_ATTEMPTS, OptimisticWrite, Outcome, Plan, TableClient,
};
use crate::query::KeyRange;
use futures_core::future::BoxFuture;
use std::fmt;

impl<E: TableEntity> Repo<E> {
    /// Reads the entity under a canonical key, has it changed, and saves it under its ETag; when
    /// another writer came between, again from the start, at most [`MAX_ATTEMPTS`] times or [as
    /// told](Update::attempts). For increments and appends, which depend on what is stored. Gives the
    /// entity as it is now.
    ///
    /// Writes of one entity that read first take turns, in the order they began, among all clones of
    /// a [`Tables`](crate::Tables): each sends a read and a write. Writers from elsewhere, such as
    /// other processes, and `save` and blind writes, which do not wait, may come between. A call waits
    /// 5 seconds for its turn at most, since a call that has begun keeps its place until it ends or is
    /// dropped: set aside, unfinished and not polled, it holds up others of its entity for so long.
    ///
    /// `change` is called once for each attempt, with what is stored then. Properties that `E` does
    /// not know go, as with [`save`](Self::save).
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Conflict`] when other writers came between each time: call again;
    /// [`Error::AlreadyExists`] or [`Error::UniqueViolation`] when another entity has a key of the
    /// changed one; [`Error::PartitionChanged`]; [`Error::KeyMismatch`], as [`load`](Self::load).
    pub fn update<'a, Q>(&self, key: Q, change: impl FnMut(&mut E) + Send + 'a) -> Update<'a, E>
    where
        Q: CompleteKey + CanonicalKeyOf<E>,
    {
        let mut change = change;
        self.try_update(key, move |entity| {
            change(entity);
            Ok(())
        })
    }

    /// As [`update`](Self::update), for a change that may find that it is not to be made: then its
    /// error is given back, and nothing is written.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "orders", partition = "{shop}", row = "{id:05}")]
    /// # struct Order { shop: String, id: u32, shipped: bool, cancelled: bool }
    /// #[derive(Debug, thiserror::Error)]
    /// enum CancelError {
    ///     #[error("it has left the house")]
    ///     Shipped,
    ///     #[error(transparent)]
    ///     Table(#[from] table_orm::Error),
    /// }
    ///
    /// # async fn run() -> Result<(), CancelError> {
    /// # let orders = Tables::in_memory()?.repo::<Order>();
    /// # orders.create_table().await?;
    /// # orders.insert(&Order { shop: "a".into(), id: 1, shipped: true, cancelled: false }).await?;
    /// let cancel = orders.try_update(Order::partition("a").row().id(1), |order| {
    ///     if order.shipped {
    ///         return Err(CancelError::Shipped);
    ///     }
    ///     order.cancelled = true;
    ///     Ok(())
    /// });
    /// assert!(matches!(cancel.await, Err(CancelError::Shipped)));
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
    /// ```
    ///
    /// # Errors
    /// What `change` gives, and as `update`.
    pub fn try_update<'a, Q, X: From<Error>>(
        &self,
        key: Q,
        change: impl FnMut(&mut E) -> Result<(), X> + Send + 'a,
    ) -> Update<'a, E, X>
    where
        Q: CompleteKey + CanonicalKeyOf<E>,
    {
        let (client, keys) = (self.client.clone(), key.into_keys());
        Update { client, keys, change: Box::new(change), attempts: MAX_ATTEMPTS }
    }
}

/// What becomes of a stored entity, or why nothing does.
pub(super) type Change<'a, E, X> = Box<dyn FnMut(&mut E) -> Result<(), X> + Send + 'a>;

/// A change of a stored entity: `.await` reads it, changes it and saves it, `.plan()` shows that.
#[must_use = "nothing is sent until this is awaited"]
pub struct Update<'a, E, X = Error> {
    client: TableClient,
    keys: Result<KeyRange, KeyError>,
    change: Change<'a, E, X>,
    attempts: usize,
}

impl<E, X> fmt::Debug for Update<'_, E, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Update").field("keys", &self.keys).finish_non_exhaustive()
    }
}

impl<E: TableEntity, X: From<Error>> Update<'_, E, X> {
    /// Tries at most so often when other writers come between, instead of [`MAX_ATTEMPTS`] times;
    /// 0 counts as 1.
    pub fn attempts(mut self, attempts: usize) -> Self {
        self.attempts = attempts.max(1);
        self
    }

    /// Returns what it will send.
    ///
    /// # Errors
    /// When a key cannot hold one of the values.
    pub fn plan(&self) -> Result<Plan> {
        Ok(self.prepare()?.plan())
    }

    fn prepare(&self) -> Result<OptimisticWrite> {
        let key = CanonicalKey::of(self.keys.clone()?);
        Ok(OptimisticWrite::new::<E>(&self.client, key, None, self.attempts))
    }

    /// Reads the entity, changes it and saves it.
    async fn run(self) -> Result<Loaded<E>, X> {
        let write = self.prepare()?;
        let Self { client, mut change, .. } = self;
        let outcome = write.run::<E, X>(&client, |loaded| {
            change(loaded)?;
            let (batch, rows) = prepare(loaded)?;
            Ok(Decision { batch, canonical: rows.canonical().cloned() })
        });
        let Outcome { loaded, canonical, etag } = outcome.await?;
        let key = write.key();
        let (mut loaded, row) = loaded
            .zip(canonical)
            .ok_or_else(|| client.not_found(&key.partition_key, &key.row_key))?;
        loaded.written(row.body, client.version(key, etag)?);
        Ok(loaded)
    }
}

impl<'a, E, X> IntoFuture for Update<'a, E, X>
where
    E: TableEntity + 'a,
    X: From<Error> + Send + 'a,
{
    type Output = Result<Loaded<E>, X>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
