//! The upkeep of stored rows. [`verify`](crate::Repo::verify) finds rows that are out of step,
//! [`repair`](crate::Repo::repair) corrects them, [`backfill`](crate::Repo::backfill) writes the rows of a new row
//! template, [`rewrite`](crate::Repo::rewrite) stores rows in the present form of their type, and
//! [`drop_row`](crate::Repo::drop_row) deletes the rows of a template that the type no longer has.

mod backfill;
mod canonical_pages;
mod deletes;
mod drop_eventual_row;
mod drop_row;
pub(super) mod eventual_rows;
mod guards;
mod maintained_type;
pub(super) mod repair;
mod rewrite;
pub(super) mod verify;

pub use backfill::{Backfill, BackfillProgress, BackfillReport};
pub(crate) use canonical_pages::CanonicalPages;
pub(crate) use deletes::Deletes;
pub use drop_eventual_row::{DropEventualRow, DropEventualRowReport};
pub use drop_row::{
    DropRow, DropRowProgress, DropRowReport, FormerRow, FormerRowError, KeptReason, KeptRow,
    MAX_KEPT_ROWS,
};
pub(crate) use drop_row::{FormerMarks, FormerProperties};
pub(super) use eventual_rows::{EventualRowKeys, settle};
pub(super) use maintained_type::MaintainedType;
pub use repair::{Repair, RepairFailure, RepairReport, SkipReason, Skipped};
pub use rewrite::{Rewrite, RewriteFailure, RewriteProgress, RewriteReport};
pub use verify::{
    Finding, Problem, RowLocation, Verify, VerifyEventual, VerifyGuards, VerifyReport,
};
