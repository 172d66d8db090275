//! The bounds that a filter puts on keys.
//!
//! Invariant: a row is in the key range and meets the rest exactly if it meets the filter.

use std::ops::Bound;
use table_orm::model::Edm;
use table_orm::query::{Comparison, Filter, KeyRange, Span};

/// Splits a filter into the key range that its outermost `and` asks for, and the rest.
pub(crate) fn split_keys(filter: Filter) -> (KeyRange, Option<Filter>) {
    let mut keys = KeyRange::ALL;
    let mut rest = None;
    let mut open = vec![filter];
    while let Some(filter) = open.pop() {
        match filter {
            Filter::And(left, right) => open.extend([*right, *left]),
            filter if narrow(&mut keys, &filter) => {}
            filter => {
                rest = Some(match rest {
                    None => filter,
                    Some(earlier) => Filter::and(earlier, filter),
                });
            }
        }
    }
    (keys, rest)
}

/// Narrows the range by a comparison. Returns whether the range now says the same.
fn narrow(keys: &mut KeyRange, filter: &Filter) -> bool {
    let Filter::Compare { property, comparison, value: Edm::String(key) } = filter else {
        return false;
    };
    let span = match &**property {
        "PartitionKey" => &mut keys.partition,
        "RowKey" => &mut keys.row,
        _ => return false,
    };
    match narrowed(span, *comparison, key) {
        Some(narrower) => {
            *span = narrower;
            true
        }
        None => false,
    }
}

/// Returns the part of the span that meets the comparison, if that is a span.
fn narrowed(span: &Span, comparison: Comparison, key: &str) -> Option<Span> {
    let (lower, upper) = match span {
        // Decided later by the filter, as it is rare.
        Span::Exact(_) => return None,
        Span::All => (Bound::Unbounded, Bound::Unbounded),
        Span::Between(lower, upper) => (lower.clone(), upper.clone()),
    };
    let key = key.to_owned();
    let tighter = |bound: Bound<String>, other: Bound<String>| match (&bound, &other) {
        (Bound::Unbounded, _) => Some(other),
        // Two bounds on one side: the rest keeps the second.
        _ => None,
    };
    match comparison {
        Comparison::Equal if span.contains(&key) => Some(Span::Exact(key)),
        Comparison::Greater => {
            tighter(lower, Bound::Excluded(key)).map(|lower| Span::Between(lower, upper))
        }
        Comparison::GreaterOrEqual => {
            tighter(lower, Bound::Included(key)).map(|lower| Span::Between(lower, upper))
        }
        Comparison::Less => {
            tighter(upper, Bound::Excluded(key)).map(|upper| Span::Between(lower, upper))
        }
        Comparison::LessOrEqual => {
            tighter(upper, Bound::Included(key)).map(|upper| Span::Between(lower, upper))
        }
        Comparison::Equal | Comparison::NotEqual => None,
    }
}
