//! The timestamps of a store's writes.
//!
//! Invariant: they strictly increase over the life of the database file, even when the system clock
//! steps back, so no ETag is used twice. The file holds an upper bound of all timestamps, which
//! moves in steps and not with every write.

use crate::model::DateTime;

/// The step of the stored bound: 1 s. After a crash, timestamps may be ahead of the system clock by
/// as much.
const STEP_TICKS: i64 = 10_000_000;

/// A source of timestamps.
#[derive(Debug)]
pub(crate) struct Clock {
    last: i64,
    bound: i64,
}

impl Clock {
    /// Continues above the stored bound.
    pub(crate) const fn after(bound: i64) -> Self {
        Self { last: bound, bound }
    }

    /// Returns the time, or the tick after the last timestamp if that is later. Stops at the end of
    /// the year 9999.
    pub(crate) fn tick(&mut self) -> DateTime {
        let next = DateTime::now().ticks().max(self.last + 1);
        let now = DateTime::from_ticks(next).unwrap_or(DateTime::MAX);
        self.last = now.ticks();
        now
    }

    /// Returns the bound to store with this transaction, when timestamps have passed the stored
    /// one.
    pub(crate) const fn passed_bound(&self) -> Option<i64> {
        if self.last > self.bound { Some(self.last + STEP_TICKS) } else { None }
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
}
