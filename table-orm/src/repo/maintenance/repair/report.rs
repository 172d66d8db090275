//! What became of findings.

use crate::error::Error;
use crate::repo::bulk::Remainder;
use crate::repo::maintenance::verify::Finding;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What became of the findings given to a `repair`: each is in one of these.
#[must_use = "it may hold failures"]
#[non_exhaustive]
pub struct RepairReport<I> {
    /// Mended: the row is now as the canonical row tells.
    pub repaired: Vec<Finding>,
    /// Left as they are.
    pub skipped: Vec<Skipped>,
    /// Those that could not be written. After a failure of the store nothing more is sent.
    pub failures: Vec<RepairFailure>,
    /// Those that were not reached. Pass it to `repair` again to go on.
    pub remainder: Remainder<Finding, I>,
}

/// A finding that was left as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Skipped {
    /// The finding.
    pub finding: Finding,
    /// Why.
    pub reason: SkipReason,
}

/// Why a finding was left as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SkipReason {
    /// It no longer holds: the row is in step, or what told of it is gone.
    NoLongerHolds,
    /// The row was written while it was looked at. `verify` again.
    Changed,
    /// The row is there with other content, and another entity may tell of it. Two entities cannot
    /// share a row: their keys want another component.
    Taken,
    /// A canonical row that may tell of it cannot be read.
    Undecided,
    /// The canonical row itself is wrong, which only the app can mend.
    CanonicalRow,
    /// It is about another entity type, or about no index row of this one.
    NotOurs,
}

/// Findings that could not be repaired.
#[derive(Debug)]
#[non_exhaustive]
pub struct RepairFailure {
    /// Those of one request.
    pub findings: Vec<Finding>,
    /// Why.
    pub error: Error,
}

impl<I> RepairReport<I> {
    /// The number of repaired rows, if nothing failed. Some may have been skipped.
    ///
    /// # Errors
    /// The first failure.
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
            Self::NoLongerHolds => "it no longer holds",
            Self::Changed => "the row was written meanwhile; verify again",
            Self::Taken => "the row is there with other content, maybe of another entity",
            Self::Undecided => "a canonical row that may tell of it cannot be read",
            Self::CanonicalRow => "the canonical row is wrong, which only the app can mend",
            Self::NotOurs => "it is about no index row of this entity type",
        })
    }
}
