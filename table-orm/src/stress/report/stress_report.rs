//! The whole of a stress test.

use super::bounds::StressBounds;
use super::figures::{Phase, Sustained};
use super::verdict::{Shards, TargetScope, Verdict};
use serde::Serialize;

/// What a stress test has found. `Display` shows it as text, [`html`](Self::html) as a page, and
/// [`json`](Self::json) as JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StressReport {
    /// The store: its system, and its account or host where it has one.
    pub store: String,
    /// The table that the test made.
    pub table: String,
    /// What was called.
    pub calls: String,
    /// The bytes of an entity in a page, for calls of rows.
    pub entity_bytes: Option<usize>,
    /// What a call counted on average, in entities of up to 1 KiB.
    pub entities_per_call: f64,
    /// The most calls in flight.
    pub in_flight: usize,
    /// The ramp and the hold of each number of partitions.
    pub phases: Vec<Phase>,
    /// One for each target.
    pub verdicts: Vec<Verdict>,
    /// Over how many partitions a load has to be spread, if one partition sustained a rate.
    pub shards: Option<Shards>,
    /// What the test could have sent at most.
    pub bounds: StressBounds,
    /// Requests of all steps. An account bills each as a transaction.
    pub requests: u64,
    /// How many seconds the test took, without loading the table.
    pub seconds: f64,
    /// Whether the test was stopped before its end.
    pub is_stopped: bool,
    /// Why the table is still there, if it is.
    pub table_left: Option<String>,
}

impl StressReport {
    /// Returns the rate that one partition sustained.
    #[must_use]
    pub fn sustained_in_partition(&self) -> Option<Sustained> {
        self.sustained(TargetScope::Partition)
    }

    /// Returns the rate that many partitions sustained together.
    #[must_use]
    pub fn sustained_in_all(&self) -> Option<Sustained> {
        self.sustained(TargetScope::All)
    }

    /// The report as one JSON object.
    ///
    /// # Errors
    /// When a value has no JSON form. Every value of this version has one.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    fn sustained(&self, scope: TargetScope) -> Option<Sustained> {
        self.phases.iter().find(|phase| scope.is_of(phase.partitions))?.sustained
    }
}
