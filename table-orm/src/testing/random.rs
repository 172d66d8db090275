//! Random numbers that are the same in every run.

use crate::sync::SplitMix64;

/// A generator of random numbers: the same seed, the same numbers.
#[derive(Debug, Clone)]
pub struct Random(SplitMix64);

impl Random {
    /// A generator with that seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    /// 64 random bits (SplitMix64).
    pub const fn bits(&mut self) -> u64 {
        self.0.next()
    }

    /// A number from 0 up to, not including, 1.
    pub fn fraction(&mut self) -> f64 {
        self.0.unit()
    }

    /// A number below `limit`; 0 for a limit of 0.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.fraction() * limit as f64) as usize
    }

    /// A number of the normal distribution of mean 0 and deviation 1 (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.fraction()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.fraction()).cos()
    }
}
