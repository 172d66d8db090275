//! The time by this machine's clock. Random names begin with it, and it decides what has expired; nothing else
//! depends on it.

use crate::model::DateTime;
#[cfg(any(test, feature = "testing"))]
use crate::model::TICKS_PER_SECOND;
use std::fmt;
use std::sync::Arc;

/// A clock that gives the date and the time.
#[derive(Clone)]
pub(crate) enum WallClock {
    /// This machine's.
    System,
    /// One of the app.
    Given(Arc<dyn Fn() -> DateTime + Send + Sync>),
    /// One that runs with the runtime's clock.
    #[cfg(any(test, feature = "testing"))]
    Virtual(Virtual),
}

/// A clock of a tokio runtime, from a date on.
#[cfg(any(test, feature = "testing"))]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Virtual {
    start: tokio::time::Instant,
    date: DateTime,
    /// How fast it runs.
    rate: f64,
}

impl WallClock {
    /// One that is up to 12 hours wrong from now on, and up to a tenth too fast or too slow.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn wrong(date: DateTime, seed: u64) -> Self {
        const HOURS: f64 = 3600.0 * TICKS_PER_SECOND as f64;
        // Other numbers than those of the random waits, which have the same seed.
        let mut random = super::SplitMix64::new(!seed);
        let skew = (24.0 * HOURS * (random.unit() - 0.5)) as i64;
        let date = DateTime::from_ticks(date.ticks() + skew).unwrap_or(date);
        let rate = 0.2f64.mul_add(random.unit(), 0.9);
        Self::Virtual(Virtual { start: tokio::time::Instant::now(), date, rate })
    }

    /// The time on this clock.
    pub(crate) fn now(&self) -> DateTime {
        match self {
            Self::System => DateTime::now(),
            Self::Given(now) => now(),
            #[cfg(any(test, feature = "testing"))]
            Self::Virtual(Virtual { start, date, rate }) => {
                let since = start.elapsed().mul_f64(*rate).as_nanos() / 100;
                let ticks = date.ticks().saturating_add(i64::try_from(since).unwrap_or(i64::MAX));
                DateTime::from_ticks(ticks).unwrap_or(DateTime::MAX)
            }
        }
    }
}

impl fmt::Debug for WallClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WallClock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn a_wrong_clock_is_wrong_by_hours_and_drifts() {
        let date = DateTime::now();
        let behind = |clock: &WallClock| clock.now().ticks() - date.ticks();
        let clocks: Vec<_> = (0..100).map(|seed| WallClock::wrong(date, seed)).collect();
        const HOUR: i64 = 3600 * TICKS_PER_SECOND;
        assert!(clocks.iter().all(|clock| behind(clock).abs() <= 12 * HOUR));
        assert!(clocks.iter().any(|clock| behind(clock) < -6 * HOUR));
        assert!(clocks.iter().any(|clock| behind(clock) > 6 * HOUR));
        let before: Vec<_> = clocks.iter().map(behind).collect();
        tokio::time::advance(Duration::from_secs(36_000)).await;
        let passed = clocks.iter().zip(before).map(|(clock, before)| behind(clock) - before);
        let passed: Vec<_> = passed.collect();
        assert!(passed.iter().all(|passed| (9 * HOUR..=11 * HOUR).contains(passed)));
        assert!(passed.iter().any(|passed| *passed < 19 * HOUR / 2));
        assert!(passed.iter().any(|passed| *passed > 21 * HOUR / 2));
    }
}
