//! How many entities there are of which size.

use super::report::SizeBucket;
use crate::figures::Sketch;

/// The classes of sizes: up to 2^n bytes.
const CLASSES: usize = u64::BITS as usize + 1;

/// The sizes so far.
pub(super) struct Sizes {
    pub sketch: Sketch,
    /// The bytes of all entities.
    pub bytes: u64,
    rows: [u64; CLASSES],
    bytes_of: [u64; CLASSES],
}

impl Sizes {
    pub fn new() -> Self {
        Self { sketch: Sketch::new(), bytes: 0, rows: [0; CLASSES], bytes_of: [0; CLASSES] }
    }

    /// Adds an entity of `bytes` bytes.
    pub fn add(&mut self, bytes: u64) {
        self.sketch.add(bytes);
        self.bytes += bytes;
        let class = (u64::BITS - bytes.saturating_sub(1).leading_zeros()) as usize;
        self.rows[class] += 1;
        self.bytes_of[class] += bytes;
    }

    /// The classes from the smallest to the largest that has entities.
    pub fn buckets(&self) -> Vec<SizeBucket> {
        let has_rows = |rows: &u64| *rows > 0;
        let first = self.rows.iter().position(has_rows).unwrap_or(CLASSES);
        let behind = self.rows.iter().rposition(has_rows).map_or(first, |last| last + 1);
        let bucket = |class: usize| SizeBucket {
            at_most: 1_u64.checked_shl(class as u32).unwrap_or(u64::MAX),
            rows: self.rows[class],
            bytes: self.bytes_of[class],
        };
        (first..behind).map(bucket).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_of_two_is_the_last_of_its_class() {
        let mut sizes = Sizes::new();
        [64, 65, 128, 129, 1024].into_iter().for_each(|bytes| sizes.add(bytes));
        let found: Vec<_> =
            sizes.buckets().iter().map(|one| (one.at_most, one.rows, one.bytes)).collect();
        assert_eq!(
            found,
            [(64, 1, 64), (128, 2, 193), (256, 1, 129), (512, 0, 0), (1024, 1, 1024)]
        );
        assert_eq!((sizes.bytes, Sizes::new().buckets()), (1410, Vec::new()));
    }
}
