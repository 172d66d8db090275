//! The counts of a connection's cache.

use super::Tables;
use crate::cache::CacheCounts;

impl Tables {
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
