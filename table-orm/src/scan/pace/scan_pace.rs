//! When the requests of a scan go, and how many there were.

use super::limiter::Limiter;
use crate::sync::{Backoff, Random};
use std::time::Duration;
use tokio::time::Instant;

#[derive(Debug)]
pub(in crate::scan) struct ScanPace {
    pub limiter: Limiter,
    /// Requests sent, and how many of them were throttled.
    pub requests: u64,
    pub throttled: u64,
    started: Instant,
    /// The time it took, once the scan has stopped.
    took: Option<Duration>,
    random: Random,
}

impl ScanPace {
    pub fn new(workers: usize, random: Random) -> Self {
        let limiter = Limiter::new(workers);
        Self { limiter, requests: 0, throttled: 0, started: Instant::now(), took: None, random }
    }

    /// The first request is about to be sent.
    pub fn start(&mut self) {
        self.started = Instant::now();
    }

    pub fn stop(&mut self) {
        self.took = Some(self.started.elapsed());
    }

    pub fn elapsed(&self) -> Duration {
        self.took.unwrap_or_else(|| self.started.elapsed())
    }

    /// Seconds since the start.
    pub fn now(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// The wait after a throttled request.
    pub fn wait(&self, backoff: &mut Backoff) -> Duration {
        backoff.next(&self.random)
    }
}
