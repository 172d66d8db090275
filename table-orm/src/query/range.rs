//! The keys that a query reads, and the class of the query, which decides its cost.

use super::filter::{Comparison, Filter};
use crate::key::{IntoRange, KeyError};
use crate::model::{PARTITION_KEY, ROW_KEY, order};
use std::cmp::Ordering;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Bound;

/// The service's five kinds of query, from the cheapest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QueryClass {
    /// One row by its complete key.
    Point,
    /// A range of RowKeys in one partition.
    RowRange,
    /// All rows of one partition.
    Partition,
    /// A range of partitions: reads every row of all of them.
    PartitionRange,
    /// Every row of the table.
    TableScan,
}

impl fmt::Display for QueryClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Point => "point query",
            Self::RowRange => "row range query",
            Self::Partition => "partition query",
            Self::PartitionRange => "partition range scan",
            Self::TableScan => "table scan",
        })
    }
}

/// A range of key text, in UTF-16 order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Span {
    /// Every key.
    All,
    /// One key.
    Exact(String),
    /// The keys between two bounds. At least one of them is not `Unbounded`.
    Between(Bound<String>, Bound<String>),
}

impl Span {
    /// The keys that start with `prefix`.
    #[must_use]
    pub fn prefix(prefix: impl Into<String>) -> Self {
        let prefix = prefix.into();
        if prefix.is_empty() {
            return Self::All;
        }
        let upper = order::successor(&prefix).map_or(Bound::Unbounded, Bound::Excluded);
        Self::Between(Bound::Included(prefix), upper)
    }

    /// The same range, with the bounds of `other` where it has no bound of its own.
    pub(crate) fn bounded_by(self, other: &Self) -> Self {
        match (self, other) {
            (Self::All, other) => other.clone(),
            (Self::Between(lower, upper), Self::Between(lowest, highest)) => {
                let or = |bound, other: &Bound<String>| match bound {
                    Bound::Unbounded => other.clone(),
                    bound => bound,
                };
                Self::Between(or(lower, lowest), or(upper, highest))
            }
            (own, _) => own,
        }
    }

    /// The smallest range that holds both.
    pub(crate) fn hull(self, other: Self) -> Self {
        let (lower, upper) = self.into_bounds();
        let (other_lower, other_upper) = other.into_bounds();
        let lower = outer(lower, other_lower, Ordering::Less);
        match (lower, outer(upper, other_upper, Ordering::Greater)) {
            (Bound::Unbounded, Bound::Unbounded) => Self::All,
            (lower, upper) => Self::Between(lower, upper),
        }
    }

    fn into_bounds(self) -> (Bound<String>, Bound<String>) {
        match self {
            Self::All => (Bound::Unbounded, Bound::Unbounded),
            Self::Exact(key) => (Bound::Included(key.clone()), Bound::Included(key)),
            Self::Between(lower, upper) => (lower, upper),
        }
    }

    /// Returns whether `key` lies in the range.
    #[must_use]
    pub fn contains(&self, key: &str) -> bool {
        match self {
            Self::All => true,
            Self::Exact(exact) => exact == key,
            Self::Between(lower, upper) => {
                let above = match lower {
                    Bound::Included(bound) => order::compare(key, bound) != Ordering::Less,
                    Bound::Excluded(bound) => order::compare(key, bound) == Ordering::Greater,
                    Bound::Unbounded => true,
                };
                let below = match upper {
                    Bound::Included(bound) => order::compare(key, bound) != Ordering::Greater,
                    Bound::Excluded(bound) => order::compare(key, bound) == Ordering::Less,
                    Bound::Unbounded => true,
                };
                above && below
            }
        }
    }

    pub(super) fn filter(&self, property: &'static str) -> Option<Filter> {
        let compare = |comparison, key: &String| Filter::compare(property, comparison, key.clone());
        match self {
            Self::All => None,
            Self::Exact(key) => Some(compare(Comparison::Equal, key)),
            Self::Between(lower, upper) => {
                let lower = match lower {
                    Bound::Included(key) => Some(compare(Comparison::GreaterOrEqual, key)),
                    Bound::Excluded(key) => Some(compare(Comparison::Greater, key)),
                    Bound::Unbounded => None,
                };
                let upper = match upper {
                    Bound::Included(key) => Some(compare(Comparison::LessOrEqual, key)),
                    Bound::Excluded(key) => Some(compare(Comparison::Less, key)),
                    Bound::Unbounded => None,
                };
                both(lower, upper)
            }
        }
    }
}

/// The wider of two bounds on one side: the one that is `outwards` of the other.
fn outer(left: Bound<String>, right: Bound<String>, outwards: Ordering) -> Bound<String> {
    use Bound::{Excluded, Included, Unbounded};
    match (&left, &right) {
        (Unbounded, _) | (_, Unbounded) => Unbounded,
        (Included(one) | Excluded(one), Included(other) | Excluded(other)) => {
            match order::compare(one, other) {
                Ordering::Equal if matches!(left, Included(_)) => left,
                Ordering::Equal => right,
                side if side == outwards => left,
                _ => right,
            }
        }
    }
}

/// The keys that a query reads: a range of partitions, and a range of rows in each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRange {
    /// The PartitionKeys.
    pub partition: Span,
    /// The RowKeys.
    pub row: Span,
}

impl KeyRange {
    /// Every row of the table.
    pub const ALL: Self = Self { partition: Span::All, row: Span::All };

    /// The class of a query of these keys.
    #[must_use]
    pub const fn class(&self) -> QueryClass {
        match (&self.partition, &self.row) {
            (Span::Exact(_), Span::Exact(_)) => QueryClass::Point,
            (Span::Exact(_), Span::Between(..)) => QueryClass::RowRange,
            (Span::Exact(_), Span::All) => QueryClass::Partition,
            (Span::Between(..), _) => QueryClass::PartitionRange,
            (Span::All, _) => QueryClass::TableScan,
        }
    }

    /// The range as a condition on PartitionKey and RowKey; `None` for every row.
    #[must_use]
    pub fn filter(&self) -> Option<Filter> {
        both(self.partition.filter(PARTITION_KEY), self.row.filter(ROW_KEY))
    }
}

/// A query of the rows of one kind in one partition whose keys lie in a range. No component can
/// follow a range.
#[derive(Debug, Clone)]
pub struct RowRange<R> {
    pub(crate) keys: Result<KeyRange, KeyError>,
    row: PhantomData<R>,
}

impl<R> RowRange<R> {
    /// A query of those keys, or the error of a value that a key cannot hold.
    #[must_use]
    pub const fn new(keys: Result<KeyRange, KeyError>) -> Self {
        Self { keys, row: PhantomData }
    }
}

/// A query of a row and of all rows of its partition whose keys continue its key, such as an issue and
/// its comments. A [union](crate::Tables::union) reads it.
#[derive(Debug, Clone)]
pub struct Below<R> {
    pub(crate) keys: Result<KeyRange, KeyError>,
    row: PhantomData<R>,
}

impl<R> Below<R> {
    /// A query of those keys, or the error of a value that a key cannot hold.
    #[must_use]
    pub const fn new(keys: Result<KeyRange, KeyError>) -> Self {
        Self { keys, row: PhantomData }
    }
}

fn both(left: Option<Filter>, right: Option<Filter>) -> Option<Filter> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.and(right)),
        (left, right) => left.or(right),
    }
}

/// A range of stored key text: any of Rust's ranges of text.
pub trait IntoSpan {
    /// The range.
    fn into_span(self) -> Span;
}

impl<R: IntoRange<String>> IntoSpan for R {
    fn into_span(self) -> Span {
        match self.into_range() {
            (Bound::Unbounded, Bound::Unbounded) => Span::All,
            (lower, upper) => Span::Between(lower, upper),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hull_holds_both_ranges_and_nothing_outside_their_bounds() {
        let hull = Span::prefix("B").hull(Span::Exact("E".to_owned())).hull(Span::prefix("D"));
        let expected =
            Span::Between(Bound::Included("B".to_owned()), Bound::Included("E".to_owned()));
        assert_eq!(hull, expected);
        assert_eq!(hull.hull(Span::prefix("E")), Span::prefix("B").hull(Span::prefix("E")));
        assert_eq!(Span::prefix("B").hull(Span::All), Span::All);
    }

    #[test]
    fn a_range_takes_the_bounds_it_lacks() {
        let digits = Span::Between(Bound::Included("0".into()), Bound::Excluded(":".into()));
        let from = Span::Between(Bound::Included("5".into()), Bound::Unbounded);
        let expected = Span::Between(Bound::Included("5".into()), Bound::Excluded(":".into()));
        assert_eq!(from.bounded_by(&digits), expected);
        assert_eq!(Span::All.bounded_by(&digits), digits);
        assert_eq!(Span::Exact("x".into()).bounded_by(&digits), Span::Exact("x".into()));
    }
}
