//! The decisions about findings, and their result.

use super::report::{RepairFailure, SkipReason, Skipped};
use crate::error::Error;
use crate::repo::maintenance::verify::Finding;
use crate::store::Batch;

/// The decision about one finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Repair,
    Skip(SkipReason),
}

/// The transaction that repairs findings, and the verdict on each of them.
#[derive(Debug)]
pub(crate) struct PreparedRepair {
    pub batch: Batch,
    /// In the order of the findings.
    pub verdicts: Vec<Verdict>,
}

impl PreparedRepair {
    /// Skips all of them.
    pub fn skipped(partition_key: &str, findings: usize, reason: SkipReason) -> Self {
        Self {
            batch: Batch { partition_key: partition_key.to_owned(), operations: Vec::new() },
            verdicts: vec![Verdict::Skip(reason); findings],
        }
    }
}

/// The result of some findings.
#[derive(Debug, Default)]
pub(crate) struct RepairOutcome {
    pub repaired: Vec<Finding>,
    pub skipped: Vec<Skipped>,
    pub failure: Option<RepairFailure>,
}

impl RepairOutcome {
    /// Reports the findings to repair as repaired, or as failed with `error`.
    pub(crate) fn of(
        findings: Vec<Finding>,
        verdicts: impl IntoIterator<Item = Verdict>,
        error: Option<Error>,
    ) -> Self {
        let mut outcome = Self::default();
        for (finding, verdict) in findings.into_iter().zip(verdicts) {
            match verdict {
                Verdict::Repair => outcome.repaired.push(finding),
                Verdict::Skip(reason) => outcome.skipped.push(Skipped { finding, reason }),
            }
        }
        if let Some(error) = error {
            let findings = std::mem::take(&mut outcome.repaired);
            outcome.failure = Some(RepairFailure { findings, error });
        }
        outcome
    }

    /// Reports all findings as failed.
    pub(crate) fn failed(findings: Vec<Finding>, error: Error) -> Self {
        Self { failure: Some(RepairFailure { findings, error }), ..Self::default() }
    }
}
