//! Registers: which partitions of a table have unfinished work, so that it is found without a scan.
//!
//! A register is a table of *pointers*. A pointer is a row that names a partition, and a kind of work. Before work
//! begins that may leave rows in a partition, its process makes sure that a pointer stands, and [covers](cover())
//! the work by it. One pointer covers all work of a kind in a partition. It stands for a minute after the last, so
//! a busy partition costs one request a minute. What the work is, a register does not know.
//!
//! Whoever finishes what ended processes left reads the [pointers](pointers()) first, then looks for unfinished
//! work in the partitions that they name, and deletes pointers that are older than [`GRACE`] where there is none.
//!
//! Some work is always for others to finish, as events are: its pointer [stays](Cover::stay) for them, and the
//! process never deletes it.
//!
//! Invariant: a partition with unfinished work is named from before the work's first request is sent until the work
//! ended, whatever stops in between.
//!
//! - The process deletes a pointer only when all the work that it covered has ended, which it says itself. Where it
//!   does not know, and where the work stays, the pointer is left.
//! - A pointer covers work that begins within a minute after it was sent, and a live process writes it again each
//!   minute while its work goes on. So a pointer that is older than [`GRACE`] covers no request that was
//!   sent within the last minute.
//! - A pointer is deleted by others in the version that they read before they looked for work.
//!
//! Exceptions: a request that takes effect more than a minute after it was sent, and a process whose clock stood
//! still meanwhile, as in a machine that sleeps. Nothing bounds these, so a scan now and then stays needed. No
//! exception makes a row wrong: it only delays what finishes the work. Whoever can make late requests fail, does so
//! before it deletes a pointer, and has no first exception.

mod cover;
mod pointers;
mod row;
#[cfg(all(test, feature = "embedded"))]
mod tests;

#[cfg(doc)]
use crate::plan::Cover;
pub(crate) use cover::cover;
pub(crate) use pointers::{Found, pointers, queries, remove};

use std::time::Duration;

/// The age below which a pointer is left to its process.
pub(crate) const GRACE: Duration = Duration::from_secs(120);
