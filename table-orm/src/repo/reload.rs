//! A read of an entity that an app holds, as it is stored now.

use super::Repo;
use super::load_many::plan;
use crate::entity::{EntityKeys as _, Loaded, Query as _, TableEntity};
use crate::error::Result;
use crate::key::KeyError;
use crate::plan::{CanonicalKey, Plan, TableClient};
use crate::query::KeyRange;
use futures_core::future::BoxFuture;
use std::marker::PhantomData;

impl<E: TableEntity> Repo<E> {
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
