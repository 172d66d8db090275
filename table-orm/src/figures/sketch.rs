//! Percentiles of many numbers, in little memory.
//!
//! Invariant: a percentile is within 1 % of the number that has its rank, or differs by at most one.
//! Smallest, largest and mean are exact. A DDSketch counts all numbers within 1 % of each other in one counter. The
//! middle of these is off by half of that, and rounding adds a half at most. Numbers up to 2^58 need fewer than the
//! 4,096 counters of the sketch, which take 32 KiB.

use serde::{Deserialize, Serialize};
use sketches_ddsketch::{Config, DDSketch};

/// Some numbers by their rank. `p90` is the number that 9 of 10 do not exceed. All are 0 without a number.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Percentiles {
    /// The smallest.
    pub least: u64,
    /// The median, within 1 %.
    pub p50: u64,
    /// Within 1 %.
    pub p90: u64,
    /// Within 1 %.
    pub p99: u64,
    /// Within 1 %.
    pub p999: u64,
    /// The largest.
    pub most: u64,
    /// The mean.
    pub mean: f64,
}

/// The numbers so far.
#[derive(Clone, Default)]
pub(crate) struct Sketch {
    counters: DDSketch,
    numbers: u64,
    least: u64,
    most: u64,
    sum: u128,
}

impl Sketch {
    pub fn new() -> Self {
        // Whole numbers below a half are 0.
        Self { counters: DDSketch::new(Config::new(0.005, 4096, 0.5)), ..Self::default() }
    }

    /// Adds a number.
    pub fn add(&mut self, number: u64) {
        self.counters.add(number as f64);
        self.least = if self.numbers == 0 { number } else { self.least.min(number) };
        self.most = self.most.max(number);
        self.numbers += 1;
        self.sum += u128::from(number);
    }

    /// The percentiles of the numbers so far; all 0 without one.
    pub fn percentiles(&self) -> Percentiles {
        let at = |share: f64| {
            let rank = rank(share, self.numbers) as f64;
            // The sketch rounds the place among the ranks down: half a rank more is safe from a rounding error.
            let place = ((rank + 0.5) / self.numbers.saturating_sub(1).max(1) as f64).min(1.0);
            let number = self.counters.quantile(place).ok().flatten().unwrap_or_default();
            (number.round() as u64).clamp(self.least, self.most)
        };
        Percentiles {
            least: self.least,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            most: self.most,
            mean: if self.numbers == 0 { 0.0 } else { self.sum as f64 / self.numbers as f64 },
        }
    }
}

/// The place, from 0, of the number that such a share of all numbers do not exceed.
fn rank(share: f64, numbers: u64) -> u64 {
    ((share * numbers as f64).ceil() as u64).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Numbers of all magnitudes, with many that are equal.
    fn numbers() -> impl Strategy<Value = Vec<u64>> {
        let number = (0_u32..58).prop_flat_map(|bits| 0..(1_u64 << bits) + 1);
        proptest::collection::vec(prop_oneof![number, 0_u64..20], 1..400)
    }

    proptest! {
        #[test]
        fn percentiles_are_within_a_hundredth_of_the_exact_ones(mut numbers in numbers()) {
            let mut sketch = Sketch::new();
            numbers.iter().for_each(|number| sketch.add(*number));
            numbers.sort_unstable();
            let found = sketch.percentiles();
            let sum: u128 = numbers.iter().copied().map(u128::from).sum();
            prop_assert_eq!((found.least, found.most), (numbers[0], *numbers.last().unwrap()));
            prop_assert!((found.mean - sum as f64 / numbers.len() as f64).abs() <= found.mean * 1e-12);
            for (share, found) in [(0.5, found.p50), (0.9, found.p90), (0.99, found.p99), (0.999, found.p999)] {
                let exceeded = |number: &u64| numbers.iter().filter(|other| *other > number).count();
                let most = ((1.0 - share) * numbers.len() as f64 + 1e-9) as usize;
                let exact = *numbers.iter().find(|number| exceeded(number) <= most).unwrap();
                prop_assert!(
                    found.abs_diff(exact) as f64 <= (exact as f64 * 0.01).max(1.0),
                    "{share}: {found} for {exact}"
                );
            }
        }
    }

    #[test]
    fn of_few_numbers_the_largest_is_the_last_percentile() {
        let mut sketch = Sketch::new();
        [1, 2, 3, 4, 5, 6, 7, 8, 9, 1000].into_iter().for_each(|number| sketch.add(number));
        let Percentiles { p50, p90, p99, p999, .. } = sketch.percentiles();
        assert_eq!((p50, p90), (5, 9));
        assert!(p99 >= 990 && p999 >= 990, "{p99} {p999}");
    }

    #[test]
    fn no_numbers_have_no_percentiles() {
        assert_eq!(Sketch::new().percentiles(), Percentiles::default());
    }
}
