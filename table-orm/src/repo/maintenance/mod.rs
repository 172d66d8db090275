//! Index rows that are out of step. [`verify`](crate::Repo::verify) finds them,
//! [`repair`](crate::Repo::repair) corrects them, [`backfill`](crate::Repo::backfill) writes the rows of a
//! new row template, and [`rewrite`](crate::Repo::rewrite) stores rows in the present form of their type.

mod backfill;
mod canonical_pages;
mod guards;
pub(super) mod repair;
mod retire;
mod rewrite;
pub(super) mod rows_elsewhere;
pub(super) mod verify;

pub use backfill::{Backfill, BackfillProgress, BackfillReport};
pub(crate) use canonical_pages::CanonicalPages;
pub use repair::{Repair, RepairFailure, RepairReport, SkipReason, Skipped};
pub use retire::Retire;
pub use rewrite::{Rewrite, RewriteFailure, RewriteProgress, RewriteReport};
pub(super) use rows_elsewhere::{RowElsewhere, settle};
pub use verify::{Elsewhere, Finding, Problem, Verify, VerifyEventual, VerifyGuards, VerifyReport};
