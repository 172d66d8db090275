//! Stores the rows of entities again that an earlier version of their type wrote in another form.
//!
//! Invariants:
//! - What is written follows from the canonical row in the version that the transaction checks.
//! - A row is replaced only in the version that was read, and only where an entity that is read from it
//!   stays the same.

mod builder;
mod entity;
mod eventual_rows;
mod report;
mod run;

pub use builder::Rewrite;
pub use report::{RewriteFailure, RewriteProgress, RewriteReport};
