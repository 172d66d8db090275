//! Places between rows: what bounds a range of a scan.
//!
//! Invariant: the smallest text above `k` is `k` followed by NUL, which no key holds. So every
//! bound is "before this pair of texts", every range is half-open, and a bound that ends in NUL
//! becomes `gt`/`le` in a filter; NUL is never sent.

use crate::model::order;
use crate::query::Span;
use std::cmp::Ordering;
use std::ops::Bound;

/// The key of a row, as stored text.
///
/// Keys compare as the service orders its rows: by PartitionKey, then by RowKey, both by UTF-16 code
/// unit.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ScanKey {
    /// The row's PartitionKey.
    pub partition_key: String,
    /// The row's RowKey; empty where only partition keys are read.
    pub row_key: String,
}

impl Ord for ScanKey {
    fn cmp(&self, other: &Self) -> Ordering {
        order::compare(&self.partition_key, &other.partition_key)
            .then_with(|| order::compare(&self.row_key, &other.row_key))
    }
}

impl PartialOrd for ScanKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A place in the service's order of rows: before the row of these keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Place {
    pub pk: String,
    pub rk: String,
}

impl Place {
    pub fn new(pk: impl Into<String>, rk: impl Into<String>) -> Self {
        Self { pk: pk.into(), rk: rk.into() }
    }

    /// Before the first row of a partition.
    pub fn partition(pk: impl Into<String>) -> Self {
        Self::new(pk, "")
    }

    /// Behind a row.
    pub fn after(key: &ScanKey) -> Self {
        Self::new(key.partition_key.clone(), above(&key.row_key))
    }

    /// Behind the last row of a partition.
    pub fn after_partition(pk: &str) -> Self {
        Self::partition(above(pk))
    }

    /// Whether that row lies before this place.
    pub fn is_after(&self, key: &ScanKey) -> bool {
        let partition = order::compare(&key.partition_key, &self.pk);
        partition.then_with(|| order::compare(&key.row_key, &self.rk)).is_lt()
    }
}

impl Ord for Place {
    fn cmp(&self, other: &Self) -> Ordering {
        order::compare(&self.pk, &other.pk).then_with(|| order::compare(&self.rk, &other.rk))
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The smallest text above `key`.
pub(super) fn above(key: &str) -> String {
    format!("{key}\0")
}

/// The half-open range `lo..hi` of keys, as a query names it.
pub(super) fn span(lo: &str, hi: Option<&str>) -> Span {
    if hi.and_then(|hi| hi.strip_suffix('\0')) == Some(lo) {
        return Span::Exact(lo.to_owned());
    }
    let lower = match lo.strip_suffix('\0') {
        Some(key) => Bound::Excluded(key.to_owned()),
        None if lo.is_empty() => Bound::Unbounded,
        None => Bound::Included(lo.to_owned()),
    };
    let upper = match hi {
        None => Bound::Unbounded,
        Some(hi) => match hi.strip_suffix('\0') {
            Some(key) => Bound::Included(key.to_owned()),
            None => Bound::Excluded(hi.to_owned()),
        },
    };
    match (lower, upper) {
        (Bound::Unbounded, Bound::Unbounded) => Span::All,
        (lower, upper) => Span::Between(lower, upper),
    }
}

/// The bounds of a range of keys, half-open.
pub(super) fn bounds(span: &Span) -> (String, Option<String>) {
    match span {
        Span::All => (String::new(), None),
        Span::Exact(key) => (key.clone(), Some(above(key))),
        Span::Between(lower, upper) => {
            let lo = match lower {
                Bound::Included(key) => key.clone(),
                Bound::Excluded(key) => above(key),
                Bound::Unbounded => String::new(),
            };
            let hi = match upper {
                Bound::Included(key) => Some(above(key)),
                Bound::Excluded(key) => Some(key.clone()),
                Bound::Unbounded => None,
            };
            (lo, hi)
        }
    }
}

/// The greater of two keys, in the service's order.
pub(super) fn max(left: String, right: String) -> String {
    if order::compare(&left, &right).is_lt() { right } else { left }
}

/// The lesser of two upper bounds; `None` is the end.
pub(super) fn min(left: Option<String>, right: Option<String>) -> Option<String> {
    match (left, right) {
        (Some(left), Some(right)) => {
            Some(if order::compare(&left, &right).is_gt() { right } else { left })
        }
        (left, right) => left.or(right),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_come_back_from_their_bounds() {
        let between = |lower: Bound<&str>, upper: Bound<&str>| {
            Span::Between(lower.map(str::to_owned), upper.map(str::to_owned))
        };
        for range in [
            Span::All,
            Span::Exact(String::new()),
            Span::Exact("a".to_owned()),
            between(Bound::Excluded("a"), Bound::Included("b")),
            between(Bound::Included("a"), Bound::Excluded("/")),
            between(Bound::Excluded(""), Bound::Unbounded),
            between(Bound::Unbounded, Bound::Included("z")),
        ] {
            let (lo, hi) = bounds(&range);
            assert_eq!(span(&lo, hi.as_deref()), range);
        }
    }

    #[test]
    fn keys_compare_as_the_service_orders_its_rows() {
        let key = |pk: &str, rk: &str| ScanKey { partition_key: pk.into(), row_key: rk.into() };
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

    #[test]
    fn a_place_behind_a_row_is_before_the_next() {
        let row = ScanKey { partition_key: "p".to_owned(), row_key: "r".to_owned() };
        assert!(Place::after(&row).is_after(&row));
        assert!(!Place::new("p", "r").is_after(&row));
        let next = ScanKey { partition_key: "p".to_owned(), row_key: "r ".to_owned() };
        assert!(!Place::after(&row).is_after(&next));
        assert!(Place::after_partition("p").is_after(&next));
    }
}
