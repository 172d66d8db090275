//! Positions between rows: what bounds a range of a scan.
//!
//! Invariant: the smallest text above `k` is `k` followed by NUL, which no key holds. So every
//! bound is "before this pair of texts", every range is half-open, and a bound that ends in NUL
//! becomes `gt`/`le` in a filter; NUL is never sent.

use crate::entity::RowHead;
use crate::model::order;
use crate::query::Span;
use std::cmp::Ordering;
use std::ops::Bound;

/// A position in the service's order of rows: before the row of these keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::scan) struct Position {
    pub pk: String,
    pub rk: String,
}

impl Position {
    pub fn new(pk: impl Into<String>, rk: impl Into<String>) -> Self {
        Self { pk: pk.into(), rk: rk.into() }
    }

    /// Before the first row of a partition.
    pub fn partition(pk: impl Into<String>) -> Self {
        Self::new(pk, "")
    }

    /// Behind a row.
    pub fn after(key: &RowHead) -> Self {
        Self::new(key.partition_key.clone(), above(&key.row_key))
    }

    /// Behind the last row of a partition.
    pub fn after_partition(pk: &str) -> Self {
        Self::partition(above(pk))
    }

    /// Whether that row lies before this position.
    pub fn is_after(&self, key: &RowHead) -> bool {
        let partition = order::compare(&key.partition_key, &self.pk);
        partition.then_with(|| order::compare(&key.row_key, &self.rk)).is_lt()
    }
}

impl Ord for Position {
    fn cmp(&self, other: &Self) -> Ordering {
        order::compare(&self.pk, &other.pk).then_with(|| order::compare(&self.rk, &other.rk))
    }
}

impl PartialOrd for Position {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The smallest text above `key`.
pub(super) fn above(key: &str) -> String {
    format!("{key}\0")
}

/// The half-open range `lo..hi` of keys, as a query names it.
pub(in crate::scan) fn span(lo: &str, hi: Option<&str>) -> Span {
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
pub(in crate::scan) fn bounds(span: &Span) -> (String, Option<String>) {
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
pub(in crate::scan) fn max(left: String, right: String) -> String {
    if order::compare(&left, &right).is_lt() { right } else { left }
}

/// The lesser of two upper bounds; `None` is the end.
pub(in crate::scan) fn min(left: Option<String>, right: Option<String>) -> Option<String> {
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
    fn a_position_behind_a_row_is_before_the_next() {
        let row = RowHead { partition_key: "p".to_owned(), row_key: "r".to_owned() };
        assert!(Position::after(&row).is_after(&row));
        assert!(!Position::new("p", "r").is_after(&row));
        let next = RowHead { partition_key: "p".to_owned(), row_key: "r ".to_owned() };
        assert!(!Position::after(&row).is_after(&next));
        assert!(Position::after_partition("p").is_after(&next));
    }
}
