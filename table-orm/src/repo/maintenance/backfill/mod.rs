//! Writes the index rows of entities that were stored before their type had these rows.
//!
//! Invariant: a backfill only inserts rows, and only in a transaction that checks the version of the
//! canonical row that they follow from.

mod builder;
mod eventual_rows;
mod filling;
mod report;
mod run;

pub use builder::Backfill;
pub(super) use eventual_rows::fill;
pub use report::{BackfillProgress, BackfillReport};
