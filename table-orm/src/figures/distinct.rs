//! How many different values there are, estimated in little memory.
//!
//! Invariant: the estimate depends on the set of hashes alone, not on their order or number. Its standard error is
//! 1.6 %, so it is within 5 % in 998 of 1,000 tables. A HyperLogLog of 4,096 registers of a byte, read with Ertl's
//! estimator ("New cardinality estimation algorithms for HyperLogLog sketches", 2017), which has no bias.

/// The bits of a hash that choose a register.
const BITS: u32 = 12;
const REGISTERS: usize = 1 << BITS;
/// The largest number that a register can hold.
const MOST: usize = (64 - BITS) as usize + 1;

/// The values so far, by their hashes of 64 bits.
#[derive(Debug, Clone)]
pub(crate) struct DistinctSketch {
    /// One more than the most zeros that the rest of a hash begins with, of the hashes of each register.
    registers: Vec<u8>,
}

impl DistinctSketch {
    pub fn new() -> Self {
        Self { registers: vec![0; REGISTERS] }
    }

    /// Adds a value by its hash, whose bits must all be random.
    pub fn add(&mut self, hash: u64) {
        let rest = hash << BITS;
        let zeros = if rest == 0 { MOST - 1 } else { rest.leading_zeros() as usize };
        let rank = (zeros + 1) as u8;
        if let Some(register) = self.registers.get_mut((hash >> (64 - BITS)) as usize) {
            *register = rank.max(*register);
        }
    }

    /// About how many different values were added.
    pub fn estimate(&self) -> u64 {
        let mut counts = [0_u32; MOST + 1];
        for register in &self.registers {
            if let Some(count) = counts.get_mut(usize::from(*register)) {
                *count += 1;
            }
        }
        let all = REGISTERS as f64;
        let [empty, between @ .., full] = counts;
        let mut sum = all * tau(1.0 - f64::from(full) / all);
        for count in between.iter().rev() {
            sum = 0.5 * (sum + f64::from(*count));
        }
        sum += all * sigma(f64::from(empty) / all);
        (all * all / (2.0 * std::f64::consts::LN_2 * sum)).round() as u64
    }
}

/// The part of the empty registers: infinite where all are empty.
fn sigma(mut share: f64) -> f64 {
    if share >= 1.0 {
        return f64::INFINITY;
    }
    let (mut sum, mut weight) = (share, 1.0);
    loop {
        share *= share;
        let before = sum;
        sum += share * weight;
        weight += weight;
        if sum <= before {
            return sum;
        }
    }
}

/// The part of the full registers.
fn tau(mut share: f64) -> f64 {
    if share <= 0.0 || share >= 1.0 {
        return 0.0;
    }
    let (mut sum, mut weight) = (1.0 - share, 1.0);
    loop {
        share = share.sqrt();
        let before = sum;
        weight *= 0.5;
        sum -= (1.0 - share).powi(2) * weight;
        if sum >= before {
            return sum / 3.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};

    fn hash(value: (u64, u64)) -> u64 {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        hasher.finish()
    }

    #[test]
    fn an_estimate_is_within_a_twentieth_of_the_number_of_values() {
        for draw in 0..4 {
            let (mut sketch, mut values) = (DistinctSketch::new(), 0);
            for most in [0_u64, 1, 20, 101, 1_000, 4_000, 12_000, 30_000, 100_000] {
                while values < most {
                    sketch.add(hash((draw, values)));
                    // A value that comes again changes nothing.
                    sketch.add(hash((draw, values / 2)));
                    values += 1;
                }
                let found = sketch.estimate();
                assert!(found.abs_diff(most) as f64 <= 0.05 * most as f64, "{found} for {most}");
            }
        }
    }
}
