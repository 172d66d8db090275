//! A range of rows in the order of both keys.

use super::filter::{Comparison, Filter};
use super::span::Span;
use crate::model::{PARTITION_KEY, ROW_KEY, order};
use std::cmp::Ordering;
use std::ops::Bound;

/// The rows from one key to another, in the order of PartitionKey, then RowKey. Both ends are included.
///
/// A shared access signature limits its reader to such a range.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyLimits {
    /// Where the range starts; `None` is the start of the table.
    pub first: Option<KeyLimit>,
    /// Where the range ends; `None` is the end of the table.
    pub last: Option<KeyLimit>,
}

/// One end of a range of rows: a row, or a whole partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyLimit {
    /// The PartitionKey.
    pub partition_key: String,
    /// The RowKey; `None` includes the whole partition.
    pub row_key: Option<String>,
}

impl KeyLimit {
    /// Where a row lies relative to this end.
    fn order(&self, partition_key: &str, row_key: &str) -> Ordering {
        let row = self.row_key.as_deref();
        order::compare(partition_key, &self.partition_key)
            .then_with(|| row.map_or(Ordering::Equal, |limit| order::compare(row_key, limit)))
    }
}

impl KeyLimits {
    /// Whether a row lies in the range.
    #[must_use]
    pub fn contain(&self, partition_key: &str, row_key: &str) -> bool {
        let order = |limit: &KeyLimit| limit.order(partition_key, row_key);
        self.first.as_ref().is_none_or(|first| order(first).is_ge())
            && self.last.as_ref().is_none_or(|last| order(last).is_le())
    }

    /// The partition in which the range starts and ends, if it is one.
    #[must_use]
    pub fn partition(&self) -> Option<&str> {
        let (first, last) = (self.first.as_ref()?, self.last.as_ref()?);
        (first.partition_key == last.partition_key).then_some(&first.partition_key)
    }

    /// The range as a condition; `None` for every row.
    #[must_use]
    pub fn filter(&self) -> Option<Filter> {
        let partition = self.partition();
        let bound = |limit: &Option<KeyLimit>| match limit {
            Some(limit) => Bound::Included(limit.partition_key.clone()),
            None => Bound::Unbounded,
        };
        let partitions = match (partition, bound(&self.first), bound(&self.last)) {
            (Some(partition), ..) => Span::Exact(partition.to_owned()),
            (None, Bound::Unbounded, Bound::Unbounded) => Span::All,
            (None, first, last) => Span::Between(first, last),
        };
        let rows = |limit: &Option<KeyLimit>, beyond, to| {
            let KeyLimit { partition_key, row_key } = limit.as_ref()?;
            let row = Filter::compare(ROW_KEY, to, row_key.clone()?);
            Some(match partition {
                Some(_) => row,
                None => Filter::compare(PARTITION_KEY, beyond, partition_key.clone()).or(row),
            })
        };
        let conditions = [
            partitions.filter(PARTITION_KEY),
            rows(&self.first, Comparison::Greater, Comparison::GreaterOrEqual),
            rows(&self.last, Comparison::Less, Comparison::LessOrEqual),
        ];
        conditions.into_iter().flatten().reduce(Filter::and)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::model::Edm;
    use proptest::prelude::*;

    fn limit(key: impl Strategy<Value = String>) -> impl Strategy<Value = Option<KeyLimit>> {
        let row_key = prop::option::of("[a-c]{0,2}");
        let limit =
            (key, row_key).prop_map(|(partition_key, row_key)| KeyLimit { partition_key, row_key });
        prop::option::of(limit)
    }

    /// Limits may have characters that keys cannot have.
    pub(crate) fn limits() -> impl Strategy<Value = KeyLimits> {
        let key = || "[ab\u{0}\u{1}\u{1F}\u{E000}\u{1F3C3}]{0,2}".prop_map(String::from);
        (limit(key()), limit(key())).prop_map(|(first, last)| KeyLimits { first, last })
    }

    #[test]
    fn a_range_of_rows_is_in_order_of_both_keys() {
        let end = |partition_key: &str, row_key: Option<&str>| {
            let row_key = row_key.map(str::to_owned);
            Some(KeyLimit { partition_key: partition_key.to_owned(), row_key })
        };
        let limits = KeyLimits { first: end("b", Some("m")), last: end("d", Some("m")) };
        for (partition_key, row_key, inside) in [
            ("a", "z", false),
            ("b", "l", false),
            ("b", "m", true),
            ("c", "", true),
            ("d", "m", true),
            ("d", "n", false),
            ("e", "", false),
        ] {
            let contained = limits.contain(partition_key, row_key);
            assert_eq!(contained, inside, "{partition_key} {row_key}");
        }
        let partition = KeyLimits { first: end("b", None), last: end("b", None) };
        assert!(partition.contain("b", "") && partition.contain("b", "\u{FFFF}"));
        assert!(!partition.contain("a", "x") && !partition.contain("c", ""));
        assert_eq!(partition.filter().unwrap().to_string(), "PartitionKey eq 'b'");
        assert!(KeyLimits::default().contain("", ""));
        assert_eq!(KeyLimits::default().filter(), None);
    }

    proptest! {
        #[test]
        fn the_condition_is_met_by_the_rows_of_the_range(
            limits in limits(),
            partition_key in "[ab]{0,2}",
            row_key in "[a-c]{0,2}",
        ) {
            let met = limits.filter().is_none_or(|filter| {
                filter.evaluate(&mut |name, comparison, value| {
                    let Edm::String(value) = value else { return false };
                    let key = if name == ROW_KEY { &row_key } else { &partition_key };
                    comparison.holds(Some(order::compare(key, value)))
                })
            });
            prop_assert_eq!(met, limits.contain(&partition_key, &row_key));
        }
    }
}
