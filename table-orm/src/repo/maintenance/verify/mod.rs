//! Finds rows that are out of step: reads every row of an entity type once, in key order, and
//! compares the index rows with the rows that the canonical rows imply.

mod builder;
mod differences;
mod eventual;
mod eventual_rows;
mod expected;
mod finding;
mod guard_findings;
mod guards;
mod joined;
mod leftover;
mod partition;
mod report;
mod run;
mod unused_values;
mod versioned_row;

pub use builder::Verify;
pub use eventual::VerifyEventual;
pub use finding::{Finding, Problem, RowLocation};
pub use guards::VerifyGuards;
pub use report::VerifyReport;

pub(crate) use differences::{differences, has_form_of};
pub(crate) use expected::{
    ExpectedRow, expected_eventual_rows, expected_rows, index_rows, own_canonical,
};
pub(crate) use guard_findings::{guard_finding, guarded};
pub(crate) use versioned_row::VersionedRow;
