//! How tables are connected to a store.

use super::{Tables, TablesBuilder};
use crate::error::{Result, rejected};
use crate::layer::Layer;
use crate::plan::Connection;
use crate::store::{Replication, Store};
use std::sync::Arc;

impl Tables {
    /// Opens the tables in a database file, and creates the file if it does not exist. The file
    /// stays locked until the last clone is dropped.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("race.redb");
    /// let tables = table_orm::Tables::open(&path)?;
    /// // A second process, or connection, cannot open it meanwhile.
    /// assert!(matches!(table_orm::Tables::open(&path), Err(table_orm::Error::Open(_))));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the file is not a database, is in use, or cannot be read and written:
    /// [`Error::Open`](crate::Error::Open).
    #[cfg(feature = "embedded")]
    pub fn open(path: impl AsRef<std::path::Path>) -> Result<Self> {
        Ok(Self::new(crate::embedded::EmbeddedStore::open(path)?))
    }

    /// Creates tables in memory, which last until the last clone is dropped.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, PartialEq, TableEntity)]
    /// # #[table(name = "readings", partition = "{sensor}", row = "{day:05}")]
    /// # struct Reading { sensor: String, day: u32, celsius: f64 }
    ///
    /// # async fn run() -> table_orm::Result<()> {
    /// let readings = Tables::in_memory()?.repo::<Reading>();
    /// readings.create_table().await?;
    /// readings.insert(&Reading { sensor: "roof".into(), day: 1, celsius: 20.5 }).await?;
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
    /// ```
    ///
    /// # Errors
    /// When the database engine cannot start: [`Error::Open`](crate::Error::Open).
    #[cfg(feature = "embedded")]
    pub fn in_memory() -> Result<Self> {
        Ok(Self::new(crate::embedded::EmbeddedStore::in_memory()?))
    }

    /// Connects to the account of a connection string, as the Azure portal shows it, or to Azurite:
    /// `UseDevelopmentStorage=true`. Sends nothing.
    ///
    /// Calls are limited, paced, retried and, by feature, observed, as production needs it:
    /// [`TablesBuilder`] lists the layers and changes them.
    ///
    /// ```
    /// # fn main() -> table_orm::Result<()> {
    /// // Read a real one from the environment: it contains the account's key.
    /// let text = std::env::var("STORAGE").unwrap_or("UseDevelopmentStorage=true".into());
    /// # let text = "UseDevelopmentStorage=true";
    /// let tables = table_orm::Tables::from_connection_string(&text)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the text is not a connection string: [`Error::Connect`](crate::Error::Connect). The
    /// error never shows a key or signature.
    #[cfg(feature = "azure")]
    pub fn from_connection_string(text: &str) -> Result<Self> {
        Self::builder(crate::azure::AzureStore::from_connection_string(text)?).build()
    }

    /// Connects to the account at `endpoint`, such as `https://account.table.core.windows.net`,
    /// with an account key, a shared access signature, or a credential of Entra ID. Sends nothing. Has
    /// the layers of [`from_connection_string`](Self::from_connection_string).
    ///
    /// ```
    /// use table_orm::Tables;
    /// use table_orm::azure::SharedKey;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let key = "a2V5";
    /// let credential = SharedKey::new("account", key)?;
    /// let tables = Tables::azure("https://account.table.core.windows.net", credential)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the endpoint or the credential cannot be used:
    /// [`Error::Connect`](crate::Error::Connect).
    #[cfg(feature = "azure")]
    pub fn azure(endpoint: &str, credential: impl Into<crate::azure::Credential>) -> Result<Self> {
        Self::builder(crate::azure::AzureStore::new(endpoint, credential)?).build()
    }

    /// Starts a connection to any store, with the layers of an account. The builder's methods replace each of
    /// them.
    ///
    /// ```
    /// use std::time::Duration;
    /// use table_orm::Tables;
    /// use table_orm::embedded::EmbeddedStore;
    /// use table_orm::layer::{ConcurrencyLimit, Retry};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = EmbeddedStore::in_memory()?;
    /// # let other = store.clone();
    /// let hasty = Retry::interactive().attempt_timeout(Duration::from_secs(5));
    /// let tables = Tables::builder(store).limit(ConcurrencyLimit::in_flight(16)).retry(hasty).build()?;
    /// let bare = Tables::builder(other).bare().build()?; // no layers: the same as `Tables::new`
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder(store: impl Store + 'static) -> TablesBuilder {
        TablesBuilder::new(Arc::new(store))
    }

    /// Uses the tables of any store, without layers.
    ///
    /// ```
    /// use table_orm::Tables;
    /// use table_orm::embedded::EmbeddedStore;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = EmbeddedStore::in_memory()?;
    /// let tables = Tables::new(store.clone()); // The app keeps the store for direct calls.
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn new(store: impl Store + 'static) -> Self {
        Self::of(Arc::new(store))
    }

    pub(super) fn of(store: Arc<dyn Store>) -> Self {
        Self { connection: Arc::new(Connection::new(store)) }
    }

    /// Adds a [layer](crate::layer): every request passes it on the way to the store. The layer
    /// added last sees a request first; the layer added first is next to the store.
    ///
    /// ```
    /// use table_orm::Tables;
    /// use table_orm::layer::{ConcurrencyLimit, RateLimit, Retry};
    ///
    /// # fn main() -> table_orm::Result<()> {
    /// let tables = Tables::in_memory()?
    ///     .layer(ConcurrencyLimit::default())?
    ///     .layer(RateLimit::default())?
    ///     .layer(Retry::interactive())?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the layer's limits make no sense: [`Error::Layer`](crate::Error::Layer).
    pub fn layer(self, layer: impl Layer) -> Result<Self> {
        let store = layer.around(Arc::clone(&self.connection.store))?;
        // A layer may itself write through the tables below it, and must not wait for those above.
        Ok(Self { connection: Arc::new(self.connection.with_store(store)) })
    }

    /// Asks how far the account's copy in another region has followed. Answers that
    /// [`ReadFrom`](crate::layer::ReadFrom) takes from the copy can be that old. Sends one request to that
    /// region, without retries. `None` where the store has no such copy.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// let tables = table_orm::Tables::in_memory()?;
    /// if let Some(replication) = tables.replication().await? {
    ///     // What was written later may be missing there.
    ///     println!("{:?}: written before {:?}", replication.status, replication.last_sync);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the other region cannot be reached, or the account has no copy that can be read:
    /// [`Error::Unavailable`](crate::Error::Unavailable) or [`Error::Unauthorized`](crate::Error::Unauthorized).
    pub async fn replication(&self) -> Result<Option<Replication>> {
        let Some(secondary) = self.connection.store.secondary() else { return Ok(None) };
        secondary.replication().await.map(Some).map_err(|cause| rejected("", cause))
    }

    /// Waits on tokio's clock instead of the system's. Under a paused clock, waits for other calls and waits
    /// after conflicts then take no real time. The same `seed` makes the same waits, and the same dates in the
    /// names of helper rows. These dates are wrong, but nothing depends on them. Needs the feature `testing`.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "stock", partition = "{shop}", row = "{sku}")]
    /// # struct Item { shop: String, sku: String, count: u32 }
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> table_orm::Result<()> {
    /// let stock = Tables::in_memory()?.on_virtual_time(1).repo::<Item>();
    /// # stock.create_table().await?;
    /// # stock.insert(&Item { shop: "north".into(), sku: "tea".into(), count: 3 }).await?;
    /// # stock.update(Item::partition("north").row().sku("tea"), |tea| tea.count += 1).await?;
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(any(test, feature = "testing"))]
    #[must_use]
    pub fn on_virtual_time(self, seed: u64) -> Self {
        Self { connection: Arc::new(self.connection.on_virtual_time(seed)) }
    }
}
