//! The timestamps of a store's writes.
//!
//! Invariant: they strictly increase over the life of the database, even when the system clock
//! steps back, so no ETag is used twice. A file holds an upper bound of all timestamps, which
//! moves in steps and not with every write. A database in memory keeps the last timestamp.

use crate::model::{DateTime, TICKS_PER_SECOND};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// The step of the stored bound: 1 s. After a crash, timestamps may be ahead of the system clock by
/// as much.
const STEP_TICKS: i64 = TICKS_PER_SECOND;

/// A source of timestamps.
#[derive(Debug)]
pub(crate) struct Clock {
    last: LastTick,
    bound: i64,
}

/// The last timestamp. Clones share it, and only one clock at a time has it.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastTick(Arc<AtomicI64>);

impl LastTick {
    fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, ticks: i64) {
        self.0.store(ticks, Ordering::Relaxed);
    }
}

impl Clock {
    /// Continues above the stored bound.
    pub(crate) fn after(bound: i64) -> Self {
        let last = LastTick::default();
        last.set(bound);
        Self { last, bound }
    }

    /// Continues above the last timestamp of a clock before it.
    pub(crate) fn continuing(last: LastTick) -> Self {
        let bound = last.get();
        Self { last, bound }
    }

    /// Returns the time, or the tick after the last timestamp if that is later. Stops at the end of
    /// the year 9999.
    pub(crate) fn tick(&mut self) -> DateTime {
        let next = DateTime::now().ticks().max(self.last.get() + 1);
        let now = DateTime::from_ticks(next).unwrap_or(DateTime::MAX);
        self.last.set(now.ticks());
        now
    }

    /// Whether a timestamp of the next millisecond may pass the stored bound.
    pub(crate) fn is_near_bound(&self) -> bool {
        const MILLISECOND: i64 = STEP_TICKS / 1000;
        self.last.get().max(DateTime::now().ticks()) + MILLISECOND > self.bound
    }

    /// Returns the bound to store with this transaction, when timestamps have passed the stored
    /// one.
    pub(crate) fn passed_bound(&self) -> Option<i64> {
        let last = self.last.get();
        (last > self.bound).then(|| last + STEP_TICKS)
    }

    /// Records the bound that is now in the file.
    pub(crate) const fn bound_stored(&mut self, bound: i64) {
        self.bound = bound;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_strictly_increase_past_the_stored_bound() {
        let future = DateTime::now().ticks() + 100 * STEP_TICKS;
        let mut clock = Clock::after(future);
        let ticks: Vec<_> = (0..100).map(|_| clock.tick().ticks()).collect();
        assert_eq!(ticks, (1..=100).map(|step| future + step).collect::<Vec<_>>());
        assert_eq!(clock.passed_bound(), Some(future + 100 + STEP_TICKS));
        clock.bound_stored(future + 100 + STEP_TICKS);
        clock.tick();
        assert_eq!(clock.passed_bound(), None);
    }

    #[test]
    fn timestamps_strictly_increase_from_one_clock_to_the_next() {
        let future = DateTime::now().ticks() + 100 * STEP_TICKS;
        let last = LastTick::default();
        last.set(future);
        let first = Clock::continuing(last.clone()).tick().ticks();
        let next = Clock::continuing(last).tick().ticks();
        assert_eq!((first, next), (future + 1, future + 2));
    }
}
