//! What a scan has done.

use std::time::Duration;

/// What a scan has done so far, or in all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ScanReport {
    /// Rows handed out, without those left out as unreadable; partition keys, where those were asked
    /// for.
    pub rows: u64,
    /// Pages handed out, which were never empty as they were stored.
    pub pages: u64,
    /// Requests sent, refused ones included.
    pub requests: u64,
    /// Splits whose upper part held no rows: a request each.
    pub misses: u64,
    /// Requests that the service refused with 503 or 429.
    pub throttled: u64,
    /// Rows read but left to another range, which was split off while they were on their way.
    pub dropped: u64,
    /// Ranges the table was divided into.
    pub ranges: u64,
    /// Time since the first request.
    pub elapsed: Duration,
    /// Whether the checkpoint was that of a scan that had read everything, so that nothing was left
    /// to read. To read the table again, delete the checkpoint.
    pub was_complete: bool,
    /// Partitions whose rate the service limited.
    pub hot_partitions: Vec<String>,
}
