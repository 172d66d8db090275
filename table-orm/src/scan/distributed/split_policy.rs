//! When a worker looks for idle ones, and how many parts it splits off for them.
//!
//! A queue tells whether a message waits, not how many workers do. So the parts double each time
//! that all were taken since the last look, and come down to one as soon as a message waits.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// A worker looks after so many pages of a range, or after that time.
const PAGES_PER_LOOK: u32 = 4;
const TIME_PER_LOOK: Duration = Duration::from_secs(5);
/// Parts that a worker's first split has: as many as a few idle workers take at once.
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
    /// Takes note of whether a message waits; returns how many parts to split off.
    pub fn parts(&self, waiting: bool) -> usize {
        let parts = self.parts.load(Ordering::Relaxed);
        let (now, next) = if waiting { (0, 1) } else { (parts, (2 * parts).min(MOST_PARTS)) };
        self.parts.store(next, Ordering::Relaxed);
        now
    }
}

/// When the worker of a range looks next.
#[derive(Debug, Default)]
pub(super) struct Looks {
    last: Option<(u32, Instant)>,
}

impl Looks {
    /// Whether it is time: at the range's first page, at the next one after a split, and else now
    /// and then.
    pub fn is_due(&self, page: u32) -> bool {
        self.last.is_none_or(|(last, time)| {
            page - last >= PAGES_PER_LOOK || time.elapsed() >= TIME_PER_LOOK
        })
    }

    /// Takes note of a look, that has led to a split or not.
    pub fn looked(&mut self, page: u32, split: bool) {
        self.last = (!split).then(|| (page, Instant::now()));
    }
}
