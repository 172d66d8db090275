//! The result of a verify.

use super::finding::Finding;
use serde::{Deserialize, Serialize};

/// The findings of a verify, and the numbers of rows that it read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[must_use = "it may hold findings"]
#[non_exhaustive]
pub struct VerifyReport {
    /// Canonical rows read, including unreadable ones.
    pub entities: u64,
    /// Rows read, including those of other entity types.
    pub rows: u64,
    /// Index rows that no readable canonical row expects, but an unreadable one may. Verify again when
    /// that row is corrected.
    #[serde(default)]
    pub undecided: u64,
    /// The findings, partition by partition.
    pub findings: Vec<Finding>,
}
