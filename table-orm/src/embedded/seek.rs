//! The start and end of a query: key ranges as bounds of stored keys, and continuations.
//!
//! Invariant: the bounds enclose exactly the partitions of the range. In a single partition they
//! enclose exactly its rows; in several partitions [`RowBounds`] filters the rows.

use super::key_bytes;
use super::key_bytes::{PARTITION_END, SEPARATOR};
use crate::model::Continuation;
use crate::query::{KeyLimit, KeyLimits, KeyRange, RowQuery, Span};
use crate::store::{ErrorCode, StoreError};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::borrow::Cow;
use std::ops::Bound;

/// The prefix of every continuation of this store. The digit is the version of the form.
const TOKEN_PREFIX: &str = "1!";

/// A bound of stored keys.
pub(crate) type KeyBound = Bound<Vec<u8>>;

/// The range of stored keys that a query visits.
#[derive(Debug)]
pub(crate) struct Seek {
    pub(crate) lower: KeyBound,
    pub(crate) upper: KeyBound,
    /// The condition on RowKeys, unless the bounds already enforce it.
    pub(crate) rows: Option<RowBounds>,
}

impl Seek {
    /// Finds the rows of a query's keys, within its limits, from the end of the page before.
    pub(crate) fn new(query: &RowQuery) -> Result<Self, StoreError> {
        let mut seek = Self::range(&query.keys);
        if let Some(limits) = &query.limits {
            seek.narrow(limits);
        }
        if let Some(continuation) = &query.continuation {
            let key = read_token(continuation)?;
            if key_of(&seek.lower) < Some(&key) {
                seek.lower = Bound::Included(key);
            }
        }
        Ok(seek)
    }

    fn range(keys: &KeyRange) -> Self {
        let (lower, upper) = bounds(&keys.row);
        if let Span::Exact(partition_key) = &keys.partition {
            let mut partition = key_bytes::encode(partition_key);
            partition.push(SEPARATOR);
            return Self {
                lower: within(&partition, lower)
                    .unwrap_or_else(|| Bound::Included(partition.clone())),
                upper: within(&partition, upper).unwrap_or_else(|| end(partition)),
                rows: None,
            };
        }
        let rows = match keys.row {
            Span::All => None,
            _ => Some(RowBounds { lower, upper }),
        };
        let (lower, upper) = partition_bounds(&keys.partition);
        Self { lower, upper, rows }
    }

    /// Leaves out what lies outside the limits.
    fn narrow(&mut self, limits: &KeyLimits) {
        if let Some(first) = &limits.first {
            let partition = Bound::Included(first.partition_key.clone());
            let lower = row(first).map_or_else(
                || partition_bounds(&Span::Between(partition, Bound::Unbounded)).0,
                Bound::Included,
            );
            if key_of(&self.lower) < key_of(&lower) {
                self.lower = lower;
            }
        }
        if let Some(last) = &limits.last {
            let partition = Bound::Included(last.partition_key.clone());
            let upper = row(last).map_or_else(
                || partition_bounds(&Span::Between(Bound::Unbounded, partition)).1,
                Bound::Included,
            );
            let is_lower = key_of(&self.upper).is_none_or(|own| match key_of(&upper) {
                Some(limit) if limit == own => matches!(upper, Bound::Excluded(_)),
                limit => limit < Some(own),
            });
            if is_lower {
                self.upper = upper;
            }
        }
    }

    /// Returns whether no key can lie between the bounds.
    pub(crate) fn is_empty(&self) -> bool {
        match (&self.lower, &self.upper) {
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
            (Bound::Included(lower), Bound::Included(upper)) => lower > upper,
            (
                Bound::Included(lower) | Bound::Excluded(lower),
                Bound::Included(upper) | Bound::Excluded(upper),
            ) => lower >= upper,
        }
    }
}

/// Where a row lies relative to the RowKeys of the query.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SeekBound {
    /// Among them.
    Within,
    /// Outside: the next row among them does not lie before this bound.
    SkipTo(KeyBound),
}

/// A range of RowKeys that applies to every partition of a scan.
#[derive(Debug)]
pub(crate) struct RowBounds {
    lower: KeyBound,
    upper: KeyBound,
}

impl RowBounds {
    /// Locates a row by its key.
    pub(crate) fn locate(&self, key: &[u8]) -> SeekBound {
        let Some((partition_key, row_key)) = key_bytes::split(key) else {
            return SeekBound::Within;
        };
        let partition = &key[..=partition_key.len()];
        let below = match &self.lower {
            Bound::Included(lower) => row_key < &lower[..],
            Bound::Excluded(lower) => row_key <= &lower[..],
            Bound::Unbounded => false,
        };
        if below && let Some(lower) = within(partition, self.lower.clone()) {
            return SeekBound::SkipTo(lower);
        }
        let above = match &self.upper {
            Bound::Included(upper) => row_key > &upper[..],
            Bound::Excluded(upper) => row_key >= &upper[..],
            Bound::Unbounded => false,
        };
        if above { SeekBound::SkipTo(included(end(partition.to_vec()))) } else { SeekBound::Within }
    }
}

/// Builds the continuation that starts with this row.
pub(crate) fn token(key: &[u8]) -> Continuation {
    let (partition_key, row_key) = key_bytes::split(key).unwrap_or((key, &[]));
    let text = |bytes| Some(format!("{TOKEN_PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes)));
    Continuation { next_partition_key: text(partition_key), next_row_key: text(row_key) }
}

fn read_token(continuation: &Continuation) -> Result<Vec<u8>, StoreError> {
    let part = |token: &Option<String>| {
        let text = token.as_deref()?.strip_prefix(TOKEN_PREFIX)?;
        key_bytes::decode(&URL_SAFE_NO_PAD.decode(text).ok()?).map(Cow::into_owned)
    };
    match (part(&continuation.next_partition_key), part(&continuation.next_row_key)) {
        (Some(partition_key), Some(row_key)) => Ok(key_bytes::row(&partition_key, &row_key)),
        _ => Err(StoreError::new(
            ErrorCode::INVALID_INPUT,
            "The continuation is not from this store; start the query again without it.",
        )),
    }
}

/// Returns the first key above a partition as an upper bound. `partition` ends with the separator.
fn end(mut partition: Vec<u8>) -> KeyBound {
    partition.pop();
    partition.push(PARTITION_END);
    Bound::Excluded(partition)
}

fn included(bound: KeyBound) -> KeyBound {
    match bound {
        Bound::Excluded(key) => Bound::Included(key),
        bound => bound,
    }
}

/// Converts a bound on RowKeys to one in a partition; `None` when it is unbounded.
fn within(partition: &[u8], bound: KeyBound) -> Option<KeyBound> {
    let key = |row_key: Vec<u8>| [partition, &row_key].concat();
    match bound {
        Bound::Included(row_key) => Some(Bound::Included(key(row_key))),
        Bound::Excluded(row_key) => Some(Bound::Excluded(key(row_key))),
        Bound::Unbounded => None,
    }
}

/// The stored key of the row at an end of a range; `None` for a partition, or one that no row has.
fn row(limit: &KeyLimit) -> Option<Vec<u8>> {
    let row_key = limit.row_key.as_deref()?;
    let is_stored = cut(limit.partition_key.as_bytes()).is_none();
    is_stored.then(|| key_bytes::row(&limit.partition_key, row_key))
}

fn key_of(bound: &KeyBound) -> Option<&Vec<u8>> {
    match bound {
        Bound::Included(key) | Bound::Excluded(key) => Some(key),
        Bound::Unbounded => None,
    }
}

fn bounds(span: &Span) -> (KeyBound, KeyBound) {
    let encode = |bound: &Bound<String>| bound.as_ref().map(|key| key_bytes::encode(key));
    match span {
        Span::All => (Bound::Unbounded, Bound::Unbounded),
        Span::Exact(key) => {
            let key = key_bytes::encode(key);
            (Bound::Included(key.clone()), Bound::Included(key))
        }
        Span::Between(lower, upper) => (encode(lower), encode(upper)),
    }
}

/// Converts bounds on PartitionKeys to bounds on stored keys, which are longer than their
/// PartitionKey.
fn partition_bounds(span: &Span) -> (KeyBound, KeyBound) {
    let (lower, upper) = bounds(span);
    let past = |mut key: Vec<u8>| {
        key.push(PARTITION_END);
        key
    };
    let lower = match lower {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(key) => match cut(&key) {
            Some(stored) => Bound::Included(past(stored)),
            None => Bound::Included(key),
        },
        Bound::Excluded(key) => Bound::Included(past(cut(&key).unwrap_or(key))),
    };
    let upper = match upper {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(key) => Bound::Excluded(past(cut(&key).unwrap_or(key))),
        Bound::Excluded(key) => match cut(&key) {
            Some(stored) => Bound::Excluded(past(stored)),
            None => Bound::Excluded(key),
        },
    };
    (lower, upper)
}

/// Cuts a bound at its first control character, which would be read as the separator. Stored keys
/// have no control characters, so no stored key lies between the cut bound and the whole one.
fn cut(key: &[u8]) -> Option<Vec<u8>> {
    let at = key.iter().position(|&byte| byte < b' ')?;
    Some(key[..at].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{TableName, order};
    use crate::query::key_limits_tests::limits;
    use proptest::prelude::*;

    fn key() -> impl Strategy<Value = String> {
        "[ab\u{E000}\u{1F3C3}]{0,2}"
    }

    /// Bounds may have characters that keys cannot have.
    fn bound() -> impl Strategy<Value = Bound<String>> {
        let text = || "[ab\u{0}\u{1}\u{1F}\u{E000}\u{1F3C3}]{0,3}".prop_map(String::from);
        prop_oneof![
            Just(Bound::Unbounded),
            text().prop_map(Bound::Included),
            text().prop_map(Bound::Excluded),
        ]
    }

    fn span() -> impl Strategy<Value = Span> {
        prop_oneof![
            Just(Span::All),
            key().prop_map(Span::Exact),
            (bound(), bound()).prop_map(|(lower, upper)| Span::Between(lower, upper)),
        ]
    }

    fn seek(keys: KeyRange, continuation: Option<Continuation>) -> Result<Seek, StoreError> {
        let table = TableName::new("people").unwrap();
        Seek::new(&RowQuery { continuation, ..RowQuery::new(table, keys) })
    }

    fn above(key: &[u8], lower: &KeyBound) -> bool {
        match lower {
            Bound::Included(lower) => key >= &lower[..],
            Bound::Excluded(lower) => key > &lower[..],
            Bound::Unbounded => true,
        }
    }

    fn below(key: &[u8], upper: &KeyBound) -> bool {
        match upper {
            Bound::Included(upper) => key <= &upper[..],
            Bound::Excluded(upper) => key < &upper[..],
            Bound::Unbounded => true,
        }
    }

    proptest! {
        #[test]
        fn a_row_is_visited_exactly_when_both_spans_contain_it(
            partition in span(),
            row in span(),
            limits in limits(),
            partition_key in key(),
            row_key in key(),
        ) {
            let expected = partition.contains(&partition_key)
                && row.contains(&row_key)
                && limits.contain(&partition_key, &row_key);
            let table = TableName::new("people").unwrap();
            let query = RowQuery { limits: Some(Box::new(limits)), ..RowQuery::new(table, KeyRange { partition, row }) };
            let seek = Seek::new(&query).unwrap();
            let stored = key_bytes::row(&partition_key, &row_key);
            let bounded = above(&stored, &seek.lower) && below(&stored, &seek.upper);
            let placed = seek.rows.as_ref().is_none_or(|rows| rows.locate(&stored) == SeekBound::Within);
            prop_assert_eq!(bounded && placed, expected);
            prop_assert!(!(seek.is_empty() && expected));
        }

        #[test]
        fn skipping_moves_forward_and_skips_no_row_of_the_range(
            row in span(),
            from in (key(), key()),
            other in (key(), key()),
        ) {
            let keys = KeyRange { partition: Span::All, row };
            let seek = seek(keys.clone(), None).unwrap();
            let stored = key_bytes::row(&from.0, &from.1);
            if let Some(SeekBound::SkipTo(next)) = seek.rows.as_ref().map(|rows| rows.locate(&stored)) {
                prop_assert!(!above(&stored, &next), "moves forward");
                let later = key_bytes::row(&other.0, &other.1);
                if later > stored && keys.row.contains(&other.1) {
                    prop_assert!(above(&later, &next), "skips no row");
                }
            }
        }

        #[test]
        fn a_token_starts_at_its_row(partition_key in key(), row_key in key()) {
            let stored = key_bytes::row(&partition_key, &row_key);
            let seek = seek(KeyRange::ALL, Some(token(&stored))).unwrap();
            prop_assert_eq!(seek.lower, Bound::Included(stored));
        }
    }

    #[test]
    fn tokens_of_other_stores_are_refused() {
        let good = token(&key_bytes::row("p", "r"));
        let encoded = |text: &str| Some(text.to_owned());
        for next_partition_key in
            [None, encoded("1!8!cA=="), encoded("2!cA"), encoded("cA"), encoded("1!7g")]
        {
            let continuation = Continuation { next_partition_key, ..good.clone() };
            let error = seek(KeyRange::ALL, Some(continuation)).unwrap_err();
            assert_eq!(error.code, ErrorCode::INVALID_INPUT);
        }
        let continuation = Continuation { next_row_key: None, ..good };
        assert!(seek(KeyRange::ALL, Some(continuation)).is_err());
    }

    #[test]
    fn a_token_before_the_range_does_not_widen_it() {
        let keys = KeyRange { partition: Span::Exact("p".into()), row: Span::prefix("m") };
        let seek = seek(keys, Some(token(&key_bytes::row("a", "a")))).unwrap();
        assert_eq!(seek.lower, Bound::Included(key_bytes::row("p", "m")));
        assert_eq!(order::successor("m").as_deref(), Some("n"));
        assert_eq!(seek.upper, Bound::Excluded(key_bytes::row("p", "n")));
    }
}
