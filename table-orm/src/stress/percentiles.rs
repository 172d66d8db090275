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
        let of = |permille: usize| {
            // The smallest value that so many do not exceed.
            let rank = (permille * self.0.len()).div_ceil(1000);
            let micros = self.0.get(rank.saturating_sub(1)).copied().unwrap_or_default();
            f64::from(micros) / 1000.0
        };
        Percentiles { p50: of(500), p90: of(900), p99: of(990), p99_9: of(999), max: of(1000) }
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
            for (permille, value) in [(500, p50), (900, p90), (990, p99), (999, p99_9), (1000, max)] {
                let count = |is: &dyn Fn(f64) -> bool| {
                    1000 * millis.iter().filter(|&&milli| is(milli as f64)).count()
                };
                prop_assert!(count(&|milli| milli <= value) >= permille * millis.len());
                prop_assert!(count(&|milli| milli < value) < permille * millis.len());
            }
        }
    }

    #[test]
    fn a_step_without_calls_has_no_latency() {
        assert_eq!(Latencies::default().percentiles(), Percentiles::default());
    }
}
