//! A token bucket: it passes a rate on average, and holds back what comes faster.
//!
//! It is kept as one point in time, the end of everything it has passed at its rate (known as the
//! virtual scheduling form). So the caller may change its rate at any moment: it says how much time a
//! request takes, and only later requests take another. A burst is the caller's too: it subtracts the
//! burst from the time that [`take`](TokenBucket::take) returns.
//!
//! Invariant: `busy_until` lies ahead of now by the time that everything passed still takes.

use std::time::Duration;
use tokio::time::Instant;

/// A point in time.
pub(crate) trait Time: Copy + PartialOrd {
    /// A length of time.
    type Span;

    /// Later by that span.
    fn after(self, span: Self::Span) -> Self;
    /// Earlier by that span.
    fn before(self, span: Self::Span) -> Self;
}

impl Time for Instant {
    type Span = Duration;

    /// Unchanged if the system's clock does not go that far.
    fn after(self, span: Duration) -> Self {
        self.checked_add(span).unwrap_or(self)
    }

    /// Unchanged if the system's clock does not go back that far.
    fn before(self, span: Duration) -> Self {
        self.checked_sub(span).unwrap_or(self)
    }
}

/// Seconds since a start.
impl Time for f64 {
    type Span = Self;

    fn after(self, span: Self) -> Self {
        self + span
    }

    fn before(self, span: Self) -> Self {
        self - span
    }
}

/// A token bucket over the clock of `T`.
#[derive(Debug)]
pub(crate) struct TokenBucket<T> {
    busy_until: T,
}

impl<T: Time> TokenBucket<T> {
    /// A full bucket: the next request passes at once.
    pub const fn new(now: T) -> Self {
        Self { busy_until: now }
    }

    /// Takes what the bucket passes in `time`. Returns when the request may be sent.
    pub fn take(&mut self, now: T, time: T::Span) -> T {
        self.hold_until(now);
        let start = self.busy_until;
        self.busy_until = start.after(time);
        start
    }

    /// Returns what was taken and not used.
    pub fn give_back(&mut self, time: T::Span) {
        self.busy_until = self.busy_until.before(time);
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
