//! The delete of entities that have expired, found by the rows that `purge_index` writes.
//!
//! Invariant: an entity is deleted only in the version that was read as expired. The row that finds it is deleted
//! after it, so whatever ends a purge, the next one finds what is left.

mod builder;
mod report;
mod run;

pub use builder::Purge;
pub use report::{PurgeFailure, PurgeProgress, PurgeReport};
