//! What a worker has done, and how far a scan is.

use crate::entity::RowHead;

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

/// The most ranges that [`DistributedStatus::poisoned_ranges`] lists.
pub const MOST_LISTED: usize = 100;

/// A range that was put aside, for no progress in five claims.
///
/// It holds the rows of its table from `from` up to, and without, `to`, as keys compare. A bound is no
/// row's key, perhaps; one that ends in NUL, which no stored key has, lies right behind what stands
/// before the NUL.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoisonedRange {
    /// The range's id, as in [`PageId`](super::PageId): its row in the control table is `p:<range>`.
    pub range: String,
    /// Where it begins.
    pub from: RowHead,
    /// Where it ends; `None` is the end of the table.
    pub to: Option<RowHead>,
    /// The last row that was handled: the page that failed lies behind it. `None` where that is the
    /// range's first.
    pub last: Option<RowHead>,
    /// The text of the last error, its first 500 characters; `None` where its workers ended without
    /// one.
    pub error: Option<String>,
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
    /// The first of these in key order, at most [`MOST_LISTED`].
    pub poisoned_ranges: Vec<PoisonedRange>,
    /// Rows handled in all.
    pub rows: u64,
    /// Pages handled in all.
    pub pages: u64,
    /// Rows left in all, those of ranges that were put aside included: a rough estimate from the
    /// ranges' bounds, and how far they were read. `None` while one range goes on to the table's end.
    pub rows_left: Option<u64>,
}

impl DistributedStatus {
    /// Whether nothing is left to read, but for what was put aside.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.open == 0
    }

    /// The share of the rows that was handled, from 0 to 1, as [`rows_left`](Self::rows_left) tells:
    /// within 0.55 of what it is, and within 0.25 where that is 0.75 or more, with keys of the six
    /// kinds that tests have; too much rather than too little, since keys may go on with letters that
    /// nobody has met. It is 1 once every row was handled.
    #[must_use]
    pub fn share_done(&self) -> Option<f64> {
        if self.is_whole() {
            return Some(1.0);
        }
        let (rows, left) = (self.rows as f64, self.rows_left? as f64);
        (rows + left > 0.0).then(|| rows / (rows + left))
    }

    /// Whether every row was handled: nothing is left to read, and nothing was put aside.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.is_complete() && self.poisoned == 0
    }
}
