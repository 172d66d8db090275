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
    /// Whether an earlier scan with this checkpoint had read everything, so that this one read
    /// nothing. To read the table again, delete the checkpoint. It stays `false` for the scan that
    /// does the reading: that one is complete when it returns `Ok`.
    pub already_complete: bool,
    /// Partitions whose rate the service limited.
    pub hot_partitions: Vec<String>,
}
