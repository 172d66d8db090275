//! Repositories whose point reads come from the cache.

use super::Repo;
use std::time::Duration;

impl<E> Repo<E> {
    /// Returns a repository whose [`get`](Self::get) and [`get_many`](Self::get_many) may return an entity as
    /// it was read at most `time` ago, without a request. `#[table(cache = "30s")]` does the same for all
    /// repositories of a type.
    ///
    /// A read sees the writes of another process after `time` at the latest. It sees those of this connection,
    /// through any clone of its [`Tables`](crate::Tables), at once. All other calls ask the store: `load`, lists,
    /// projections, and whatever reads in order to write. Where the copy in another region answers, because of
    /// [`ReadFrom`](crate::layer::ReadFrom), an entity may be older, by as much as the copy is behind.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "prices", partition = "{shop}", row = "{sku}")]
    /// # struct Price { shop: String, sku: String, cents: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # tables.repo::<Price>().create_table().await?;
    /// let prices = tables.repo::<Price>().cached(Duration::from_secs(30));
    /// prices.insert(&Price { shop: "north".into(), sku: "tea".into(), cents: 250 }).await?;
    /// let tea = || Price::partition("north").row().sku("tea");
    /// for _ in 0..100 {
    ///     assert_eq!(prices.get(tea()).await?.map(|tea| tea.cents), Some(250));
    /// }
    /// assert_eq!(tables.cache_counts().misses, 1);
    /// prices.update(tea(), |tea| tea.cents = 300).await?;
    /// assert_eq!(prices.get(tea()).await?.map(|tea| tea.cents), Some(300));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn cached(&self, time: Duration) -> Self {
        self.cached_for(Some(time))
    }

    /// Returns a repository whose reads all ask the store, whatever the type says.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "prices", partition = "{shop}", row = "{sku}", cache = "30s")]
    /// # struct Price { shop: String, sku: String, cents: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// let prices = tables.repo::<Price>().uncached();
    /// # prices.create_table().await?;
    /// assert_eq!(prices.get(Price::partition("north").row().sku("tea")).await?, None);
    /// assert_eq!(tables.cache_counts().misses, 0);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn uncached(&self) -> Self {
        self.cached_for(None)
    }

    fn cached_for(&self, cached_for: Option<Duration>) -> Self {
        let mut repo = self.clone();
        repo.client.cached_for = cached_for;
        repo
    }
}
