//! How often to retry, and how long to wait before each retry.
//!
//! The waits are not those of `sync::Backoff`: the client libraries' formula spreads
//! what it adds to a shortest wait, and cuts the sum off, so that late waits are not spread at all.

use super::classify::is_transient;
use super::policy::RetryPolicy;
use crate::layer::error;
use crate::layer::error::LayerError;
use crate::store::StoreError;
use crate::sync::jitter;
use std::time::Duration;

/// The most retries of one call.
pub const MAX_RETRIES: u32 = 100;
/// The longest wait: 1 hour.
pub const MAX_WAIT: Duration = Duration::from_secs(3600);

/// How often to retry, and how long to wait before each retry.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RetryStrategy {
    /// Never retries.
    None,
    /// Waits the same time before each retry.
    Fixed {
        /// How many retries, 1 to [`MAX_RETRIES`].
        retries: u32,
        /// The wait before each, at most [`MAX_WAIT`].
        wait: Duration,
    },
    /// Waits about twice as long before each retry. Before retry `x` the wait is `min(min + y, max)`
    /// with `y = rand(0.8 z, 1.2 z) * (2^x - 1)`: the formula of the Azure storage client libraries.
    Exponential {
        /// How many retries, 1 to [`MAX_RETRIES`].
        retries: u32,
        /// The formula's `z`, at most [`MAX_WAIT`].
        base: Duration,
        /// What is added to every wait.
        min: Duration,
        /// The longest wait, at most [`MAX_WAIT`].
        max: Duration,
    },
    /// Waits exactly these times, one before each retry: 1 to [`MAX_RETRIES`] of at most [`MAX_WAIT`]. The
    /// first fault of the transport is retried without a wait.
    Schedule(Vec<Duration>),
}

/// Retries what [`is_transient`](super::is_transient).
impl RetryPolicy for RetryStrategy {
    fn wait(&self, fault: &StoreError, retry: u32, spread: f64) -> Option<Duration> {
        if is_transient(fault) { self.wait_before(retry, spread) } else { None }
    }
}

impl RetryStrategy {
    /// A strategy for work that somebody waits for: 5 retries, after about 0.5, 1.3, 2.9, 6.1 and 12.5 s.
    pub const INTERACTIVE: Self = Self::Exponential {
        retries: 5,
        base: Duration::from_millis(400),
        min: Duration::from_millis(100),
        max: Duration::from_secs(20),
    };

    /// A strategy for work in the background, from the literature on scalable partitioning: `z` 30 s,
    /// at least 3 s, at most 90 s; 3 retries, after 27 to 39, 75 to 90 and 90 s.
    pub const CLASSIC: Self = Self::Exponential {
        retries: 3,
        base: Duration::from_secs(30),
        min: Duration::from_secs(3),
        max: Duration::from_secs(90),
    };

    /// Waits 2, 4, 10 and 30 s: the schedule of the literature's checklist for Table storage.
    #[must_use]
    pub fn checklist() -> Self {
        Self::Schedule([2, 4, 10, 30].map(Duration::from_secs).to_vec())
    }

    /// The wait before a retry, numbered from 1; `None` after the last retry. `unit` is a random number
    /// from 0 to 1.
    fn wait_before(&self, retry: u32, unit: f64) -> Option<Duration> {
        if retry > self.retries() {
            return None;
        }
        Some(match *self {
            Self::None => Duration::ZERO,
            Self::Schedule(ref waits) => {
                *waits.get(usize::try_from(retry).ok()?.checked_sub(1)?)?
            }
            Self::Fixed { wait, .. } => wait,
            Self::Exponential { base, min, max, .. } => {
                // At most 2^100 hours, which a double holds.
                let doubled = f64::from(retry).exp2() - 1.0;
                let spread = base.as_secs_f64() * jitter(unit) * doubled;
                let wait = (min.as_secs_f64() + spread).min(max.as_secs_f64());
                Duration::try_from_secs_f64(wait).unwrap_or(max)
            }
        })
    }

    fn retries(&self) -> u32 {
        match *self {
            Self::None => 0,
            Self::Schedule(ref waits) => u32::try_from(waits.len()).unwrap_or(u32::MAX),
            Self::Fixed { retries, .. } | Self::Exponential { retries, .. } => retries,
        }
    }

    pub(super) fn check(&self) -> Result<(), LayerError> {
        let retries = || {
            let number = |number| usize::try_from(number).unwrap_or(usize::MAX);
            error::number("the number of retries", number(self.retries()), number(MAX_RETRIES))
        };
        match *self {
            Self::None => Ok(()),
            Self::Schedule(ref waits) => {
                retries()?;
                waits.iter().try_for_each(|wait| error::time("a wait", *wait, MAX_WAIT))
            }
            Self::Fixed { wait, .. } => {
                retries()?;
                error::time("the wait", wait, MAX_WAIT)
            }
            Self::Exponential { base, min, max, .. } => {
                retries()?;
                error::time("the base of the waits", base, MAX_WAIT)?;
                error::time("the longest wait", max, MAX_WAIT)?;
                if min > max { Err(LayerError::Waits { min, max }) } else { Ok(()) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(strategy: &RetryStrategy, retry: u32) -> Option<(u128, u128)> {
        let wait = |unit| strategy.wait_before(retry, unit).map(|wait| wait.as_millis());
        Some((wait(0.0)?, wait(1.0)?))
    }

    #[test]
    fn waits_follow_the_published_formula() {
        assert_eq!(bounds(&RetryStrategy::CLASSIC, 1), Some((27_000, 39_000)));
        assert_eq!(bounds(&RetryStrategy::CLASSIC, 2), Some((75_000, 90_000)));
        assert_eq!(bounds(&RetryStrategy::CLASSIC, 3), Some((90_000, 90_000)));
        assert_eq!(bounds(&RetryStrategy::CLASSIC, 4), None);
        assert_eq!(bounds(&RetryStrategy::INTERACTIVE, 1), Some((420, 580)));
        assert_eq!(bounds(&RetryStrategy::INTERACTIVE, 2), Some((1_060, 1_540)));
        assert_eq!(bounds(&RetryStrategy::INTERACTIVE, 5), Some((10_020, 14_980)));
        assert_eq!(bounds(&RetryStrategy::INTERACTIVE, 6), None);
        assert_eq!(bounds(&RetryStrategy::None, 1), None);
        let fixed = RetryStrategy::Fixed { retries: 2, wait: Duration::from_secs(7) };
        assert_eq!(bounds(&fixed, 2), Some((7_000, 7_000)));
        assert_eq!(bounds(&fixed, 3), None);
        let schedule = RetryStrategy::checklist();
        for (retry, wait) in [(1, 2_000), (2, 4_000), (3, 10_000), (4, 30_000)] {
            assert_eq!(bounds(&schedule, retry), Some((wait, wait)));
        }
        assert_eq!(bounds(&schedule, 5), None);
        assert_eq!(bounds(&schedule, 0), None);
    }

    #[test]
    fn the_longest_strategy_stays_within_its_limit() {
        let most = RetryStrategy::Exponential {
            retries: MAX_RETRIES,
            base: MAX_WAIT,
            min: MAX_WAIT,
            max: MAX_WAIT,
        };
        assert_eq!(most.check(), Ok(()));
        assert_eq!(most.wait_before(MAX_RETRIES, 1.0), Some(MAX_WAIT));
    }

    #[test]
    fn zero_and_absurd_strategies_are_rejected() {
        let second = Duration::from_secs(1);
        let exponential =
            |retries, base, min, max| RetryStrategy::Exponential { retries, base, min, max };
        for rejected in [
            RetryStrategy::Fixed { retries: 0, wait: second },
            RetryStrategy::Fixed { retries: MAX_RETRIES + 1, wait: second },
            RetryStrategy::Fixed { retries: 1, wait: Duration::ZERO },
            RetryStrategy::Fixed { retries: 1, wait: MAX_WAIT + second },
            RetryStrategy::Schedule(Vec::new()),
            RetryStrategy::Schedule(vec![second, Duration::ZERO]),
            RetryStrategy::Schedule(vec![second, MAX_WAIT + second]),
            RetryStrategy::Schedule(vec![second; 101]),
            exponential(0, second, second, second),
            exponential(1, Duration::ZERO, second, second),
            exponential(1, second, second, Duration::MAX),
            exponential(1, second, second * 2, second),
        ] {
            assert!(rejected.check().is_err(), "{rejected:?}");
        }
        for accepted in [
            RetryStrategy::None,
            RetryStrategy::INTERACTIVE,
            RetryStrategy::CLASSIC,
            RetryStrategy::checklist(),
        ] {
            assert_eq!(accepted.check(), Ok(()));
        }
    }
}
