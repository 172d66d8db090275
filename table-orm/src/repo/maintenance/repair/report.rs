//! The result of a repair.

use crate::error::Error;
use crate::repo::bulk::Remainder;
use crate::repo::maintenance::verify::Finding;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The result of a repair. Each finding is in one of the fields.
#[must_use = "it may hold failures"]
#[non_exhaustive]
pub struct RepairReport<I> {
    /// Findings whose rows are now in step.
    pub repaired: Vec<Finding>,
    /// Findings whose rows were left as they are.
    pub skipped: Vec<Skipped>,
    /// Findings that could not be repaired. After a failure of the store, nothing more is sent.
    pub failures: Vec<RepairFailure>,
    /// Findings that were not reached. Pass them to `repair` to continue.
    pub remainder: Remainder<Finding, I>,
}

/// A finding whose row was left as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Skipped {
    /// The finding.
    pub finding: Finding,
    /// The reason.
    pub reason: SkipReason,
}

/// The reason to leave a row as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SkipReason {
    /// The finding no longer holds: the row is in step, or its entity is gone.
    NoLongerHolds,
    /// Another writer changed the row during the repair. Verify again.
    Changed,
    /// The row exists with other content, and may belong to another entity. Two entities cannot share a
    /// row: their keys need a further component.
    Taken,
    /// A canonical row that may expect it cannot be read.
    Undecided,
    /// A ticket or a large value younger than a day. It may be in use; repair it later.
    Young,
    /// The canonical row itself is wrong. Only the app can correct it.
    CanonicalRow,
    /// The row differs from its canonical row in more than its form, so a rewrite leaves it to a repair.
    OutOfStep,
    /// The finding is about another entity type, or not about an index row.
    NotOurs,
}

/// Findings that could not be repaired.
#[derive(Debug)]
#[non_exhaustive]
pub struct RepairFailure {
    /// The findings of one request.
    pub findings: Vec<Finding>,
    /// The reason.
    pub error: Error,
}

impl<I> RepairReport<I> {
    /// Returns the number of repaired rows when nothing failed. Some may have been skipped.
    ///
    /// # Errors
    /// The error of the first failure.
    pub fn all(self) -> Result<usize, Error> {
        match self.failures.into_iter().next() {
            None => Ok(self.repaired.len()),
            Some(failure) => Err(failure.error),
        }
    }
}

impl<I> fmt::Debug for RepairReport<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RepairReport")
            .field("repaired", &self.repaired)
            .field("skipped", &self.skipped)
            .field("failures", &self.failures)
            .field("unsent", &self.remainder.unsent())
            .finish_non_exhaustive()
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoLongerHolds => "the finding no longer holds",
            Self::Changed => "another writer changed the row; verify again",
            Self::Taken => "the row exists with other content, and may belong to another entity",
            Self::Undecided => "a canonical row that may expect it cannot be read",
            Self::Young => "it is younger than a day, and may be in use; repair it later",
            Self::CanonicalRow => "the canonical row is wrong, and only the app can correct it",
            Self::OutOfStep => "the row is out of step with its canonical row; repair it first",
            Self::NotOurs => "the finding is not about an index row of this entity type",
        })
    }
}
