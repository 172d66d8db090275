//! One scan by workers on many machines, which share a control table and a queue.
//!
//! [`Scan::distributed`](super::Scan::distributed) makes one of any scan. The control table holds a
//! row for each range of keys, with the last row that was handled; the queue tells workers which
//! ranges wait: any [`Queues`](crate::queue::Queues), such as Azure's (feature `azure-queue`). A
//! worker claims a range for a minute at a time, reads it page by page, and splits it in several
//! when no message is left for idle workers: as soon as it has read the first page, so that a small
//! table, too, is shared within seconds.
//!
//! # What is promised
//!
//! Every row that stands in the table throughout is handled at least once. It is handled twice only
//! where its handler failed, or its worker was killed, or fell asleep for longer than its lease, before
//! the page was noted as done: one page of each range, each time that happens.
//!
//! Correctness rests on ETags alone. Clocks only decide when a range whose worker is silent is given
//! to another: machines whose clocks differ by a good part of the lease of 60 s take ranges from each
//! other that are being worked on, which costs pages read twice, or leave dead workers' ranges lying
//! for longer.
//!
//! # What it costs
//!
//! Beside the pages: a transaction in the control table for each page, two more for each range, and
//! about two queries there for each range, those of idle workers included; about four calls to the
//! queue for each range, with a peek every four pages or five seconds, and after each split; in the
//! table, for each split, up to 32 requests for one row, which tell where there are rows to split
//! off. An idle worker asks the queue, and looks whether any range is left, once in 1 to 15 s. The
//! service's targets of 2,000 messages a second for a queue and 2,000 entities a second for a
//! partition carry hundreds of workers (service documentation, "Scalability and performance
//! targets").

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

/// How long a worker has a range to itself without renewing its lease, and a message has to be
/// received before it is sent again: 60 seconds.
pub const LEASE: Duration = Duration::from_secs(60);
/// So many claims of a range without a page handled put it aside.
pub const MOST_STALLS: i32 = 5;
/// After so many of them its first page is handled while its worker does nothing else: if that page
/// ends the process, no other range is to blame for it.
const SUSPICIOUS_STALLS: i32 = 2;
