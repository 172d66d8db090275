//! What a scan has done.

use std::time::Duration;

/// The work that a scan has done so far, or in all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ScanReport {
    /// Rows handed out, without unreadable rows that were left out; partition keys, for
    /// [`partition_keys`](crate::scan::Scan::partition_keys).
    pub rows: u64,
    /// Pages handed out. A page had rows in the table, even where all of them were left out.
    pub pages: u64,
    /// Requests sent, including throttled ones.
    pub requests: u64,
    /// Splits whose upper part held no rows. Each cost a request.
    pub misses: u64,
    /// Requests that the service throttled with 503 or 429.
    pub throttled: u64,
    /// Rows read but left to another range, which was split off while they were on their way.
    pub dropped: u64,
    /// Ranges the table was divided into.
    pub ranges: u64,
    /// Time since the first request.
    pub elapsed: Duration,
    /// Whether an earlier scan with this checkpoint had read everything, so that this one read
    /// nothing. To read the table again, delete the checkpoint. It stays `false` for the scan that
    /// reads the rows: that one is complete when it returns `Ok`.
    pub already_complete: bool,
    /// Partitions whose rate the service limited.
    pub hot_partitions: Vec<String>,
    /// The most bytes of pages that waited in memory for the consumer: their JSON, the structs read from it, and
    /// the maps of a [`DynamicEntity`](crate::DynamicEntity).
    pub held_bytes: u64,
}

impl ScanReport {
    /// The report of two scans, one after the other.
    pub(crate) fn plus(self, later: Self) -> Self {
        let known = |partition: &String| !self.hot_partitions.contains(partition);
        let hot = later.hot_partitions.into_iter().filter(known).collect::<Vec<_>>();
        Self {
            rows: self.rows + later.rows,
            pages: self.pages + later.pages,
            requests: self.requests + later.requests,
            misses: self.misses + later.misses,
            throttled: self.throttled + later.throttled,
            dropped: self.dropped + later.dropped,
            ranges: self.ranges + later.ranges,
            elapsed: self.elapsed + later.elapsed,
            already_complete: self.already_complete && later.already_complete,
            hot_partitions: [self.hot_partitions, hot].concat(),
            held_bytes: self.held_bytes.max(later.held_bytes),
        }
    }
}
