//! A token bucket whose rate follows the service.
//!
//! Invariant: the rate is never above `most`, and after a cut not below a 64th of it.

use crate::sync::TokenBucket;
use std::time::Duration;
use tokio::time::Instant;

/// What an idle bucket passes at once, as time at its rate.
const BURST: Duration = Duration::from_millis(100);
/// The shortest time between two cuts: requests that run at once are throttled together.
const CUT_EVERY: Duration = Duration::from_secs(1);
/// How long a rate stays before it is raised, and by which factor.
const RAISE_EVERY: Duration = Duration::from_secs(10);
const RAISE_BY: f64 = 1.5;
/// The longest time for which a `Retry-After` holds back other requests. After it they are sent, and learn
/// from the service how long to wait: only so can their calls end at their deadlines.
const MAX_HOLD: Duration = Duration::from_secs(30);
/// The smallest part of its full rate that a bucket is cut to.
const LEAST_PART: f64 = 1.0 / 64.0;
/// The part of its rate that a cold bucket must have passed to be raised.
const USED_PART: f64 = 0.5;
/// A bucket that passed nothing for so long is cold again.
const COLD_AFTER: Duration = Duration::from_secs(600);

/// What a request takes from a bucket.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    pub(super) wait: Duration,
    pub(super) time: Duration,
}

/// A token bucket whose rate falls when the service throttles, and rises again by time.
#[derive(Debug)]
pub(super) struct Bucket {
    most: f64,
    rate: f64,
    tokens: TokenBucket<Instant>,
    cut: Option<Instant>,
    raised: Instant,
    cold: Option<Cold>,
}

/// A bucket that warms up: its rate rises only by use.
#[derive(Debug)]
struct Cold {
    /// The rate it begins with.
    start: f64,
    /// What it has passed since its rate was raised.
    passed: f64,
    last: Instant,
}

impl Bucket {
    pub(super) fn new(rate: u32, now: Instant) -> Self {
        Self {
            most: rate.into(),
            rate: rate.into(),
            tokens: TokenBucket::new(now),
            cut: None,
            raised: now,
            cold: None,
        }
    }

    /// A bucket that begins with a lower rate.
    pub(super) fn cold(rate: u32, start: u32, now: Instant) -> Self {
        let start = f64::from(start.min(rate));
        let cold = Some(Cold { start, passed: 0.0, last: now });
        Self { rate: start, cold, ..Self::new(rate, now) }
    }

    /// Returns what was taken and not used.
    pub(super) fn give_back(&mut self, time: Duration) {
        self.tokens.give_back(time);
    }

    /// Takes entities. Returns how long to wait for them, and the time that they take.
    pub(super) fn take(&mut self, entities: usize, now: Instant) -> Taken {
        self.cool(now);
        self.raise(now);
        if let Some(cold) = &mut self.cold {
            cold.passed += entities as f64;
        }
        // No request has more than some thousand entities, which a double holds.
        let time = Duration::try_from_secs_f64(entities as f64 / self.rate).unwrap_or_default();
        let start = self.tokens.take(now, time);
        Taken { wait: start.saturating_duration_since(now + BURST), time }
    }

    /// Begins anew after a long rest.
    fn cool(&mut self, now: Instant) {
        if let Some(cold) = &mut self.cold {
            if now >= cold.last + COLD_AFTER {
                (self.rate, self.raised, cold.passed) = (cold.start, now, 0.0);
            }
            cold.last = now;
        }
    }

    pub(super) fn raise(&mut self, now: Instant) {
        while self.rate < self.most && now >= self.raised + RAISE_EVERY {
            if let Some(cold) = &mut self.cold {
                let used = USED_PART * self.rate * RAISE_EVERY.as_secs_f64();
                if std::mem::take(&mut cold.passed) < used {
                    self.raised = now;
                    return;
                }
            }
            self.rate = (self.rate * RAISE_BY).min(self.most);
            self.raised += RAISE_EVERY;
        }
    }

    pub(super) fn cut(&mut self, retry_after: Option<Duration>, now: Instant) {
        self.raise(now);
        if self.cut.is_none_or(|cut| now >= cut + CUT_EVERY) {
            self.rate = (self.rate / 2.0).max(self.most * LEAST_PART);
            self.cut = Some(now);
        }
        self.raised = now;
        if let Some(time) = retry_after {
            self.tokens.hold_until(now + BURST + time.min(MAX_HOLD));
        }
    }

    pub(super) fn is_idle(&self, now: Instant) -> bool {
        self.tokens.is_full(now) && self.rate >= self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// How many entities, one a request, pass in a time.
    fn entities(bucket: &mut Bucket, from: Instant, time: Duration) -> usize {
        let mut now = from;
        let mut entities = 0;
        loop {
            now += bucket.take(1, now).wait;
            if now >= from + time {
                return entities;
            }
            entities += 1;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_bucket_passes_its_rate() {
        let now = Instant::now();
        let mut bucket = Bucket::new(500, now);
        let first = entities(&mut bucket, now, SECOND);
        assert!((549..=551).contains(&first), "{first}: a second, and the burst");
    }

    #[tokio::test(start_paused = true)]
    async fn throttling_halves_the_rate_once_a_second_and_it_comes_back_slowly() {
        let start = Instant::now();
        let mut bucket = Bucket::new(1000, start);
        let mut cut = |seconds: f64, rate: f64| {
            bucket.cut(None, start + Duration::from_secs_f64(seconds));
            assert!((bucket.rate - rate).abs() < 0.01, "{} at {seconds}", bucket.rate);
        };
        cut(0.0, 500.0);
        cut(0.5, 500.0);
        cut(1.0, 250.0);
        for (seconds, rate) in [(10.0, 250.0), (11.0, 375.0), (21.0, 562.5), (31.0, 843.75)] {
            bucket.raise(start + Duration::from_secs_f64(seconds));
            assert!((bucket.rate - rate).abs() < 0.01, "{} at {seconds}", bucket.rate);
        }
        bucket.raise(start + 100 * SECOND);
        assert!((bucket.rate - 1000.0).abs() < 0.01);
        for second in 100..200 {
            bucket.cut(None, start + second * SECOND);
        }
        assert!((bucket.rate - 1000.0 / 64.0).abs() < 0.01, "{}", bucket.rate);
    }

    #[tokio::test(start_paused = true)]
    async fn a_cold_bucket_warms_up_by_use_and_cools_down_at_rest() {
        let mut now = Instant::now();
        let mut bucket = Bucket::cold(20_000, 2_000, now);
        let mut second = |bucket: &mut Bucket, times: u32, part: f64| {
            for _ in 0..times {
                now += SECOND;
                bucket.take((part * bucket.rate) as usize, now);
            }
            bucket.rate
        };
        assert_eq!(second(&mut bucket, 9, 1.0), 2_000.0);
        assert_eq!(second(&mut bucket, 1, 1.0), 3_000.0);
        assert_eq!(second(&mut bucket, 50, 1.0), 20_000.0, "after a minute");
        assert_eq!(second(&mut bucket, 500, 0.0), 20_000.0);
        now += COLD_AFTER;
        bucket.take(1, now);
        assert_eq!(bucket.rate, 2_000.0);
        // Little use is no reason to go faster.
        for _ in 0..100 {
            now += SECOND;
            bucket.take(500, now);
        }
        assert_eq!(bucket.rate, 2_000.0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_retry_after_holds_all_back() {
        let now = Instant::now();
        let mut bucket = Bucket::new(1000, now);
        bucket.cut(Some(7 * SECOND), now);
        assert_eq!(bucket.take(1, now).wait, 7 * SECOND);
        let mut bucket = Bucket::new(1000, now);
        bucket.cut(Some(Duration::MAX), now);
        assert_eq!(bucket.take(1, now).wait, MAX_HOLD, "not longer than a deadline");
    }
}
