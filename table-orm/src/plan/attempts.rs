//! The attempts of one call that other writers make fail, and the waits between them.
//!
//! Invariants:
//! - The first attempt is made at once, and the last one no later than the time that the call may take.
//! - Waits grow with each failed attempt and with the time that an attempt takes, so that writers who
//!   keep failing leave the row to others, on slow stores as on fast ones. They are spread at random.

use super::connection::Connection;
use crate::sync::{Random, Timer};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

/// How long a call that reads first tries again when other writers change what it read in between,
/// unless the call sets another time: 30 s.
///
/// An attempt fails when another writer changes the entity between the read and the write. Calls of one
/// [`Tables`](crate::Tables) and its clones wait for each other, so this takes writers in other processes. The
/// wait before the next attempt is spread at random, grows with each conflict from about twice the time
/// of an attempt, and is at most 4.5 s.
pub const CONFLICT_RETRY_TIME: Duration = Duration::from_secs(30);

/// The wait after the first conflict, in times of an attempt.
const FIRST_WAIT: u32 = 2;
/// The factor from one wait to the next.
const GROWTH: u32 = 4;
/// The longest wait, in times of an attempt.
const LONGEST_WAIT: u32 = 100;
/// The longest wait, before it is spread.
const MAX_WAIT: Duration = Duration::from_secs(3);
/// The longest wait is also an eighth of the time that is left: a call that has waited long comes before
/// others.
const SHARE: u32 = 8;
/// What an attempt takes at least: the clocks of waits are no finer.
const SHORTEST_ATTEMPT: Duration = Duration::from_micros(100);

/// How often, and for how long, a call makes attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RetryLimits {
    /// The most attempts.
    pub attempts: Option<usize>,
    /// The time after which no attempt begins.
    pub time: Duration,
}

impl RetryLimits {
    /// One attempt.
    pub const ONCE: Self = Self { attempts: Some(1), time: Duration::ZERO };

    /// At most that many attempts; 0 counts as 1.
    pub fn set_attempts(&mut self, attempts: usize) {
        self.attempts = Some(attempts.max(1));
    }
}

impl Default for RetryLimits {
    fn default() -> Self {
        Self { attempts: None, time: CONFLICT_RETRY_TIME }
    }
}

/// The attempts of one call.
#[derive(Debug)]
pub(crate) struct Attempts {
    timer: Timer,
    random: Arc<Random>,
    limits: RetryLimits,
    began: Duration,
    /// When the attempt that runs began.
    attempt_began: Duration,
    failed: usize,
}

impl Attempts {
    /// Begins the first attempt.
    pub fn begin(connection: &Connection, limits: RetryLimits) -> Self {
        let (timer, random) = (connection.timer, Arc::clone(&connection.random));
        let now = timer.now();
        Self { timer, random, limits, began: now, attempt_began: now, failed: 0 }
    }

    /// After a conflict: waits, and begins the next attempt. Returns `false` when there is no next one.
    pub async fn next(&mut self) -> bool {
        self.failed += 1;
        let now = self.timer.now();
        let left = self.left();
        if left.is_zero() || self.limits.attempts.is_some_and(|most| self.failed >= most) {
            return false;
        }
        let took = now.saturating_sub(self.attempt_began).max(SHORTEST_ATTEMPT);
        let wait = wait(took, self.failed).mul_f64(0.5 + self.random.unit());
        let wait = wait.min((left / SHARE).max(took)).min(left);
        self.timer.sleep(wait).await;
        self.resume();
        true
    }

    /// What is left of the time.
    fn left(&self) -> Duration {
        self.limits.time.saturating_sub(self.timer.now().saturating_sub(self.began))
    }

    /// Awaits what the next attempt needs. Returns `None` when the time ends before.
    pub async fn in_time<T>(&self, needed: impl Future<Output = T>) -> Option<T> {
        let end = pin!(self.timer.sleep(self.left()));
        match select(pin!(needed), end).await {
            Either::Left((value, _)) => Some(value),
            Either::Right(_) => None,
        }
    }

    /// Says that the attempt begins only now, after a wait for other calls.
    pub fn resume(&mut self) {
        self.attempt_began = self.timer.now();
    }
}

/// The wait after that many failed attempts, the last of which took so long.
fn wait(took: Duration, failed: usize) -> Duration {
    let exponent = u32::try_from(failed.saturating_sub(1)).unwrap_or(u32::MAX);
    let times = GROWTH.saturating_pow(exponent).saturating_mul(FIRST_WAIT).min(LONGEST_WAIT);
    took.saturating_mul(times).min(MAX_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_with_the_conflicts_and_with_the_time_of_an_attempt() {
        let waits = |took: u64| [1, 2, 3, 4, 5, 1000].map(|n| wait(Duration::from_millis(took), n));
        assert_eq!(waits(1), [2, 8, 32, 100, 100, 100].map(Duration::from_millis));
        assert_eq!(waits(20), [40, 160, 640, 2000, 2000, 2000].map(Duration::from_millis));
        assert_eq!(wait(Duration::MAX, usize::MAX), MAX_WAIT);
    }

    async fn attempts(timer: Timer, limits: RetryLimits) -> u32 {
        let (now, random) = (timer.now(), Arc::new(Random::seeded(1)));
        let mut attempts =
            Attempts { timer, random, limits, began: now, attempt_began: now, failed: 0 };
        let mut made = 1;
        while attempts.next().await {
            made += 1;
        }
        made
    }

    #[tokio::test(start_paused = true)]
    async fn attempts_end_with_the_time_or_the_number_that_is_set() {
        let timer = Timer::tokio();
        let limits = |attempts, time| RetryLimits { attempts, time: Duration::from_millis(time) };
        assert_eq!(attempts(timer, limits(None, 0)).await, 1);
        assert_eq!(attempts(timer, limits(Some(3), 60_000)).await, 3);
        let began = timer.now();
        let made = attempts(timer, limits(None, 1000)).await;
        let took = timer.now() - began;
        assert!(made > 10, "{made}");
        assert!((1000..=1002).contains(&took.as_millis()), "{took:?}");
    }
}
