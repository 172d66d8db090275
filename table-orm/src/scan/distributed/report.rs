//! What a worker has done, and how far a scan is.

/// What one worker has done for a scan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct WorkerReport {
    /// Pages handled, and counted as done.
    pub pages: u64,
    /// Their rows.
    pub rows: u64,
    /// Requests to the scanned table, refused ones included.
    pub requests: u64,
    /// Requests to it that were refused with 503 or 429.
    pub throttled: u64,
    /// Ranges taken on.
    pub claims: u64,
    /// Ranges read to their end.
    pub finished: u64,
    /// Parts split off its ranges, because no message was waiting for an idle worker.
    pub splits: u64,
    /// Ranges that another worker has taken over, since this one did not renew its lease in time.
    pub lost: u64,
    /// Messages deleted because their range was being worked on, or done.
    pub duplicates: u64,
    /// Pages whose handler failed, or that could not be read.
    pub failures: u64,
    /// Ranges put aside, for no progress in five claims.
    pub poisoned: u64,
    /// Whether it saw that no range was left to read; not where the scan was removed, or it was
    /// told to stop. Some ranges may have been put aside: the scan's status tells.
    pub complete: bool,
}

/// How far a scan by many machines is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DistributedStatus {
    /// Ranges that are not read to their end.
    pub open: u64,
    /// Those of them that a worker has a lease of.
    pub leased: u64,
    /// Ranges that are.
    pub done: u64,
    /// Ranges put aside, for no progress in five claims; `redrive` brings them back.
    pub poisoned: u64,
    /// Rows handled in all.
    pub rows: u64,
    /// Pages handled in all.
    pub pages: u64,
}

impl DistributedStatus {
    /// Whether nothing is left to read, but for what was put aside.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.open == 0
    }

    /// Whether every row was handled: nothing is left to read, and nothing was put aside.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.is_complete() && self.poisoned == 0
    }
}
