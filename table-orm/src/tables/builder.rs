//! The layers of a connection, each by name.

use super::Tables;
use crate::blobs::Blobs;
use crate::error::Result;
#[cfg(any(feature = "metrics", feature = "tracing"))]
use crate::layer::Observe;
use crate::layer::{ConcurrencyLimit, Layer, RateLimit, ReadFrom, Retry};
use crate::model::DateTime;
use crate::plan::Connection;
use crate::store::Store;
use crate::sync::WallClock;
use std::sync::Arc;

/// A connection to be made: a store, and the layers around it.
///
/// It begins with the layers that [`Tables::from_connection_string`] has. Each method replaces the
/// settings of one, or leaves it out when it gets `None`. From the store up:
///
/// | Layer | Default |
/// |---|---|
/// | [`ReadFrom`] | the primary location alone |
/// | [`ConcurrencyLimit`] | at most 64 requests at once, and [fewer](ConcurrencyLimit::adaptive) at a slow service |
/// | [`RateLimit`] | 20,000 rows a second, 2,000 in one partition; slower when throttled |
/// | [`Retry`] | [`Retry::interactive`] |
/// | `Observe` | with the feature `tracing` or `metrics` |
///
/// ```
/// use table_orm::Tables;
/// use table_orm::embedded::EmbeddedStore;
/// use table_orm::layer::{RateLimit, Retry};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = EmbeddedStore::in_memory()?; // or `AzureStore::from_connection_string(..)`
/// let tables = Tables::builder(store)
///     .rate(RateLimit::default().per_account(5_000)) // one of four writers
///     .retry(Retry::classic())
///     .build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use = "nothing is connected until `build`"]
pub struct TablesBuilder {
    store: Arc<dyn Store>,
    read_from: ReadFrom,
    limit: Option<ConcurrencyLimit>,
    rate: Option<RateLimit>,
    retry: Option<Retry>,
    #[cfg(any(feature = "metrics", feature = "tracing"))]
    observe: Option<Observe>,
    clock: WallClock,
    blobs: Option<Arc<dyn Blobs>>,
    #[cfg(feature = "cache")]
    cache_bytes: u64,
}

impl TablesBuilder {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            read_from: ReadFrom::PrimaryOnly,
            limit: Some(ConcurrencyLimit::default().adaptive()),
            rate: Some(RateLimit::default()),
            retry: Some(Retry::interactive()),
            #[cfg(any(feature = "metrics", feature = "tracing"))]
            observe: Some(Observe),
            clock: WallClock::System,
            blobs: None,
            #[cfg(feature = "cache")]
            cache_bytes: crate::cache::DEFAULT_CACHE_BYTES,
        }
    }

    /// Leaves out all layers but [`ReadFrom`]: each call is one request, and its first fault is its error.
    pub fn bare(self) -> Self {
        let bare = self.limit(None).rate(None).retry(None);
        #[cfg(any(feature = "metrics", feature = "tracing"))]
        let bare = bare.observe(None);
        bare
    }

    /// Sets which location answers reads, where the account has a readable copy in another region.
    ///
    /// ```
    /// # #[cfg(feature = "azure")]
    /// # fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// use table_orm::Tables;
    /// use table_orm::azure::AzureStore;
    /// use table_orm::layer::ReadFrom;
    ///
    /// let store = AzureStore::from_connection_string("AccountName=runs;AccountKey=a2V5")?;
    /// let tables = Tables::builder(store).read_from(ReadFrom::PrimaryThenSecondary).build()?;
    /// # Ok(())
    /// # }
    /// # #[cfg(feature = "azure")]
    /// # run().unwrap();
    /// ```
    pub fn read_from(mut self, location: ReadFrom) -> Self {
        self.read_from = location;
        self
    }

    /// Sets how many requests run at once.
    pub fn limit(mut self, limit: impl Into<Option<ConcurrencyLimit>>) -> Self {
        self.limit = limit.into();
        self
    }

    /// Sets how many rows a second are read and written.
    pub fn rate(mut self, rate: impl Into<Option<RateLimit>>) -> Self {
        self.rate = rate.into();
        self
    }

    /// Sets what is retried.
    pub fn retry(mut self, retry: impl Into<Option<Retry>>) -> Self {
        self.retry = retry.into();
        self
    }

    /// Sets what is reported of each call.
    #[cfg(any(feature = "metrics", feature = "tracing"))]
    pub fn observe(mut self, observe: impl Into<Option<Observe>>) -> Self {
        self.observe = observe.into();
        self
    }

    /// Sets how many bytes of rows and keys the cache keeps: 32 MiB by default. It keeps rows only of types and
    /// repositories that are [cached](crate::Repo::cached).
    #[cfg(feature = "cache")]
    pub fn cache_bytes(mut self, bytes: u64) -> Self {
        self.cache_bytes = bytes;
        self
    }

    /// Sets the clock that says which entities [have expired](crate::guide::run::expiry): by default that of this
    /// machine. Names of helper rows begin with its time, but nothing depends on that.
    ///
    /// ```
    /// use table_orm::Tables;
    /// use table_orm::embedded::EmbeddedStore;
    /// use table_orm::model::DateTime;
    /// use std::sync::{Arc, Mutex};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// // In a test, time passes when the test says so.
    /// let now = Arc::new(Mutex::new("2026-01-01T00:00:00Z".parse::<DateTime>()?));
    /// let clock = Arc::clone(&now);
    /// let tables = Tables::builder(EmbeddedStore::in_memory()?)
    ///     .clock(move || *clock.lock().unwrap())
    ///     .build()?;
    /// *now.lock().unwrap() = "2026-02-01T00:00:00Z".parse()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn clock(mut self, now: impl Fn() -> DateTime + Send + Sync + 'static) -> Self {
        self.clock = WallClock::Given(Arc::new(now));
        self
    }

    /// Keeps the bytes of [large values](crate::guide::run::large_values) of more than 64 KiB in blobs, such as those
    /// of `AzureBlobs`, instead of rows. Values that are in rows already are still read.
    ///
    /// ```
    /// use table_orm::blobs::MemoryBlobs;
    /// use table_orm::embedded::EmbeddedStore;
    /// use table_orm::property::Large;
    /// use table_orm::{TableEntity, Tables};
    ///
    /// #[derive(Debug, TableEntity)]
    /// #[table(name = "films", partition = "{studio}", row = "FILM:{id:05}")]
    /// struct Film {
    ///     studio: String,
    ///     id: u32,
    ///     #[table(overflow)]
    ///     trailer: Large,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let blobs = MemoryBlobs::new();
    /// let tables = Tables::builder(EmbeddedStore::in_memory()?).blobs(blobs.clone()).build()?;
    /// let films = tables.repo::<Film>();
    /// films.create_table().await?;
    /// let mut upload = films.upload(Film::partition("A24").row().id(1))?;
    /// upload.add(vec![7; 3_000_000]).await?;
    /// let trailer = upload.finish().await?;
    /// let film = films.insert_loaded(&Film { studio: "A24".into(), id: 1, trailer }).await?;
    /// let bytes = films.read_large(&film, |film| &film.trailer).await?;
    /// assert_eq!(bytes.map(|bytes| bytes.len()), Some(3_000_000));
    /// assert_eq!(blobs.names().len(), 1);
    /// films.delete(film).await?;
    /// assert_eq!(blobs.names().len(), 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn blobs(mut self, blobs: impl Blobs + 'static) -> Self {
        self.blobs = Some(Arc::new(blobs));
        self
    }

    /// Returns the tables behind these layers. Sends nothing.
    ///
    /// # Errors
    /// When the settings of a layer make no sense: [`Error::Layer`](crate::Error::Layer).
    pub fn build(self) -> Result<Tables> {
        let mut store = self.read_from.around(self.store)?;
        add(&mut store, self.limit)?;
        add(&mut store, self.rate)?;
        add(&mut store, self.retry)?;
        #[cfg(any(feature = "metrics", feature = "tracing"))]
        add(&mut store, self.observe)?;
        let connection = Connection::new(store).with_clock(self.clock).with_blobs(self.blobs);
        #[cfg(feature = "cache")]
        let connection = connection.with_cache(self.cache_bytes);
        Ok(Tables { connection: Arc::new(connection) })
    }
}

/// Puts a layer around the store, if there is one.
fn add(store: &mut Arc<dyn Store>, layer: Option<impl Layer>) -> Result<()> {
    if let Some(layer) = layer {
        *store = layer.around(Arc::clone(store))?;
    }
    Ok(())
}
