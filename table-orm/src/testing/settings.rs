//! How a fake service behaves.

use crate::model::{ACCOUNT_TARGET, MAX_PAGE_ROWS, PARTITION_TARGET};
use std::time::Duration;

/// The behaviour of a fake service. The default answers at once, without limits.
#[derive(Debug, Clone, PartialEq)]
pub struct ServiceSettings {
    /// The most rows of a page.
    pub page_rows: usize,
    /// The shortest and the longest time of a request, without its rows.
    pub latency: (Duration, Duration),
    /// The time that each row adds.
    pub latency_per_row: Duration,
    /// The time that each other request in flight adds, as at a server that takes them in turn.
    pub latency_in_flight: Duration,
    /// Partition servers, which hold equally many rows. A page ends where a server's rows end.
    pub servers: usize,
    /// Returns an empty page with a continuation for every n-th request.
    pub empty_every: Option<u64>,
    /// Returns a page of half as many rows for every n-th request.
    pub short_every: Option<u64>,
    /// Entities a second of the account.
    pub account_target: Option<f64>,
    /// Entities a second of each partition.
    pub partition_target: Option<f64>,
    /// The most requests it answers; it rejects later ones, so that the test of a client that never
    /// ends fails.
    pub most_requests: Option<u64>,
    /// Whether the service keeps the queries.
    pub recorded: bool,
    /// The seed of the random latencies.
    pub seed: u64,
}

impl Default for ServiceSettings {
    fn default() -> Self {
        Self {
            page_rows: MAX_PAGE_ROWS.into(),
            latency: (Duration::ZERO, Duration::ZERO),
            latency_per_row: Duration::ZERO,
            latency_in_flight: Duration::ZERO,
            servers: 1,
            empty_every: None,
            short_every: None,
            account_target: None,
            partition_target: None,
            most_requests: None,
            recorded: false,
            seed: 1,
        }
    }
}

impl ServiceSettings {
    /// The latencies of a published scan of 3.5 million rows: 10 to 25 ms a
    /// request and 70 us a row; a partition server for each 50,000 rows, at most 16.
    #[must_use]
    pub fn measured(rows: usize) -> Self {
        Self {
            latency: (Duration::from_millis(10), Duration::from_millis(25)),
            latency_per_row: Duration::from_micros(70),
            servers: (rows / 50_000).clamp(1, 16),
            ..Self::default()
        }
    }

    /// Adds the targets that the service documents: 20,000 rows a second for the
    /// account, 2,000 for a partition.
    #[must_use]
    pub const fn with_targets(mut self) -> Self {
        self.account_target = Some(ACCOUNT_TARGET as f64);
        self.partition_target = Some(PARTITION_TARGET as f64);
        self
    }
}
