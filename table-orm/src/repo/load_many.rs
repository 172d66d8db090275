//! Reads of entities by their canonical keys, in order to change them.

use super::Repo;
use super::get::MAX_PARALLEL_GETS;
use crate::entity::{CanonicalKeyOf, CompleteKey, Loaded, Query, TableEntity};
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

/// The point query for the canonical row of a complete key.
pub(super) fn plan<E: TableEntity>(
    client: &TableClient,
    keys: &Result<KeyRange, KeyError>,
) -> Result<Plan> {
    let key = CanonicalKey::of(keys.clone()?);
    Ok(Step::read(client.point_of::<E>(&key)).into())
}
