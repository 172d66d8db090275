//! How long calls took.

use serde::Serialize;
use std::time::Duration;

/// The latencies of a step's calls in milliseconds, each from the moment at which its rate has it start.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct Percentiles {
    /// Half of the calls were at least as fast.
    pub p50: f64,
    /// 90 % were.
    pub p90: f64,
    /// 99 % were.
    pub p99: f64,
    /// 99.9 % were.
    pub p99_9: f64,
    /// All were.
    pub max: f64,
}

/// Latencies in microseconds. All are kept: a step has a bounded number of calls.
#[derive(Debug, Default)]
pub(super) struct Latencies(Vec<u32>);

impl Latencies {
    pub fn record(&mut self, latency: Duration) {
        self.0.push(latency.as_micros().try_into().unwrap_or(u32::MAX));
    }

    pub fn percentiles(mut self) -> Percentiles {
        self.0.sort_unstable();
        let of = |percent: f64| {
            // The smallest value that so many do not exceed.
            let rank = (percent / 100.0 * self.0.len() as f64).ceil() as usize;
            let micros = self.0.get(rank.saturating_sub(1)).copied().unwrap_or_default();
            f64::from(micros) / 1000.0
        };
        Percentiles { p50: of(50.0), p90: of(90.0), p99: of(99.0), p99_9: of(99.9), max: of(100.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_percentile_is_the_smallest_latency_that_so_many_calls_do_not_exceed(
            millis in proptest::collection::vec(0_u64..10_000, 1..3000)
        ) {
            let mut latencies = Latencies::default();
            for &milli in &millis {
                latencies.record(Duration::from_millis(milli));
            }
            let found = latencies.percentiles();
            let Percentiles { p50, p90, p99, p99_9, max } = found;
            for (percent, value) in [(50.0, p50), (90.0, p90), (99.0, p99), (99.9, p99_9), (100.0, max)] {
                let share = |is: &dyn Fn(f64) -> bool| {
                    let count = millis.iter().filter(|&&milli| is(milli as f64)).count();
                    100.0 * count as f64 / millis.len() as f64
                };
                prop_assert!(share(&|milli| milli <= value) >= percent - 1e-9);
                prop_assert!(share(&|milli| milli < value) < percent);
            }
        }
    }

    #[test]
    fn a_step_without_calls_has_no_latency() {
        assert_eq!(Latencies::default().percentiles(), Percentiles::default());
    }
}
