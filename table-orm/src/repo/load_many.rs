//! Reads of entities by their canonical keys, in order to change them.

use super::Repo;
use super::get::MAX_PARALLEL_GETS;
use crate::entity::{CanonicalKeyOf, CompleteKey, EntityKeys as _, Loaded, Query, TableEntity};
use crate::error::Result;
use crate::key::KeyError;
use crate::plan::{CanonicalKey, Plan, Step, TableClient};
use crate::query::KeyRange;
use crate::sync::Concurrent;
use futures_core::future::BoxFuture;
use std::marker::PhantomData;

impl<E: TableEntity> Repo<E> {
    /// Reads the entities under many canonical keys with their versions, so that they can be changed and
    /// saved. Returns the answers in the order of the keys, `None` for an entity that does not exist.
    ///
    /// One request for each key, at most [`MAX_PARALLEL_GETS`] in flight.
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
    /// # for (shop, sku) in [("north", "tea"), ("south", "mint")] {
    /// #     stock.insert(&Item { shop: shop.into(), sku: sku.into(), count: 3 }).await?;
    /// # }
    /// let keys = [("north", "tea"), ("south", "tea"), ("south", "mint")];
    /// let keys = keys.map(|(shop, sku)| Item::partition(shop).row().sku(sku));
    /// let found = stock.load_many(keys).await?;
    /// assert!(found[1].is_none());
    /// for mut item in found.into_iter().flatten() {
    ///     item.count += 1;
    ///     stock.save(item).await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - When a key cannot hold one of the values; nothing is sent then.
    /// - [`Error::KeyMismatch`](crate::Error::KeyMismatch) as in [`load`](Self::load).
    /// - The first request that the store rejects, or row that cannot be read.
    pub fn load_many<Q>(&self, keys: impl IntoIterator<Item = Q>) -> LoadMany<E>
    where
        Q: CompleteKey + CanonicalKeyOf<E>,
    {
        let keys = keys.into_iter().map(Query::into_keys).collect();
        LoadMany { client: self.client.clone(), keys, entity: PhantomData }
    }

    /// Reads an entity anew, by its canonical key: one request. Returns it as it is stored now.
    ///
    /// The key is made from the entity's present values. After a change of one of them, this reads another
    /// entity, or none.
    ///
    /// ```
    /// # use table_orm::{Error, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "stock", partition = "{shop}", row = "{sku}")]
    /// # struct Item { shop: String, sku: String, count: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let stock = Tables::in_memory()?.repo::<Item>();
    /// # stock.create_table().await?;
    /// let tea = Item { shop: "north".into(), sku: "tea".into(), count: 3 };
    /// stock.insert(&tea).await?;
    /// let mut first = stock.reload(&tea).await?;
    /// let mut second = first.clone();
    /// first.count = 2;
    /// stock.save(first).await?;
    /// second.count = 9;
    /// assert!(matches!(stock.save(&mut second).await, Err(Error::Conflict(_))));
    /// assert_eq!(stock.reload(&second).await?.count, 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) when it does not exist. Otherwise as
    /// [`load_many`](Self::load_many).
    pub fn reload(&self, entity: &E) -> Reload<E> {
        Reload { client: self.client.clone(), keys: entity.key().into_keys(), entity: PhantomData }
    }
}

/// A read of many entities: `.await` sends it, `.plan()` shows it.
///
/// ```
/// # use table_orm::{TableEntity, Tables};
/// # #[derive(Debug, Clone, PartialEq, TableEntity)]
/// # #[table(name = "tracks", partition = "{album}", row = "{number:02}")]
/// # struct Track { album: String, number: u8, title: String }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let tracks = Tables::in_memory()?.repo::<Track>();
/// # tracks.create_table().await?;
/// let keys = (1..=20).map(|number| Track::partition("Giant Steps").row().number(number));
/// let load = tracks.load_many(keys);
/// assert_eq!(load.plan()?.steps.len(), 20);
/// assert_eq!(load.await?.len(), 20);
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct LoadMany<E> {
    client: TableClient,
    keys: Vec<Result<KeyRange, KeyError>>,
    entity: PhantomData<fn() -> E>,
}

impl<E: TableEntity> LoadMany<E> {
    /// Returns the requests that it will send, in the order of the keys, without sending them.
    ///
    /// # Errors
    /// When a key cannot hold one of the values.
    pub fn plan(&self) -> Result<Plan> {
        self.keys.iter().map(|keys| plan::<E>(&self.client, keys)).collect()
    }

    async fn run(self) -> Result<Vec<Option<Loaded<E>>>>
    where
        E: 'static,
    {
        // All keys first: an invalid key fails the call before anything is sent.
        let keys = self.keys.into_iter().collect::<Result<Vec<_>, _>>()?;
        let client = &self.client;
        let loading = keys
            .into_iter()
            .map(|keys| async move { client.load_alive(&CanonicalKey::of(keys)).await });
        Concurrent::in_order(loading, MAX_PARALLEL_GETS).try_all().await
    }
}

impl<E: TableEntity + 'static> IntoFuture for LoadMany<E> {
    type Output = Result<Vec<Option<Loaded<E>>>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// A read of an entity anew: `.await` sends it, `.plan()` shows it.
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct Reload<E> {
    client: TableClient,
    keys: Result<KeyRange, KeyError>,
    entity: PhantomData<fn() -> E>,
}

impl<E: TableEntity> Reload<E> {
    /// Returns the request that it will send, without sending it.
    ///
    /// # Errors
    /// When a key cannot hold one of the entity's values.
    pub fn plan(&self) -> Result<Plan> {
        plan::<E>(&self.client, &self.keys)
    }

    async fn run(self) -> Result<Loaded<E>> {
        let key = CanonicalKey::of(self.keys?);
        let loaded = self.client.load_alive(&key).await?;
        loaded.ok_or_else(|| self.client.not_found(&key.partition_key, &key.row_key))
    }
}

impl<E: TableEntity + 'static> IntoFuture for Reload<E> {
    type Output = Result<Loaded<E>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// The point query for the canonical row of a complete key.
fn plan<E: TableEntity>(client: &TableClient, keys: &Result<KeyRange, KeyError>) -> Result<Plan> {
    let key = CanonicalKey::of(keys.clone()?);
    Ok(Step::read(client.point_of::<E>(&key)).into())
}
