//! One scan by workers on many machines, which share a control table and a queue.
//!
//! [`Scan::distributed`](super::Scan::distributed) turns any scan into one. The control table holds a
//! row for each range of keys, with the last row that was handled. The queue holds a message for each
//! range that waits for a worker. It may be any [`Queues`](crate::queue::Queues), such as Azure's
//! (feature `azure-queue`). A worker claims a range for a minute at a time and reads it page by page.
//! When no message is left for idle workers, it splits its range: after the first page at the
//! earliest, so that even a small table is shared within seconds.
//!
//! # Guarantees
//!
//! Every row that stays in the table while the scan runs is handled at least once. A row is handled
//! twice only if its handler failed, or its worker was killed or slept for longer than its lease,
//! before the page was noted as done. That repeats one page of each range each time.
//!
//! Correctness rests on ETags alone. Clocks only decide when another worker may take the range of a silent one. If
//! the clocks of machines differ by a good part of the lease of 60 s, they take ranges from each other too early,
//! so pages are read twice, or take the ranges of dead workers too late.
//!
//! # Costs
//!
//! Beside the pages, a scan needs:
//!
//! - in the control table, a transaction for each page, two more for each range, and about two queries
//!   for each range, including those of idle workers;
//! - in the queue, about four calls for each range, and a peek every four pages or five seconds and
//!   after each split;
//! - in the scanned table, up to 32 requests for one row for each split, which find out where there are
//!   rows to split off.
//!
//! An idle worker asks the queue, and checks whether any range is left, every 1 to 15 s. The service's
//! targets of 2,000 messages a second for a queue and 2,000 rows a second for a partition are
//! enough for hundreds of workers (service documentation, "Scalability and performance targets").

mod clock;
mod config;
mod control;
mod lease;
mod page;
mod polling;
mod range_message;
mod reader;
mod report;
mod retry;
mod rows;
mod rows_left;
mod scan;
mod split_policy;
#[cfg(test)]
mod tests;
mod worker;

pub use crate::error::DistributedScanError;
pub use page::{PageId, WorkPage};
pub use report::{DistributedStatus, MOST_LISTED, PoisonedRange, WorkerReport};
pub use scan::DistributedScan;

use std::time::Duration;

/// The time that a worker has a range to itself without renewing its lease, and the time after which
/// a message that nobody received is sent again: 60 seconds.
pub const LEASE: Duration = Duration::from_secs(60);
/// The claims without a handled page after which a range is put aside.
pub const MOST_STALLS: i32 = 5;
/// After this many of them, the worker handles the range's first page while it does nothing else. If
/// that page ends the process, no other range is counted as failed.
const SUSPICIOUS_STALLS: i32 = 2;
