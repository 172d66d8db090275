//! One write, as a request of its own or as a part of a transaction.

use super::dialect::Dialect;
use super::encode::push_quoted;
use super::message::{Header, Method};
use super::row_keys;
use super::sink::Sink;
use crate::model::{PARTITION_KEY, ROW_KEY, TableName};
use crate::store::{Action, ErrorCode, IfMatch, Operation, StoreError, limits};
use bytes::Bytes;
use std::borrow::Cow;

pub(crate) const PREFER_NO_CONTENT: Header = ("prefer", Cow::Borrowed("return-no-content"));
pub(crate) const JSON: Header = ("content-type", Cow::Borrowed("application/json"));

/// A write with a checked row key, condition and body.
pub(crate) struct Write<'o> {
    table: &'o TableName,
    partition_key: &'o str,
    operation: &'o Operation,
    pub(crate) method: Method,
    /// Its own headers, beside those of every request.
    pub(crate) headers: [Option<Header>; 4],
    /// The body; empty without one.
    pub(crate) body: Cow<'o, Bytes>,
}

impl<'o> Write<'o> {
    /// Builds the write of a row of a partition.
    pub(crate) fn new(
        dialect: Dialect,
        table: &'o TableName,
        partition_key: &'o str,
        operation: &'o Operation,
    ) -> Result<Self, StoreError> {
        let Operation { row_key, action } = operation;
        limits::check_key(ROW_KEY, row_key)?;
        let (method, tunnelled) = verb(dialect, action);
        let if_match = action.if_match().map(if_match_text).transpose()?;
        let inserts = matches!(action, Action::Insert(_));
        let body = match action.body() {
            Some(body) if inserts => Some(row_keys::addressed(body, partition_key, row_key)?),
            body => body.map(Cow::Borrowed),
        };
        let headers = [
            tunnelled.map(|verb| ("x-http-method", Cow::Borrowed(verb))),
            if_match.map(|etag| ("if-match", etag)),
            inserts.then_some(PREFER_NO_CONTENT),
            body.is_some().then_some(JSON),
        ];
        let body = body.unwrap_or_default();
        limits::check_bytes(body.len())?;
        Ok(Self { table, partition_key, operation, method, headers, body })
    }

    /// Appends the path: of the row, or of the table for an insert, whose body holds the keys.
    pub(crate) fn push_target(&self, target: &mut impl Sink) {
        match &self.operation.action {
            Action::Insert(_) => {
                target.put("/");
                target.put(self.table.as_str());
            }
            _ => push_row_target(target, self.table, self.partition_key, &self.operation.row_key),
        }
    }
}

/// Returns the method of an action, and the verb that a header carries in its place.
const fn verb(dialect: Dialect, action: &Action) -> (Method, Option<&'static str>) {
    match action {
        Action::Insert(_) => (Method::Post, None),
        Action::InsertOrReplace(_) | Action::Replace(..) => (Method::Put, None),
        Action::InsertOrMerge(_) | Action::Merge(..) => match dialect {
            Dialect::Storage => (Method::Patch, None),
            Dialect::Cosmos => (Method::Post, Some("MERGE")),
        },
        Action::Delete(_) => (Method::Delete, None),
    }
}

/// About the length of the path of one row.
pub(crate) fn row_target_len(table: &TableName, partition_key: &str, row_key: &str) -> usize {
    let keys = partition_key.len() + row_key.len();
    table.as_str().len() + keys + keys / 4 + 32
}

/// Appends the path of one row.
pub(crate) fn push_row_target(
    target: &mut impl Sink,
    table: &TableName,
    partition_key: &str,
    row_key: &str,
) {
    for text in ["/", table.as_str(), "(", PARTITION_KEY, "="] {
        target.put(text);
    }
    push_quoted(target, partition_key);
    for text in [",", ROW_KEY, "="] {
        target.put(text);
    }
    push_quoted(target, row_key);
    target.put(")");
}

/// Returns the text of a condition. An ETag is sent unchanged, so a header must be able to hold it.
fn if_match_text(if_match: &IfMatch) -> Result<Cow<'static, str>, StoreError> {
    match if_match {
        IfMatch::Any => Ok(Cow::Borrowed("*")),
        IfMatch::ETag(etag) => {
            let text = etag.as_str();
            // Sent, it would match every version.
            if text == "*" {
                let message = "`*` is the ETag of no version. Nothing was sent.";
                return Err(StoreError::new(ErrorCode::UPDATE_CONDITION_NOT_SATISFIED, message));
            }
            if !text.is_empty() && text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
                return Ok(Cow::Owned(text.to_owned()));
            }
            let message =
                format!("The ETag `{}` has characters that no ETag has.", text.escape_debug());
            Err(StoreError::new(ErrorCode::INVALID_INPUT, message))
        }
    }
}
