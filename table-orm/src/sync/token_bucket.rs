//! A token bucket: it passes a rate on average, and holds back what comes faster.
//!
//! It is kept as one point in time, the end of everything it has passed at its rate (known as the
//! virtual scheduling form). So the caller may change its rate at any moment: it says how much time a
//! request takes, and only later requests take another. A burst is the caller's too: it subtracts the
//! burst from the time that [`take`](TokenBucket::take) returns.
//!
//! Invariant: `busy_until` lies ahead of now by the time that everything passed still takes.

use std::ops::{Add, Sub};

/// A token bucket over a clock `T`: an `Instant`, or seconds since a start.
#[derive(Debug)]
pub(crate) struct TokenBucket<T> {
    busy_until: T,
}

impl<T: Copy + PartialOrd> TokenBucket<T> {
    /// A full bucket: the next request passes at once.
    pub const fn new(now: T) -> Self {
        Self { busy_until: now }
    }

    /// Takes what the bucket passes in `time`. Returns when the request may be sent.
    pub fn take<D>(&mut self, now: T, time: D) -> T
    where
        T: Add<D, Output = T>,
    {
        self.hold_until(now);
        let start = self.busy_until;
        self.busy_until = start + time;
        start
    }

    /// Returns what was taken and not used.
    pub fn give_back<D>(&mut self, time: D)
    where
        T: Sub<D, Output = T>,
    {
        self.busy_until = self.busy_until - time;
    }

    /// Passes nothing before that time.
    pub fn hold_until(&mut self, time: T) {
        if time > self.busy_until {
            self.busy_until = time;
        }
    }

    /// Whether nothing that was taken is still to pass.
    pub fn is_full(&self, now: T) -> bool {
        self.busy_until <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_spaced_by_the_time_they_take() {
        let mut bucket = TokenBucket::new(0.0);
        assert_eq!(bucket.take(5.0, 0.5), 5.0, "a bucket at rest passes at once");
        assert_eq!(bucket.take(5.0, 0.25), 5.5);
        assert_eq!(bucket.take(5.0, 1.0), 5.75);
        assert!(!bucket.is_full(6.5) && bucket.is_full(6.75));
    }

    #[test]
    fn what_is_given_back_passes_the_next_request() {
        let mut bucket = TokenBucket::new(0.0);
        bucket.take(0.0, 3.0);
        bucket.give_back(2.0);
        assert_eq!(bucket.take(0.0, 1.0), 1.0);
    }

    #[test]
    fn a_bucket_can_be_held_but_never_moved_back() {
        let mut bucket = TokenBucket::new(0.0);
        bucket.hold_until(7.0);
        bucket.hold_until(3.0);
        assert_eq!(bucket.take(1.0, 1.0), 7.0);
    }
}
