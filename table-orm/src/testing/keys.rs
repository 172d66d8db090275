//! The keys of a table, in the service's order and in little memory.

use crate::model::order;
use std::borrow::Cow;
use std::cmp::Ordering;

/// The keys of a table's rows: sorted, each once, in their text's bytes and eight more a row, or
/// [numbered](Self::numbered) in no memory at all.
#[derive(Debug, Clone, Default)]
pub struct KeySet {
    partition_keys: Texts,
    /// The number of each partition's first row.
    starts: Starts,
    row_keys: Texts,
}

impl KeySet {
    /// Holds the rows of these PartitionKeys and RowKeys, which may come in any order.
    #[must_use]
    pub fn new(rows: impl IntoIterator<Item = (String, String)>) -> Self {
        Self::of(rows.into_iter().collect())
    }

    fn of(mut rows: Vec<(String, String)>) -> Self {
        rows.sort_unstable_by(|left, right| {
            order::compare(&left.0, &right.0).then_with(|| order::compare(&left.1, &right.1))
        });
        rows.dedup();
        let mut keys = Self::default();
        rows.iter().for_each(|(partition_key, row_key)| keys.push(partition_key, row_key));
        keys
    }

    /// Holds `partitions` partitions of `rows` rows each. The keys are numbers of ten digits, generated
    /// when they are read, so a table of any size takes no memory.
    #[must_use]
    pub const fn numbered(partitions: usize, rows: usize) -> Self {
        Self {
            partition_keys: Texts::Numbers(if rows == 0 { 0 } else { partitions }),
            starts: Starts::Every(rows),
            row_keys: Texts::Numbers(partitions * rows),
        }
    }

    /// Adds a row after all others. Does nothing for numbered keys.
    pub(super) fn push(&mut self, partition_key: &str, row_key: &str) {
        let last = self.partition_keys.len().checked_sub(1).map(|at| self.partition_keys.get(at));
        if last.as_deref() != Some(partition_key) {
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

    /// Returns whether the set holds no rows.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of partitions.
    #[must_use]
    pub const fn partitions(&self) -> usize {
        self.partition_keys.len()
    }

    /// The PartitionKey and RowKey of a row; empty text after the last one.
    #[must_use]
    pub fn row(&self, row: usize) -> (Cow<'_, str>, Cow<'_, str>) {
        let partition = self.partition_of(row);
        (self.partition_keys.get(partition), self.row_keys.get(row))
    }

    /// The keys in order.
    pub fn iter(&self) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
        (0..self.len()).map(|row| self.row(row))
    }

    pub(super) fn partition_of(&self, row: usize) -> usize {
        self.starts.before(row)
    }

    /// The row after the last one of that partition.
    pub(super) fn partition_end(&self, partition: usize) -> usize {
        self.start(partition + 1)
    }

    /// The number of a partition's first row; that after all rows, after the last partition.
    fn start(&self, partition: usize) -> usize {
        self.starts.get(partition).unwrap_or(usize::MAX).min(self.len())
    }

    pub(super) fn row_key(&self, row: usize) -> Cow<'_, str> {
        self.row_keys.get(row)
    }

    pub(super) fn partition_key(&self, partition: usize) -> Cow<'_, str> {
        self.partition_keys.get(partition)
    }

    /// The first row at or behind a key; behind all rows of that key with `behind`.
    pub(super) fn seek(&self, partition_key: &str, row_key: &str, behind: bool) -> usize {
        let partition = first(0, self.partitions(), |at| {
            order::compare(&self.partition_keys.get(at), partition_key).is_lt()
        });
        let start = self.start(partition);
        if start == self.len() || self.partition_keys.get(partition) != partition_key {
            return start;
        }
        first(start, self.partition_end(partition), |at| {
            match order::compare(&self.row_keys.get(at), row_key) {
                Ordering::Less => true,
                Ordering::Equal => behind,
                Ordering::Greater => false,
            }
        })
    }

    /// The first row of a partition, or of the one after it.
    pub(super) fn seek_partition(&self, partition_key: &str, behind: bool) -> usize {
        let partition = first(0, self.partitions(), |at| {
            match order::compare(&self.partition_keys.get(at), partition_key) {
                Ordering::Less => true,
                Ordering::Equal => behind,
                Ordering::Greater => false,
            }
        });
        self.start(partition)
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

/// Texts in order.
#[derive(Debug, Clone)]
enum Texts {
    /// One after the other, and where each ends.
    Stored { text: String, ends: Vec<usize> },
    /// Numbers of ten digits from 0 on, and how many there are.
    Numbers(usize),
}

impl Default for Texts {
    fn default() -> Self {
        Self::Stored { text: String::new(), ends: Vec::new() }
    }
}

impl Texts {
    fn push(&mut self, added: &str) {
        if let Self::Stored { text, ends } = self {
            text.push_str(added);
            ends.push(text.len());
        }
    }

    const fn len(&self) -> usize {
        match self {
            Self::Stored { ends, .. } => ends.len(),
            Self::Numbers(count) => *count,
        }
    }

    fn get(&self, at: usize) -> Cow<'_, str> {
        match self {
            Self::Stored { text, ends } => {
                let start = at.checked_sub(1).and_then(|before| ends.get(before)).copied();
                let end = ends.get(at).copied().unwrap_or_default();
                text.get(start.unwrap_or_default()..end).unwrap_or_default().into()
            }
            Self::Numbers(count) if at < *count => format!("{at:010}").into(),
            Self::Numbers(_) => "".into(),
        }
    }
}

/// The numbers of the partitions' first rows.
#[derive(Debug, Clone)]
enum Starts {
    Stored(Vec<usize>),
    Every(usize),
}

impl Default for Starts {
    fn default() -> Self {
        Self::Stored(Vec::new())
    }
}

impl Starts {
    fn push(&mut self, start: usize) {
        if let Self::Stored(starts) = self {
            starts.push(start);
        }
    }

    fn get(&self, partition: usize) -> Option<usize> {
        match self {
            Self::Stored(starts) => starts.get(partition).copied(),
            Self::Every(rows) => partition.checked_mul(*rows),
        }
    }

    /// The partition that a row lies in.
    fn before(&self, row: usize) -> usize {
        match self {
            Self::Stored(starts) => starts.partition_point(|start| *start <= row).saturating_sub(1),
            Self::Every(rows) => row.checked_div(*rows).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_keys_are_found_as_stored_ones_are() {
        let numbered = KeySet::numbered(7, 5);
        let rows = numbered.iter().map(|(pk, rk)| (pk.into_owned(), rk.into_owned()));
        let stored = KeySet::new(rows);
        assert_eq!((numbered.len(), numbered.partitions()), (35, 7));
        assert_eq!((stored.len(), stored.partitions()), (35, 7));
        for partition_key in ["", "0000000000", "0000000003", "00000000035", "0000000006", "1"] {
            for behind in [false, true] {
                let seek = |keys: &KeySet| keys.seek_partition(partition_key, behind);
                assert_eq!(seek(&numbered), seek(&stored), "{partition_key:?}");
                for row_key in ["", "0000000016", "0000000019", "0000000034", "5"] {
                    let seek = |keys: &KeySet| keys.seek(partition_key, row_key, behind);
                    assert_eq!(seek(&numbered), seek(&stored), "{partition_key:?} {row_key:?}");
                }
            }
        }
        for row in 0..35 {
            assert_eq!(numbered.row(row), stored.row(row));
        }
        assert!(KeySet::numbered(7, 0).is_empty() && KeySet::numbered(0, 7).is_empty());
    }
}
