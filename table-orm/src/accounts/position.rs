//! Where a query over several accounts goes on.
//!
//! Invariant: the positions of one token have returned exactly the rows up to the last row of its page,
//! each in its account. A token that names a key outside the range of its query is refused: a client can make
//! one up.

use super::Answer;
use crate::entity::RowHead;
use crate::key::fnv;
use crate::model::{Continuation, order};
use crate::query::{KeyRange, RowQuery, Span};
use crate::store::{ErrorCode, StoreError};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::ops::Bound;

/// The two headers of an account's continuation.
type Headers = (Option<String>, Option<String>);

/// Where a query goes on in one account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Position {
    /// In the partitions after that one, or in all.
    #[serde(rename = "a")]
    After(Option<String>, Option<Headers>),
    /// In that partition, from that row on.
    #[serde(rename = "w")]
    Within(String, String, Option<Headers>),
    /// In that partition, after that row.
    #[serde(rename = "b")]
    Behind(String, String, Option<Headers>),
    /// Nowhere: every row was returned.
    #[serde(rename = "e")]
    End,
}

impl Position {
    pub const START: Self = Self::After(None, None);

    /// Behind that row, or at the start.
    pub fn behind_row(row: Option<RowHead>) -> Self {
        row.map_or(Self::START, |row| Self::Behind(row.partition_key, row.row_key, None))
    }

    /// The query of the rows from here on, or of those of this partition; `None` where no row can be.
    pub fn query(&self, all: &RowQuery) -> Option<RowQuery> {
        let (keys, page) = match self {
            Self::End => return None,
            Self::After(after, page) => {
                let partition = match after {
                    Some(after) => part(&all.keys.partition, Bound::Excluded(after.clone()))?,
                    None => all.keys.partition.clone(),
                };
                (KeyRange { partition, row: all.keys.row.clone() }, page)
            }
            Self::Within(partition_key, row_key, page) => {
                (rows(all, partition_key, Bound::Included(row_key.clone())), page)
            }
            Self::Behind(partition_key, row_key, page) => {
                (rows(all, partition_key, Bound::Excluded(row_key.clone())), page)
            }
        };
        let continuation = page.clone().map(|(next_partition_key, next_row_key)| Continuation {
            next_partition_key,
            next_row_key,
        });
        Some(RowQuery { keys, continuation, ..all.clone() })
    }

    /// Whether a query of those keys can come there.
    fn is_in(&self, keys: &KeyRange) -> bool {
        match self {
            Self::End | Self::After(None, _) => true,
            Self::After(Some(partition_key), _) => keys.partition.contains(partition_key),
            Self::Within(partition_key, row_key, _) | Self::Behind(partition_key, row_key, _) => {
                holds(keys, partition_key, row_key)
            }
        }
    }

    /// Whether it is in the middle of a partition.
    pub const fn is_in_partition(&self) -> bool {
        matches!(self, Self::Within(..) | Self::Behind(..))
    }

    /// The position after a page.
    pub fn next(self, continuation: Option<Continuation>) -> Self {
        let page = continuation.map(|next| (next.next_partition_key, next.next_row_key));
        match (self, page) {
            (Self::End, _) | (Self::After(..), None) => Self::End,
            (Self::After(after, _), page) => Self::After(after, page),
            (Self::Within(partition_key, ..) | Self::Behind(partition_key, ..), None) => {
                Self::After(Some(partition_key), None)
            }
            (Self::Within(partition_key, row_key, _), page) => {
                Self::Within(partition_key, row_key, page)
            }
            (Self::Behind(partition_key, row_key, _), page) => {
                Self::Behind(partition_key, row_key, page)
            }
        }
    }
}

/// Whether the row is one of those keys.
fn holds(keys: &KeyRange, partition_key: &str, row_key: &str) -> bool {
    keys.partition.contains(partition_key) && keys.row.contains(row_key)
}

/// The rows of one partition from that bound on. A range that is empty reads no row.
fn rows(all: &RowQuery, partition_key: &str, lower: Bound<String>) -> KeyRange {
    let row = part(&all.keys.row, lower);
    let none = || Span::Between(Bound::Unbounded, Bound::Excluded(String::new()));
    KeyRange { partition: Span::Exact(partition_key.to_owned()), row: row.unwrap_or_else(none) }
}

/// The part of a range from a bound in it on; `None` where it is empty.
fn part(range: &Span, lower: Bound<String>) -> Option<Span> {
    let (at, is_included) = match &lower {
        Bound::Included(at) => (at, true),
        Bound::Excluded(at) => (at, false),
        Bound::Unbounded => return Some(range.clone()),
    };
    match range {
        Span::All => Some(Span::Between(lower, Bound::Unbounded)),
        Span::Exact(key) => is_included.then(|| Span::Exact(key.clone())),
        Span::Between(_, upper) => {
            let is_left = match upper {
                Bound::Included(upper) => match order::compare(at, upper) {
                    Ordering::Less => true,
                    Ordering::Equal => is_included,
                    Ordering::Greater => false,
                },
                Bound::Excluded(upper) => order::compare(at, upper) == Ordering::Less,
                Bound::Unbounded => true,
            };
            is_left.then(|| Span::Between(lower, upper.clone()))
        }
    }
}

/// Where a query goes on in each account.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Token {
    /// The version of the map of slots by which the positions were found; 0 without a map.
    #[serde(rename = "v", default, skip_serializing_if = "is_zero")]
    pub version: u64,
    /// With a map: the last row that was returned.
    #[serde(rename = "r", default, skip_serializing_if = "Option::is_none")]
    pub last: Option<(String, String)>,
    #[serde(rename = "p", default)]
    pub positions: Vec<Position>,
}

const fn is_zero(version: &u64) -> bool {
    *version == 0
}

/// The start of each token. The digit is the version of the form.
const PREFIX: &str = "accounts1.";

impl Token {
    /// The place that the continuation of a query names; `None` without one.
    pub fn of(query: &RowQuery) -> Answer<Option<Self>> {
        let Some(continuation) = &query.continuation else { return Ok(None) };
        let token = Self::read(continuation).filter(|token| token.is_in(&query.keys));
        token.map(Some).ok_or_else(not_of_query)
    }

    /// Whether a query of those keys can come there.
    fn is_in(&self, keys: &KeyRange) -> bool {
        let last = self.last.as_ref();
        last.is_none_or(|(partition_key, row_key)| holds(keys, partition_key, row_key))
            && self.positions.iter().all(|position| position.is_in(keys))
    }

    fn read(continuation: &Continuation) -> Option<Self> {
        let Continuation { next_partition_key: Some(text), next_row_key: None } = continuation
        else {
            return None;
        };
        let bytes = URL_SAFE_NO_PAD.decode(text.strip_prefix(PREFIX)?).ok()?;
        let (json, check) = bytes.split_last_chunk::<4>()?;
        if fnv(json) as u32 != u32::from_be_bytes(*check) {
            return None;
        }
        serde_json::from_slice(json).ok()
    }

    /// The continuation that names the place.
    pub fn continuation(&self) -> Continuation {
        let mut bytes = serde_json::to_vec(self).unwrap_or_default();
        let check = fnv(&bytes) as u32;
        bytes.extend_from_slice(&check.to_be_bytes());
        let text = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes));
        Continuation { next_partition_key: Some(text), next_row_key: None }
    }
}

/// The error of a continuation that these accounts did not return for the query.
pub(super) fn not_of_query() -> StoreError {
    let message = "The continuation is not from this query over these accounts; start the query again \
                   without it.";
    StoreError::new(ErrorCode::INVALID_INPUT, message)
}
