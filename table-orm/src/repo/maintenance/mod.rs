//! Index rows that are out of step. [`verify`](crate::Repo::verify) finds them,
//! [`repair`](crate::Repo::repair) corrects them, and [`backfill`](crate::Repo::backfill) writes the rows of
//! a new row template.

mod backfill;
pub(super) mod repair;
pub(super) mod verify;

pub use backfill::{Backfill, BackfillProgress, BackfillReport};
pub use repair::{Repair, RepairFailure, RepairReport, SkipReason, Skipped};
pub use verify::{Finding, Problem, Verify, VerifyReport};
