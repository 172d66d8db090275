//! Deletes the index rows of a kind that a type no longer has, from the partitions of its entities.
//!
//! Invariant: a row is deleted only in the version that was judged, and only if it reads as the former row and
//! as no row of a type that the call knows.

mod builder;
mod former_row;
mod judge;
mod report;
mod run;

pub use builder::DropRow;
pub(crate) use former_row::{FormerMarks, FormerProperties};
pub use former_row::{FormerRow, FormerRowError};
pub use report::{DropRowProgress, DropRowReport, KeptReason, KeptRow, MAX_KEPT_ROWS};
