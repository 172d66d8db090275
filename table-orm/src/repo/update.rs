//! Changes of a stored entity that depend on its stored values.

use super::Repo;
use super::save::prepare;
use crate::entity::{CanonicalKeyOf, CompleteKey, EntityRows, Loaded, TableEntity};
use crate::error::{Error, Result};
use crate::eventual::{Settling, plan_with_settling, run_and_settle, settling_methods};
use crate::key::KeyError;
use crate::model::TableName;
use crate::plan::{
    CanonicalKey, Decision, OptimisticWrite, Outcome, Plan, RetryLimits, Step, TableClient,
    WhenAbsent,
};
use crate::query::KeyRange;
use futures_core::future::BoxFuture;
use std::fmt;
use std::time::Duration;

impl<E: TableEntity> Repo<E> {
    /// Reads the entity under a canonical key, applies `change`, and saves it under the ETag that was read.
    /// Returns the saved entity.
    ///
    /// Use it for increments and appends. Each attempt costs a read and a write. When another writer changed
    /// the entity in between, it waits and starts again from the read, for up to
    /// [`CONFLICT_RETRY_TIME`](crate::repo::CONFLICT_RETRY_TIME) or the time set by
    /// [`retry_for`](Update::retry_for). Each attempt calls `change` once, with the values stored then. As with
    /// [`save`](Self::save), stored properties that `E` does not know are removed.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "stock", partition = "{shop}", row = "{sku}")]
    /// # struct Item { shop: String, sku: String, count: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let stock = Tables::in_memory()?.repo::<Item>();
    /// # stock.create_table().await?;
    /// stock.insert(&Item { shop: "north".into(), sku: "tea".into(), count: 3 }).await?;
    /// let key = Item::partition("north").row().sku("tea");
    /// let tea = stock.update(&key, |tea| tea.count += 1).await?;
    /// assert_eq!(tea.count, 4);
    /// // No update is lost when two run at a time.
    /// let (one, two) = (stock.update(&key, |tea| tea.count += 1), stock.update(&key, |tea| tea.count += 1));
    /// tokio::try_join!(one.into_future(), two.into_future())?;
    /// assert_eq!(stock.get(&key).await?.map(|tea| tea.count), Some(6));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Calls that read before they write run one at a time for each entity, in the order they began, among
    /// all clones of a [`Tables`](crate::Tables). Other processes, `save` and writes without a read do not
    /// wait, so they may write in between. When the calls before it make no progress for 5 s, a call
    /// continues with only the ETag as protection: a future that is kept but not polled blocks other writers
    /// of its entity for up to 5 s.
    ///
    /// # Errors
    /// - [`Error::NotFound`] when the entity does not exist.
    /// - [`Error::Conflict`] when every attempt lost to another writer. Calling again is safe.
    /// - [`Error::AlreadyExists`] or [`Error::UniqueViolation`] when another entity has one of the new keys.
    /// - [`Error::PartitionChanged`] when the change moves the entity to another partition.
    /// - [`Error::KeyMismatch`] when the properties of the stored row make another key, as in
    ///   [`load`](Self::load).
    ///
    /// Nothing is written in any of these cases.
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

    /// Does the same as [`update`](Self::update) with a change that may fail. Returns the error of the
    /// change, and writes nothing then.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "orders", partition = "{shop}", row = "{id:05}")]
    /// # struct Order { shop: String, id: u32, shipped: bool, cancelled: bool }
    /// #[derive(Debug, thiserror::Error)]
    /// enum CancelError {
    ///     #[error("the order has been shipped")]
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
    /// The error of `change`. Otherwise as [`update`](Self::update).
    pub fn try_update<'a, Q, X: From<Error>>(
        &self,
        key: Q,
        change: impl FnMut(&mut E) -> Result<(), X> + Send + 'a,
    ) -> Update<'a, E, X>
    where
        Q: CompleteKey + CanonicalKeyOf<E>,
    {
        let (client, keys) = (self.client.clone(), key.into_keys());
        Update {
            client,
            keys,
            change: Box::new(change),
            absent: None,
            limits: RetryLimits::default(),
            settling: Settling::default(),
        }
    }
}

/// A change of a stored entity, or the reason not to change it.
type Change<'a, E, X> = Box<dyn FnMut(&mut E) -> Result<(), X> + Send + 'a>;

/// Makes the entity to insert when nothing is stored.
type MakeEntity<'a, E> = Box<dyn FnMut() -> E + Send + 'a>;

/// A change of a stored entity: `.await` reads, changes and saves it; `.plan()` shows the requests.
///
/// ```
/// # use table_orm::{TableEntity, Tables};
/// # #[derive(Debug, Clone, PartialEq, TableEntity)]
/// # #[table(name = "stock", partition = "{shop}", row = "{sku}")]
/// # struct Item { shop: String, sku: String, count: u32 }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let stock = Tables::in_memory()?.repo::<Item>();
/// # stock.create_table().await?;
/// stock.insert(&Item { shop: "north".into(), sku: "tea".into(), count: 3 }).await?;
/// let key = Item::partition("north").row().sku("tea");
/// let update = stock.update(key, |tea| tea.count = 0).attempts(3);
/// assert!(update.plan()?.to_string().contains("at most 3 attempts"));
/// assert_eq!(update.await?.count, 0);
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is sent until this is awaited"]
pub struct Update<'a, E, X = Error> {
    client: TableClient,
    keys: Result<KeyRange, KeyError>,
    change: Change<'a, E, X>,
    absent: Option<MakeEntity<'a, E>>,
    limits: RetryLimits,
    settling: Settling,
}

impl<E, X> fmt::Debug for Update<'_, E, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Update").field("keys", &self.keys).finish_non_exhaustive()
    }
}

impl<'a, E: TableEntity, X: From<Error>> Update<'a, E, X> {
    /// Inserts the entity that `make` returns when nothing is stored under the key. The change is not applied
    /// to it.
    ///
    /// `make` is called once for each attempt that finds nothing: another writer may insert the entity in
    /// between, and then the change is applied to that one. An entity that is inserted returns as it is read
    /// back: a `skip` field has its default.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "stock", partition = "{shop}", row = "{sku}")]
    /// # struct Item { shop: String, sku: String, count: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let stock = Tables::in_memory()?.repo::<Item>();
    /// # stock.create_table().await?;
    /// let key = Item::partition("north").row().sku("tea");
    /// for expected in [1, 2] {
    ///     let first = || Item { shop: "north".into(), sku: "tea".into(), count: 1 };
    ///     let tea = stock.update(&key, |tea| tea.count += 1).or_insert_with(first).await?;
    ///     assert_eq!(tea.count, expected);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The call fails with [`Error::OtherKey`] when the entity that `make` returns has another canonical key,
    /// and with [`Error::AlreadyExists`] or [`Error::UniqueViolation`] when another entity has one of its
    /// other keys, or a row of another type has its key. Nothing is written then.
    pub fn or_insert_with(mut self, make: impl FnMut() -> E + Send + 'a) -> Self {
        self.absent = Some(Box::new(make));
        self
    }

    /// Sets how long it tries again when other writers change the entity in between, instead of
    /// [`CONFLICT_RETRY_TIME`](crate::repo::CONFLICT_RETRY_TIME). With zero it makes one attempt.
    pub const fn retry_for(mut self, time: Duration) -> Self {
        self.limits.time = time;
        self
    }

    /// Sets the most attempts within that time; 0 counts as 1.
    pub fn attempts(mut self, attempts: usize) -> Self {
        self.limits.set_attempts(attempts);
        self
    }

    /// Returns what it will send, without sending it: a read, and a write that depends on the answer.
    ///
    /// # Errors
    /// When a key cannot hold one of the values.
    pub fn plan(&self) -> Result<Plan> {
        let mut plan = self.prepare()?.plan();
        if let (Some(_), Some(Step::CommitChanges { absent, .. })) =
            (&self.absent, plan.steps.last_mut())
        {
            *absent = WhenAbsent::InsertMade;
        }
        Ok(plan_with_settling::<E>(&self.client, plan, &self.settling))
    }

    settling_methods!();

    fn prepare(&self) -> Result<OptimisticWrite> {
        let key = CanonicalKey::of(self.keys.clone()?);
        let write = OptimisticWrite::new::<E>(&self.client, key, None, self.limits);
        Ok(if self.absent.is_some() { write.inserting() } else { write })
    }

    /// Reads the entity, changes it and saves it.
    async fn run(self) -> Result<Loaded<E>, X> {
        let write = self.prepare()?;
        let Self { client, mut change, mut absent, settling, .. } = self;
        let key = write.key();
        let (mut inserted, mut updated) = (None, false);
        let mut decide = |loaded: &mut Loaded<E>| {
            change(loaded)?;
            let (batch, rows) = prepare(&client.table, loaded).map_err(Error::from)?;
            Ok(Decision { batch, canonical: rows.canonical().cloned() })
        };
        let mut insert = |expired: Option<&Loaded<E>>| {
            let make = absent.as_mut();
            let make = make.ok_or_else(|| client.not_found(&key.partition_key, &key.row_key))?;
            let (rows, loaded) = new_entity(&client.table, &make(), key)?;
            inserted = Some(loaded);
            Ok::<_, X>(match expired {
                Some(expired) => Decision::replace(expired, &rows)?,
                None => Decision::insert(rows),
            })
        };
        let mut decide = |loaded: Option<&mut Loaded<E>>| match loaded {
            Some(loaded) if client.is_alive(loaded) => {
                updated = true;
                decide(loaded)
            }
            expired => {
                updated = false;
                insert(expired.as_deref())
            }
        };
        let outcome = run_and_settle::<E, X>(&write, &client, &settling, &mut decide).await?;
        let Outcome { loaded, canonical, etag, .. } = outcome;
        let (mut loaded, row) = loaded
            .filter(|_| updated)
            .or(inserted)
            .zip(canonical)
            .ok_or_else(|| client.not_found(&key.partition_key, &key.row_key))?;
        loaded.written(row.body, client.version(key, etag)?);
        Ok(loaded)
    }
}

/// The rows of an entity to insert under that key, and the entity as it will be read from them.
fn new_entity<E: TableEntity>(
    table: &TableName,
    entity: &E,
    key: &CanonicalKey,
) -> Result<(EntityRows, Loaded<E>)> {
    let rows = EntityRows::of_in(entity, table)?;
    let made = CanonicalKey {
        partition_key: rows.partition_key.clone(),
        row_key: rows.canonical().map(|row| row.row_key.clone()).unwrap_or_default(),
    };
    if made != *key {
        let CanonicalKey { partition_key, row_key } = key.clone();
        return Err(Error::OtherKey {
            entity: E::NAME,
            partition_key,
            row_key,
            made_partition_key: made.partition_key,
            made_row_key: made.row_key,
        });
    }
    let loaded = Loaded::of_rows(&rows)?;
    Ok((rows, loaded))
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
