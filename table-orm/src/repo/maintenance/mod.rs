//! Index rows that are out of step: [`verify`](crate::Repo::verify) finds them,
//! [`repair`](crate::Repo::repair) mends them, and [`backfill`](crate::Repo::backfill) writes those
//! that a new row template asks for.

mod backfill;
pub(super) mod repair;
pub(super) mod verify;

pub use backfill::{Backfill, BackfillProgress, BackfillReport};
pub use repair::{Repair, RepairFailure, RepairReport, SkipReason, Skipped};
pub use verify::{Finding, Problem, Verify, VerifyReport};
