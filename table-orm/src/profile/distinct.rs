//! How many different values there are, counted to a bound, and estimated from there on if asked for.
//!
//! Invariant: the set never holds more than [`MOST`] hashes of 64 bits, so the count takes the same memory
//! for any number of values. Two values with one hash count as one: among a hundred values that happens once
//! in 10^15 tables.

use super::report::Distinct;
use crate::figures::DistinctSketch;
use std::collections::HashSet;

/// The most values that are distinguished.
pub(super) const MOST: u64 = 100;

/// A count of different values.
#[derive(Debug, Default)]
pub(super) struct DistinctCount {
    seen: HashSet<u64>,
    is_over: bool,
    is_estimated: bool,
    /// All values, once there are too many to tell apart.
    sketch: Option<DistinctSketch>,
}

impl DistinctCount {
    /// A count that estimates numbers over the bound.
    pub fn estimated() -> Self {
        Self { is_estimated: true, ..Self::default() }
    }

    /// Whether another value changes nothing, so that it need not be hashed.
    pub const fn is_over(&self) -> bool {
        self.is_over && !self.is_estimated
    }

    /// Adds a value by its hash.
    pub fn add(&mut self, hash: u64) {
        if let Some(sketch) = &mut self.sketch {
            sketch.add(hash);
        }
        if self.is_over || !self.seen.insert(hash) || self.seen.len() as u64 <= MOST {
            return;
        }
        self.is_over = true;
        let seen = std::mem::take(&mut self.seen);
        if self.is_estimated {
            let mut sketch = DistinctSketch::new();
            seen.into_iter().for_each(|hash| sketch.add(hash));
            self.sketch = Some(sketch);
        }
    }

    /// The count so far.
    pub fn count(&self) -> Distinct {
        match &self.sketch {
            Some(sketch) => Distinct::About(sketch.estimate().max(MOST + 1)),
            None if self.is_over => Distinct::MoreThan(MOST),
            None => Distinct::Exactly(self.seen.len() as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_exactly_up_to_the_bound() {
        let mut count = DistinctCount::default();
        for value in 0..MOST {
            count.add(value);
            count.add(value / 2);
            assert_eq!(count.count(), Distinct::Exactly(value + 1));
        }
        for value in 0..10 * MOST {
            count.add(value);
        }
        assert_eq!((count.count(), count.seen.capacity()), (Distinct::MoreThan(MOST), 0));
    }

    #[test]
    fn values_over_the_bound_are_estimated_with_those_before_them() {
        let mut count = DistinctCount::estimated();
        let hash = |value: u64| crate::sync::Random::seeded(value).next();
        (0..MOST).for_each(|value| count.add(hash(value)));
        assert_eq!(count.count(), Distinct::Exactly(MOST));
        (0..5000).for_each(|value| count.add(hash(value)));
        let Distinct::About(values) = count.count() else { panic!("{:?}", count.count()) };
        assert!((4750..5250).contains(&values), "{values}");
        assert_eq!(count.seen.capacity(), 0);
    }
}
