//! The rows that a connection keeps.

use super::Tables;
use crate::cache::CacheCounts;
use crate::plan::Connection;
use crate::store::Store;
use std::sync::Arc;

impl Tables {
    pub(super) fn with_cache(store: Arc<dyn Store>, bytes: u64) -> Self {
        Self { connection: Arc::new(Connection::new(store).with_cache(bytes)) }
    }

    /// Returns what the cache of this connection did so far. All clones have one cache.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// let tables = table_orm::Tables::in_memory()?;
    /// let counts = tables.cache_counts();
    /// assert_eq!((counts.hits, counts.rows), (0, 0));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn cache_counts(&self) -> CacheCounts {
        self.connection.cache.counts()
    }
}
