//! When a worker checks for idle workers, and how many parts it splits off for them.
//!
//! A queue shows whether a message waits, but not how many workers are idle. So the number of parts
//! doubles each time that all were taken since the last check, and falls to one when a message waits.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// A worker checks after this many pages of a range, or after this time.
const PAGES_PER_CHECK: u32 = 4;
const TIME_PER_CHECK: Duration = Duration::from_secs(5);
/// The parts of a worker's first split: as many as a few idle workers take at once.
const FIRST_PARTS: usize = 4;
/// The most parts of a split.
const MOST_PARTS: usize = 16;

/// How many parts a worker splits off next.
#[derive(Debug)]
pub(super) struct SplitPolicy {
    parts: AtomicUsize,
}

impl Default for SplitPolicy {
    fn default() -> Self {
        Self { parts: AtomicUsize::new(FIRST_PARTS) }
    }
}

impl SplitPolicy {
    /// Notes whether a message waits; returns how many parts to split off.
    pub fn parts(&self, waiting: bool) -> usize {
        let parts = self.parts.load(Ordering::Relaxed);
        let (now, next) = if waiting { (0, 1) } else { (parts, (2 * parts).min(MOST_PARTS)) };
        self.parts.store(next, Ordering::Relaxed);
        now
    }
}

/// When the worker of a range checks next.
#[derive(Debug, Default)]
pub(super) struct IdleChecks {
    last: Option<(u32, Instant)>,
}

impl IdleChecks {
    /// Whether a check is due: at the range's first page, at the next one after a split, and otherwise
    /// after some pages or some time.
    pub fn is_due(&self, page: u32) -> bool {
        self.last.is_none_or(|(last, time)| {
            page - last >= PAGES_PER_CHECK || time.elapsed() >= TIME_PER_CHECK
        })
    }

    /// Notes a check, and whether it has led to a split.
    pub fn checked(&mut self, page: u32, split: bool) {
        self.last = (!split).then(|| (page, Instant::now()));
    }
}
