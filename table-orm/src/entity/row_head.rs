//! The head of a stored row: its keys.

use crate::model::order;
use std::cmp::Ordering;

/// The keys of a stored row.
///
/// Heads compare as the service orders its rows: by PartitionKey, then by RowKey, both by UTF-16 code
/// unit. [`ReadRow`](super::ReadRow) reads a head from any row, and requests only the keys from the
/// store.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct RowHead {
    /// The row's PartitionKey.
    pub partition_key: String,
    /// The row's RowKey; empty where only partition keys are read.
    pub row_key: String,
}

impl Ord for RowHead {
    fn cmp(&self, other: &Self) -> Ordering {
        order::compare(&self.partition_key, &other.partition_key)
            .then_with(|| order::compare(&self.row_key, &other.row_key))
    }
}

impl PartialOrd for RowHead {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The head of a row in another partition: its keys, and the table of its entity, if it says that.
#[derive(Debug, Clone)]
pub(crate) struct EventualHead {
    pub keys: RowHead,
    pub home_table: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_compare_as_the_service_orders_its_rows() {
        let key = |pk: &str, rk: &str| RowHead { partition_key: pk.into(), row_key: rk.into() };
        // UTF-16 has U+1F3C3 before U+FFFD; as bytes or characters they come the other way round.
        let ordered = [
            key("", "z"),
            key("A", "2"),
            key("B", "1"),
            key("B", "10"),
            key("B", "2"),
            key("a", "\u{1F3C3}"),
            key("a", "\u{FFFD}"),
            key("\u{1F3C3}", "a"),
            key("\u{FFFD}", ""),
        ];
        assert!(ordered.is_sorted_by(|left, right| left < right));
        let mut reversed: Vec<_> = ordered.iter().rev().cloned().collect();
        reversed.sort();
        assert_eq!(reversed, ordered);
    }
}
