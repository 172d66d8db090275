//! How many different values there are, counted to a bound.
//!
//! Invariant: the set never holds more than [`MOST`] hashes of 64 bits, so the count takes the same memory
//! for any number of values. Two values with one hash count as one: among a hundred values that happens once
//! in 10^15 tables.

use super::report::Distinct;
use std::collections::HashSet;

/// The most values that are told apart.
pub(super) const MOST: u64 = 100;

/// A count of different values.
#[derive(Debug, Default)]
pub(super) struct DistinctCount {
    seen: HashSet<u64>,
    is_over: bool,
}

impl DistinctCount {
    /// Whether another value changes nothing, so that it need not be hashed.
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Adds a value by its hash.
    pub fn add(&mut self, hash: u64) {
        if self.is_over || !self.seen.insert(hash) {
            return;
        }
        if self.seen.len() as u64 > MOST {
            self.is_over = true;
            self.seen = HashSet::new();
        }
    }

    /// The count so far.
    pub fn count(&self) -> Distinct {
        if self.is_over {
            Distinct::MoreThan(MOST)
        } else {
            Distinct::Exactly(self.seen.len() as u64)
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
}
