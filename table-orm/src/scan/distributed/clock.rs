//! The time, for leases: the machine's clock, moved along with tokio's clock when that is paused.

use crate::model::DateTime;
use std::time::{Duration, Instant};

const TICKS_PER_SECOND: f64 = 1e7;

pub(super) fn now() -> DateTime {
    let tokio = tokio::time::Instant::now().into_std();
    let (real, wall) = (Instant::now(), DateTime::now());
    let ahead = tokio.saturating_duration_since(real).as_secs_f64()
        - real.saturating_duration_since(tokio).as_secs_f64();
    plus(wall, ahead)
}

/// The time in that long.
pub(super) fn after(wait: Duration) -> DateTime {
    plus(now(), wait.as_secs_f64())
}

/// How long it is until then; zero once that has passed.
pub(super) fn until(time: DateTime) -> Duration {
    let ticks = time.ticks().saturating_sub(now().ticks());
    Duration::from_secs_f64(ticks.max(0) as f64 / TICKS_PER_SECOND)
}

fn plus(time: DateTime, seconds: f64) -> DateTime {
    let ticks = (seconds * TICKS_PER_SECOND) as i64;
    DateTime::from_ticks(time.ticks().saturating_add(ticks)).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_paused_clock_takes_the_time_along() {
        let before = now();
        tokio::time::sleep(Duration::from_hours(2)).await;
        let passed = (now().ticks() - before.ticks()) as f64 / TICKS_PER_SECOND;
        assert!((passed - 7200.0).abs() < 0.1, "{passed}");
    }

    #[tokio::test]
    async fn else_it_is_the_machines_time() {
        let apart = (now().ticks() - DateTime::now().ticks()) as f64 / TICKS_PER_SECOND;
        assert!(apart.abs() < 0.1, "{apart}");
    }
}
