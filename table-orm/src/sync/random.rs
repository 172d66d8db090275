//! Random numbers that replay: a seed produces the same numbers in every version.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// SplitMix64 (Steele, Lea and Flood, 2014): 64 bits of state, every state a good start.
#[derive(Debug, Clone)]
pub(crate) struct SplitMix64(u64);

impl SplitMix64 {
    /// The sequence of a seed.
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number from 0 up to, not including, 1.
    pub(crate) fn unit(&mut self) -> f64 {
        // The upper 53 bits: as many as a double holds.
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The finalizer of SplitMix64: each bit of the result depends on all bits. Stored shards depend on it.
pub(crate) const fn mix(bits: u64) -> u64 {
    let mixed = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A generator that calls which run at once share.
#[derive(Debug)]
pub(crate) struct Random(Mutex<SplitMix64>);

impl Random {
    /// The sequence of a seed.
    pub(crate) const fn seeded(seed: u64) -> Self {
        Self(Mutex::new(SplitMix64::new(seed)))
    }

    /// A sequence that differs from run to run: the hasher's keys come from the system.
    pub(crate) fn from_system() -> Self {
        Self::seeded(RandomState::new().hash_one(0))
    }

    /// 64 random bits.
    pub(crate) fn next(&self) -> u64 {
        self.state().next()
    }

    /// A number from 0 up to, not including, 1.
    pub(crate) fn unit(&self) -> f64 {
        self.state().unit()
    }

    /// A whole number below `bound`, 0 when that is 0.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn below(&self, bound: u64) -> u64 {
        self.next().checked_rem(bound).unwrap_or_default()
    }

    fn state(&self) -> MutexGuard<'_, SplitMix64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_published_sequence() {
        // The reference implementation's first outputs for the seed 1234567.
        let random = Random::seeded(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
        assert_eq!(random.next(), 9_817_491_932_198_370_423);
    }

    #[test]
    fn units_fill_the_range() {
        let random = Random::from_system();
        let units: Vec<_> = (0..1000).map(|_| random.unit()).collect();
        assert!(units.iter().all(|unit| (0.0..1.0).contains(unit)));
        assert!(units.iter().any(|&unit| unit < 0.1) && units.iter().any(|&unit| unit > 0.9));
        assert_eq!(random.below(0), 0);
    }
}
