//! What a fake service has done.

/// Counts of what a fake service has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ServiceFigures {
    /// Requests, including throttled ones.
    pub requests: u64,
    /// Pages without rows.
    pub empty: u64,
    /// Requests throttled with 503.
    pub throttled: u64,
    /// Rows returned.
    pub rows: u64,
    /// The most requests that were in flight at once.
    pub busiest: u64,
}
