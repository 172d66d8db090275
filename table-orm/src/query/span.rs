//! Ranges of key text.

use super::filter::{Comparison, Filter};
use crate::key::IntoRange;
use crate::model::order;
use std::cmp::Ordering;
use std::ops::Bound;

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

pub(super) fn both(left: Option<Filter>, right: Option<Filter>) -> Option<Filter> {
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
