//! What a cache has saved.

use crate::model::TableName;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the cache of a connection did since it was made: [`Tables::cache_counts`](crate::Tables::cache_counts).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CacheCounts {
    /// Reads that sent no request of their own.
    pub hits: u64,
    /// Reads that asked for the whole row, or found that a kept row is gone.
    pub misses: u64,
    /// Reads of a row that was too old, and whose version was still the same.
    pub unchanged: u64,
    /// The bytes of rows that were not sent again.
    pub bytes_saved: u64,
    /// The rows kept now, including those known not to exist.
    pub rows: u64,
    /// The bytes of these rows and their keys.
    pub bytes: u64,
}

/// The counts of a cache.
#[derive(Debug, Default)]
pub(super) struct Counters {
    hits: AtomicU64,
    misses: AtomicU64,
    unchanged: AtomicU64,
    bytes_saved: AtomicU64,
}

/// How a read ended.
#[derive(Debug, Clone, Copy)]
pub(super) enum Read {
    /// Without a request of its own.
    Hit,
    /// With the whole row.
    Miss,
    /// With the answer that the row has not changed.
    Unchanged,
}

impl Counters {
    /// Counts a read that saved these bytes.
    pub fn count(&self, read: Read, bytes_saved: usize, _table: &TableName) {
        let bytes_saved = bytes_saved as u64;
        let (counter, _name) = match read {
            Read::Hit => (&self.hits, "table_orm.cache.hits"),
            Read::Miss => (&self.misses, "table_orm.cache.misses"),
            Read::Unchanged => (&self.unchanged, "table_orm.cache.unchanged"),
        };
        counter.fetch_add(1, Ordering::Relaxed);
        self.bytes_saved.fetch_add(bytes_saved, Ordering::Relaxed);
        #[cfg(feature = "metrics")]
        {
            let labels = [("table", _table.as_str().to_owned())];
            metrics::counter!(_name, &labels).increment(1);
            metrics::counter!("table_orm.cache.bytes_saved", &labels).increment(bytes_saved);
        }
    }

    /// The counts of a cache that now holds `rows` rows of `bytes` bytes.
    pub fn counts(&self, rows: u64, bytes: u64) -> CacheCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        CacheCounts {
            hits: read(&self.hits),
            misses: read(&self.misses),
            unchanged: read(&self.unchanged),
            bytes_saved: read(&self.bytes_saved),
            rows,
            bytes,
        }
    }
}
