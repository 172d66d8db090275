//! The result of a verify.

use super::finding::Finding;
use serde::{Deserialize, Serialize};

/// What a `verify` found, of how much.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[must_use = "it may hold findings"]
#[non_exhaustive]
pub struct VerifyReport {
    /// Entities read: canonical rows, those that cannot be read included.
    pub entities: u64,
    /// Rows read, those of other entity types included.
    pub rows: u64,
    /// Index rows that no canonical row tells of, and that may belong to one which cannot be read:
    /// whether they are orphans is known when that is mended.
    #[serde(default)]
    pub undecided: u64,
    /// What is wrong, partition by partition.
    pub findings: Vec<Finding>,
}
