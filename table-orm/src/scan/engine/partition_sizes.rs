//! How large partitions are that fill a page or more, where rows leave in order.

use std::collections::HashMap;

/// The weight of the partition read last in the mean of all.
const WEIGHT: f64 = 1.0 / 8.0;

/// A partition of fewer pages has hardly any rows left once a page of it has come.
const LARGE: f64 = 2.0;

/// The sizes of large partitions, in pages.
#[derive(Debug, Default)]
pub(super) struct PartitionSizes {
    /// What was read of those not read to their end.
    read: HashMap<String, f64>,
    /// The mean of those read to their end.
    mean: Option<f64>,
}

impl PartitionSizes {
    /// Notes pages of a partition.
    pub fn read(&mut self, partition: &str, pages: f64) {
        match self.read.get_mut(partition) {
            Some(read) => *read += pages,
            None => drop(self.read.insert(partition.to_owned(), pages)),
        }
    }

    /// A partition is read to its end.
    pub fn finish(&mut self, partition: &str) {
        if let Some(size) = self.read.remove(partition) {
            let mean = self.mean.unwrap_or(size);
            self.mean = Some(mean + (size - mean) * WEIGHT);
        }
    }

    /// Whether a partition probably has more rows after its first page.
    pub fn are_large(&self) -> bool {
        self.mean.is_none_or(|mean| mean >= LARGE)
    }

    /// The size that a partition is expected to have: that of others, or twice what was read of it.
    /// Nothing before a partition was read to its end.
    pub fn expected(&self, partition: &str) -> Option<f64> {
        let read = self.read.get(partition).copied().unwrap_or_default();
        Some(self.mean?.max(2.0 * read))
    }
}
