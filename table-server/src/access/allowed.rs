//! The part of a query that a range of keys allows.
//!
//! Invariant: the query reads no partition outside the range. Of the first and the last one it reads all rows, unless
//! they are one, and a condition leaves out those outside.

use super::KeyLimits;
use std::ops::Bound;
use table_orm::model::{Edm, order};
use table_orm::query::{Comparison, Filter, KeyRange, Span};

/// The part of a key range that a signature allows to read, and the condition on its first and last partition. `None`
/// where that is nothing.
pub(crate) fn allowed(keys: KeyRange, limits: &KeyLimits) -> Option<(KeyRange, Option<Filter>)> {
    let KeyRange { partition, row } = keys;
    let ((first, first_row), (last, last_row)) = (&limits.first, &limits.last);
    let partition = match (first, last) {
        (Some(first), Some(last)) if first == last => {
            partition.contains(first).then(|| Span::Exact(first.clone()))?
        }
        _ => between(partition, first.as_deref(), last.as_deref())?,
    };
    if let Span::Exact(key) = &partition {
        // The limits of RowKeys are those of the partitions at both ends.
        let at = |end: &Option<String>| end.as_ref().is_none_or(|end| end == key);
        let lower = first_row.as_deref().filter(|_| at(first));
        let row = between(row, lower, last_row.as_deref().filter(|_| at(last)))?;
        return Some((KeyRange { partition, row }, None));
    }
    let end = |partition: &Option<String>, row: &Option<String>, beyond, from| {
        let row = compare("RowKey", from, row.as_ref()?);
        Some(match partition {
            Some(partition) => compare("PartitionKey", beyond, partition).or(row),
            None => row,
        })
    };
    let lower = end(first, first_row, Comparison::Greater, Comparison::GreaterOrEqual);
    let upper = end(last, last_row, Comparison::Less, Comparison::LessOrEqual);
    let condition = match (lower, upper) {
        (Some(lower), Some(upper)) => Some(lower.and(upper)),
        (lower, upper) => lower.or(upper),
    };
    Some((KeyRange { partition, row }, condition))
}

fn compare(property: &'static str, comparison: Comparison, key: &str) -> Filter {
    let value = Edm::String(key.to_owned());
    Filter::Compare { property: property.into(), comparison, value }
}

/// The part of the span between two keys, both included where given; `None` where it is one key that is not there.
fn between(span: Span, first: Option<&str>, last: Option<&str>) -> Option<Span> {
    if let Span::Exact(key) = &span {
        let is_there = first.is_none_or(|first| order::compare(key, first).is_ge())
            && last.is_none_or(|last| order::compare(key, last).is_le());
        return is_there.then_some(span);
    }
    Some(bounded(span, first, last))
}

/// Returns the part of the span between two keys, both included where given.
fn bounded(span: Span, first: Option<&str>, last: Option<&str>) -> Span {
    let lower = first.map_or(Bound::Unbounded, |key| Bound::Included(key.to_owned()));
    let upper = last.map_or(Bound::Unbounded, |key| Bound::Included(key.to_owned()));
    match (span, lower, upper) {
        (span, Bound::Unbounded, Bound::Unbounded) | (span @ Span::Exact(_), ..) => span,
        (Span::All, lower, upper) => Span::Between(lower, upper),
        (Span::Between(own_lower, own_upper), lower, upper) => {
            Span::Between(inner(own_lower, lower, false), inner(own_upper, upper, true))
        }
    }
}

/// The narrower of two bounds on one side.
fn inner(own: Bound<String>, other: Bound<String>, upper: bool) -> Bound<String> {
    let (Bound::Included(own_key) | Bound::Excluded(own_key)) = &own else { return other };
    let (Bound::Included(key) | Bound::Excluded(key)) = &other else { return own };
    let order = order::compare(own_key, key);
    let own_is_narrower = if upper { order.is_le() } else { order.is_ge() };
    if own_is_narrower { own } else { other }
}
