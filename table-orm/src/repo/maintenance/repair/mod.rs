//! Brings rows back in step with their canonical rows.
//!
//! Invariants:
//! - A finding only says where to look. What is written follows from the rows as they are now.
//! - Canonical rows keep their properties.
//! - The report lists each finding once.

mod builder;
mod entity;
mod jobs;
mod orphans;
mod report;
mod tickets;
mod unused_values;
mod verdict;

pub use builder::Repair;
pub use report::{RepairFailure, RepairReport, SkipReason, Skipped};

pub(crate) use entity::{guard, is_write_conflict, repair_entity};
