//! Where a query over several accounts goes on.
//!
//! Invariant: the positions of one token have returned exactly the rows up to the last row of its page,
//! each in its account.

use super::Answer;
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
    /// Nowhere: every row was returned.
    #[serde(rename = "e")]
    End,
}

impl Position {
    pub const START: Self = Self::After(None, None);

    /// The query of the rows from here on, or of those of this partition; `None` where no row can be.
    pub fn query(&self, all: &RowQuery) -> Option<RowQuery> {
        let (partition, row, page) = match self {
            Self::End => return None,
            Self::After(after, page) => {
                (from(&all.keys.partition, after.as_deref())?, all.keys.row.clone(), page)
            }
            Self::Within(partition_key, row_key, page) => {
                let rows = match &all.keys.row {
                    Span::Exact(key) => Span::Exact(key.clone()),
                    Span::All => Span::Between(Bound::Included(row_key.clone()), Bound::Unbounded),
                    Span::Between(_, upper) => {
                        Span::Between(Bound::Included(row_key.clone()), upper.clone())
                    }
                };
                (Span::Exact(partition_key.clone()), rows, page)
            }
        };
        let continuation = page.clone().map(|(next_partition_key, next_row_key)| Continuation {
            next_partition_key,
            next_row_key,
        });
        Some(RowQuery { keys: KeyRange { partition, row }, continuation, ..all.clone() })
    }

    /// The position behind a page.
    pub fn behind(self, continuation: Option<Continuation>) -> Self {
        let page = continuation.map(|next| (next.next_partition_key, next.next_row_key));
        match (self, page) {
            (Self::End, _) | (Self::After(..), None) => Self::End,
            (Self::After(after, _), page) => Self::After(after, page),
            (Self::Within(partition_key, ..), None) => Self::After(Some(partition_key), None),
            (Self::Within(partition_key, row_key, _), page) => {
                Self::Within(partition_key, row_key, page)
            }
        }
    }
}

/// The part of a range behind a key; `None` where it is empty.
fn from(partitions: &Span, after: Option<&str>) -> Option<Span> {
    let Some(after) = after else { return Some(partitions.clone()) };
    let lower = Bound::Excluded(after.to_owned());
    match partitions {
        Span::All => Some(Span::Between(lower, Bound::Unbounded)),
        Span::Between(_, Bound::Included(upper) | Bound::Excluded(upper))
            if order::compare(after, upper) != Ordering::Less =>
        {
            None
        }
        Span::Between(_, upper) => Some(Span::Between(lower, upper.clone())),
        Span::Exact(_) => None,
    }
}

/// Where a query goes on in each account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Token {
    #[serde(rename = "p")]
    pub positions: Vec<Position>,
}

/// The start of each token. The digit is the version of the form.
const PREFIX: &str = "accounts1.";

impl Token {
    /// The place that a continuation names, or the start.
    pub fn of(continuation: Option<&Continuation>, accounts: usize) -> Answer<Self> {
        let start = || Self { positions: vec![Position::START; accounts] };
        let token = continuation.map_or_else(|| Some(start()), Self::read);
        token.filter(|token| token.positions.len() == accounts).ok_or_else(|| {
            let message = "The continuation is not from a query over these accounts; start the query \
                           again without it.";
            StoreError::new(ErrorCode::INVALID_INPUT, message)
        })
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

    /// The continuation that names the place; `None` where every row was returned.
    pub fn continuation(&self) -> Option<Continuation> {
        if self.positions.iter().all(|position| *position == Position::End) {
            return None;
        }
        let mut bytes = serde_json::to_vec(self).unwrap_or_default();
        let check = fnv(&bytes) as u32;
        bytes.extend_from_slice(&check.to_be_bytes());
        let text = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes));
        Some(Continuation { next_partition_key: Some(text), next_row_key: None })
    }
}
