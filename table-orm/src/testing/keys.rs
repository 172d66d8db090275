//! The keys of a table, in the service's order and in little memory.

use crate::key::order;
use std::cmp::Ordering;

/// The keys of a table's rows: sorted, each once, in their text's bytes and eight more a row.
#[derive(Debug, Clone, Default)]
pub struct KeySet {
    partition_keys: Texts,
    /// The number of each partition's first row.
    starts: Vec<usize>,
    row_keys: Texts,
}

impl KeySet {
    /// The rows of these PartitionKeys and RowKeys, in any order.
    #[must_use]
    pub fn new(rows: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut rows: Vec<_> = rows.into_iter().collect();
        rows.sort_unstable_by(|left, right| {
            order::compare(&left.0, &right.0).then_with(|| order::compare(&left.1, &right.1))
        });
        rows.dedup();
        let mut keys = Self::default();
        rows.iter().for_each(|(partition_key, row_key)| keys.push(partition_key, row_key));
        keys
    }

    /// Adds a row behind all others.
    pub(super) fn push(&mut self, partition_key: &str, row_key: &str) {
        let last = self.partition_keys.len().checked_sub(1).map(|at| self.partition_keys.get(at));
        if last != Some(partition_key) {
            self.partition_keys.push(partition_key);
            self.starts.push(self.row_keys.len());
        }
        self.row_keys.push(row_key);
    }

    /// The number of rows.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.row_keys.len()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of partitions.
    #[must_use]
    pub const fn partitions(&self) -> usize {
        self.partition_keys.len()
    }

    /// The PartitionKey and RowKey of a row; empty text behind the last one.
    #[must_use]
    pub fn row(&self, row: usize) -> (&str, &str) {
        let partition = self.partition_of(row);
        (self.partition_keys.get(partition), self.row_keys.get(row))
    }

    /// The keys in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        (0..self.len()).map(|row| self.row(row))
    }

    pub(super) fn partition_of(&self, row: usize) -> usize {
        self.starts.partition_point(|start| *start <= row).saturating_sub(1)
    }

    /// The row behind the last one of that partition.
    pub(super) fn partition_end(&self, partition: usize) -> usize {
        self.starts.get(partition + 1).copied().unwrap_or_else(|| self.len())
    }

    pub(super) fn row_key(&self, row: usize) -> &str {
        self.row_keys.get(row)
    }

    pub(super) fn partition_key(&self, partition: usize) -> &str {
        self.partition_keys.get(partition)
    }

    /// The first row at or behind a key; behind all rows of that key with `behind`.
    pub(super) fn seek(&self, partition_key: &str, row_key: &str, behind: bool) -> usize {
        let partition = first(0, self.partitions(), |at| {
            order::compare(self.partition_keys.get(at), partition_key).is_lt()
        });
        let Some(start) = self.starts.get(partition) else { return self.len() };
        if self.partition_keys.get(partition) != partition_key {
            return *start;
        }
        first(*start, self.partition_end(partition), |at| {
            match order::compare(self.row_keys.get(at), row_key) {
                Ordering::Less => true,
                Ordering::Equal => behind,
                Ordering::Greater => false,
            }
        })
    }

    /// The first row of a partition, or of the one behind it.
    pub(super) fn seek_partition(&self, partition_key: &str, behind: bool) -> usize {
        let partition = first(0, self.partitions(), |at| {
            match order::compare(self.partition_keys.get(at), partition_key) {
                Ordering::Less => true,
                Ordering::Equal => behind,
                Ordering::Greater => false,
            }
        });
        self.starts.get(partition).copied().unwrap_or_else(|| self.len())
    }
}

/// The first of `from..to` for which `before` does not hold.
fn first(mut from: usize, mut to: usize, before: impl Fn(usize) -> bool) -> usize {
    while from < to {
        let middle = from.midpoint(to);
        if before(middle) { from = middle + 1 } else { to = middle }
    }
    from
}

/// Texts one behind the other.
#[derive(Debug, Clone, Default)]
struct Texts {
    text: String,
    ends: Vec<usize>,
}

impl Texts {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.ends.push(self.text.len());
    }

    const fn len(&self) -> usize {
        self.ends.len()
    }

    fn get(&self, at: usize) -> &str {
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        let end = self.ends.get(at).copied().unwrap_or_default();
        self.text.get(start.unwrap_or_default()..end).unwrap_or_default()
    }
}
