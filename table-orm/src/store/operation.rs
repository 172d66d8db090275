//! The writes a store takes.
//!
//! Invariant: a [`Batch`] names one partition, so an entity group transaction over two partitions
//! cannot be expressed.

use crate::model::ETag;
use bytes::Bytes;

/// The condition of an update or delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IfMatch {
    /// `If-Match: *`: the row must exist.
    Any,
    /// The row must still have this ETag.
    ETag(ETag),
}

/// What a write does to one row. The bytes are the row's JSON object, keys included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Inserts; the row must not exist.
    Insert(Bytes),
    /// Inserts or replaces; never a conflict.
    InsertOrReplace(Bytes),
    /// Inserts or merges; never a conflict. Other properties keep their stored values.
    InsertOrMerge(Bytes),
    /// Replaces an existing row (the service's *update*).
    Replace(Bytes, IfMatch),
    /// Replaces these properties of an existing row, and keeps the others.
    Merge(Bytes, IfMatch),
    /// Deletes an existing row.
    Delete(IfMatch),
}

impl Action {
    /// The JSON object to write, if the action has one.
    #[must_use]
    pub const fn body(&self) -> Option<&Bytes> {
        match self {
            Self::Insert(body)
            | Self::InsertOrReplace(body)
            | Self::InsertOrMerge(body)
            | Self::Replace(body, _)
            | Self::Merge(body, _) => Some(body),
            Self::Delete(_) => None,
        }
    }

    /// The condition, if the action has one.
    #[must_use]
    pub const fn if_match(&self) -> Option<&IfMatch> {
        match self {
            Self::Replace(_, if_match) | Self::Merge(_, if_match) | Self::Delete(if_match) => {
                Some(if_match)
            }
            _ => None,
        }
    }

    /// The ETag that the row must have, if the action requires one.
    pub(crate) const fn etag(&self) -> Option<&ETag> {
        match self.if_match() {
            Some(IfMatch::ETag(etag)) => Some(etag),
            _ => None,
        }
    }

    /// The same write that fails unless the row has that version; `None` for one that inserts or has a
    /// condition.
    pub(crate) fn under(&self, etag: &ETag) -> Option<Self> {
        let version = || IfMatch::ETag(etag.clone());
        match self {
            Self::InsertOrReplace(body) | Self::Replace(body, IfMatch::Any) => {
                Some(Self::Replace(body.clone(), version()))
            }
            Self::InsertOrMerge(body) | Self::Merge(body, IfMatch::Any) => {
                Some(Self::Merge(body.clone(), version()))
            }
            Self::Delete(IfMatch::Any) => Some(Self::Delete(version())),
            _ => None,
        }
    }

    /// Whether the write needs a row, in whatever version.
    pub(crate) const fn replaces_any(&self) -> bool {
        let (Self::Replace(_, IfMatch::Any)
        | Self::Merge(_, IfMatch::Any)
        | Self::Delete(IfMatch::Any)) = self
        else {
            return false;
        };
        true
    }

    /// The write of a row over that version, or where there is none yet.
    pub(crate) fn over(body: Bytes, version: Option<ETag>) -> Self {
        match version {
            Some(etag) => Self::Replace(body, IfMatch::ETag(etag)),
            None => Self::Insert(body),
        }
    }

    /// The same write that fails if the row exists; `None` for one that inserts or needs the row.
    pub(crate) fn if_absent(&self) -> Option<Self> {
        match self {
            Self::InsertOrReplace(body) | Self::InsertOrMerge(body) => {
                Some(Self::Insert(body.clone()))
            }
            _ => None,
        }
    }

    /// The name of the service's operation.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Insert(_) => "insert",
            Self::InsertOrReplace(_) => "insert-or-replace",
            Self::InsertOrMerge(_) => "insert-or-merge",
            Self::Replace(..) => "replace",
            Self::Merge(..) => "merge",
            Self::Delete(_) => "delete",
        }
    }
}

/// One write of one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// The row's RowKey.
    pub row_key: String,
    /// What the write does to it.
    pub action: Action,
}

/// More than the bytes of a request with these operations.
pub(crate) fn estimated_bytes(partition_key: &str, operations: &[Operation]) -> usize {
    // The boundaries at both ends; the headers and the address of an operation.
    const FRAME: usize = 512;
    const PART: usize = 640;
    let of = |Operation { row_key, action }: &Operation| {
        // In the address, a byte of a key takes up to 3, and a quote 6.
        PART + 6 * (partition_key.len() + row_key.len()) + action.body().map_or(0, Bytes::len)
    };
    FRAME + operations.iter().map(of).sum::<usize>()
}

/// An entity group transaction: operations on different rows of one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The PartitionKey of all its rows.
    pub partition_key: String,
    /// The operations, at most [`MAX_TRANSACTION_OPERATIONS`](crate::model::MAX_TRANSACTION_OPERATIONS).
    pub operations: Vec<Operation>,
}

impl Batch {
    /// The index of the last operation on that row: the one whose ETag stays.
    pub(crate) fn last_on(&self, row_key: &str) -> Option<usize> {
        self.operations.iter().rposition(|operation| operation.row_key == row_key)
    }
}
