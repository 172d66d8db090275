//! Exponential backoff: waits that double up to a longest, spread at random so that clients that
//! failed together do not come back together. The waits of `Retry` are in `layer/retry/strategy`.

use super::Random;
use std::time::Duration;

/// More doublings than these exceed every longest wait in use, and would overflow.
const MAX_DOUBLINGS: u32 = 16;

/// The next factor by which a wait is spread: between 0.8 and 1.2.
pub(crate) fn jitter(random: f64) -> f64 {
    0.4f64.mul_add(random, 0.8)
}

/// Waits between the attempts of one request.
#[derive(Debug)]
pub(crate) struct Backoff {
    first: Duration,
    longest: Duration,
    waits: u32,
}

impl Backoff {
    /// Waits of about `first`, then twice that, up to about `longest`.
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, waits: 0 }
    }

    /// Starts over with the first wait.
    #[cfg(any(test, feature = "distributed"))]
    pub const fn reset(&mut self) {
        self.waits = 0;
    }

    /// The waits since the start.
    pub const fn waits(&self) -> u32 {
        self.waits
    }

    /// The next wait, [spread](jitter) by one random number.
    pub fn next(&mut self, random: &Random) -> Duration {
        let wait = self.first.saturating_mul(1 << self.waits.min(MAX_DOUBLINGS)).min(self.longest);
        self.waits = self.waits.saturating_add(1);
        wait.mul_f64(jitter(random.unit()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_are_spread_by_a_fifth() {
        let random = Random::seeded(5);
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
        for expected in [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0] {
            let wait = backoff.next(&random).as_secs_f64();
            assert!((0.8 * expected..1.2 * expected).contains(&wait), "{wait}, not {expected}");
        }
        assert_eq!(backoff.waits(), 8);
        backoff.reset();
        assert!(backoff.next(&random) < Duration::from_millis(120));
    }

    #[test]
    fn a_backoff_that_never_ends_stays_at_its_longest() {
        let random = Random::seeded(5);
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::MAX / 2);
        for _ in 0..1000 {
            assert!(backoff.next(&random) < Duration::from_secs(1 << 17));
        }
    }

    #[test]
    fn jitter_is_within_a_fifth() {
        assert_eq!((jitter(0.0), jitter(0.5), jitter(1.0)), (0.8, 1.0, 1.2000000000000002));
    }
}
