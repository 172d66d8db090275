//! What was counted of the calls of each access pattern.

use crate::figures::{Percentiles, Sketch};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// What the calls of a pattern needed, all together.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MeasuredPattern {
    /// The pattern's name.
    pub name: &'static str,
    /// The calls that sent a request and have returned.
    pub calls: u64,
    /// Calls in a second, on average since the first request of any pattern.
    pub per_second: f64,
    /// The requests, those that failed among them.
    pub requests: u64,
    /// The rows that the store returned.
    pub rows_returned: u64,
    /// The rows that were written.
    pub rows_written: u64,
    /// Bytes of the rows' JSON that were sent.
    pub bytes_up: u64,
    /// Bytes of the rows' JSON that were returned.
    pub bytes_down: u64,
    /// How long the calls took, in microseconds.
    pub latency_us: Percentiles,
}

/// What was counted, by the pattern's name.
#[derive(Debug, Default)]
pub(super) struct Measurements(Mutex<Tallies>);

#[derive(Debug, Default)]
struct Tallies {
    start: Option<Instant>,
    patterns: BTreeMap<&'static str, Tally>,
}

/// Of one pattern.
#[derive(Default)]
struct Tally {
    calls: u64,
    requests: u64,
    rows_returned: u64,
    rows_written: u64,
    bytes_up: u64,
    bytes_down: u64,
    latency_us: Option<Sketch>,
}

impl fmt::Debug for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tally").field("calls", &self.calls).finish_non_exhaustive()
    }
}

impl Measurements {
    fn tallies(&self) -> MutexGuard<'_, Tallies> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what was counted until now, by the patterns' names.
    pub fn patterns(&self) -> Vec<MeasuredPattern> {
        let tallies = self.tallies();
        let seconds = tallies.start.map_or(0.0, |start| start.elapsed().as_secs_f64());
        let measured = |(&name, tally): (&&'static str, &Tally)| MeasuredPattern {
            name,
            calls: tally.calls,
            per_second: if seconds > 0.0 { tally.calls as f64 / seconds } else { 0.0 },
            requests: tally.requests,
            rows_returned: tally.rows_returned,
            rows_written: tally.rows_written,
            bytes_up: tally.bytes_up,
            bytes_down: tally.bytes_down,
            latency_us: tally.latency_us.as_ref().map(Sketch::percentiles).unwrap_or_default(),
        };
        tallies.patterns.iter().map(measured).collect()
    }

    /// A call has returned.
    pub fn called(&self, pattern: &'static str, latency: Duration) {
        let mut tallies = self.tallies();
        let tally = tallies.patterns.entry(pattern).or_default();
        tally.calls += 1;
        let micros = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        tally.latency_us.get_or_insert_with(Sketch::new).add(micros);
    }

    /// A request is sent.
    pub fn sent(&self, pattern: &'static str, bytes: usize) {
        let mut tallies = self.tallies();
        tallies.start.get_or_insert_with(Instant::now);
        let tally = tallies.patterns.entry(pattern).or_default();
        tally.requests += 1;
        tally.bytes_up += bytes as u64;
    }

    /// A request has succeeded.
    pub fn answered(&self, pattern: &'static str, [returned, written, bytes]: [usize; 3]) {
        let mut tallies = self.tallies();
        let tally = tallies.patterns.entry(pattern).or_default();
        tally.rows_returned += returned as u64;
        tally.rows_written += written as u64;
        tally.bytes_down += bytes as u64;
    }
}
