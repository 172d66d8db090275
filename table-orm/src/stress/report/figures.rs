//! What was measured.

use crate::figures::Percentiles;
use serde::Serialize;
use std::collections::BTreeMap;

/// A search for the rate that a number of partitions sustain.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Phase {
    /// How many partitions shared the load.
    pub partitions: u32,
    /// The steps, in order of time.
    pub steps: Vec<StressStep>,
    /// The first 429 or 503.
    pub first_throttled: Option<FirstThrottled>,
    /// The first error of a step in which calls failed for other reasons.
    pub first_error: Option<String>,
    /// The highest rate that was kept.
    pub sustained: Option<Sustained>,
    /// Why the search ended.
    pub ending: Ending,
}

/// Some seconds at one rate.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StressStep {
    /// Whether the rate rose or was held.
    pub kind: StepKind,
    /// How many seconds after the start of the test it began.
    pub at: f64,
    /// How many seconds it took until the last answer.
    pub seconds: f64,
    /// The rate of the calls, in entities a second.
    pub offered: f64,
    /// Entities a second in requests that succeeded.
    pub entities_per_second: f64,
    /// Requests a second, whether they succeeded or not.
    pub requests_per_second: f64,
    /// Calls that were sent.
    pub calls: u64,
    /// Calls that failed, rejected ones among them.
    pub failed: u64,
    /// Calls that were due and not sent, because too many others were in flight.
    pub unsent: u64,
    /// Requests.
    pub requests: u64,
    /// Requests that were answered with 429 or 503.
    pub throttled: u64,
    /// Requests that a layer sent again.
    pub retries: u64,
    /// All other errors of requests, by code.
    pub errors: BTreeMap<String, u64>,
    /// Microseconds from when a call was due to its answer.
    pub latency_us: Percentiles,
    /// The bytes of the rows that were sent.
    pub bytes_up: u64,
    /// The bytes of the rows that were returned.
    pub bytes_down: u64,
    /// Whether the rate was kept.
    pub outcome: StepOutcome,
}

/// What a step is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// A higher rate than before.
    Ramp,
    /// A rate that the store may keep, held for longer.
    Hold,
}

/// Whether the store kept a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StepOutcome {
    /// At most 1 % of the calls failed, and the answers came in time.
    Kept,
    /// More than 1 % failed, and requests were rejected with 429 or 503.
    Throttled,
    /// More than 1 % failed, for other reasons.
    Failed,
    /// More than 1 % failed by an error of the app: before or after their requests, or as the store rejected what they
    /// sent.
    OwnErrors,
    /// Answers came later and later.
    Behind,
    /// It was stopped.
    Stopped,
}

/// The first 429 or 503.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FirstThrottled {
    /// How many seconds after the start of the test it came.
    pub at: f64,
    /// The rate of the calls then, in entities a second.
    pub offered: f64,
}

/// A rate that was kept.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Sustained {
    /// In entities of up to 1 KiB.
    pub entities_per_second: f64,
    /// In requests.
    pub requests_per_second: f64,
    /// Whether the test ended there, so that the store may keep a higher one.
    pub is_at_least: bool,
}

/// Why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Ending {
    /// It found the highest rate that the store keeps.
    Found,
    /// The store kept the highest rate of the test.
    MostRate,
    /// The store kept no rate.
    NoRate,
    /// More requests than the test may send would have followed.
    MostRequests,
    /// The test would have taken longer than it may.
    MostTime,
    /// Calls failed by an error of the app, so no rate of the store shows.
    OwnErrors,
    /// It was stopped.
    Stopped,
}
