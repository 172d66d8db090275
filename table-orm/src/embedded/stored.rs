//! The bytes of one stored row.
//!
//! Invariant: a stored row is the JSON object that readers get. Its first member is the Timestamp
//! at full width, so the row's version has a fixed position. PartitionKey, RowKey and the
//! properties follow as they were sent.

use crate::codec::RawMember;
use crate::model::{DateTime, ETag};
use crate::store::{ErrorCode, StoreError};
use std::error::Error;
use std::ops::Range;

const HEAD: &[u8] = b"{\"Timestamp\":\"";
const TAIL: &[u8] = b"\",";
/// The text of a Timestamp.
pub(crate) type TimestampText = [u8; DateTime::TEXT_LEN];
const TIMESTAMP: Range<usize> = HEAD.len()..HEAD.len() + DateTime::TEXT_LEN;
/// The bytes of a row before the members of its body.
pub(crate) const BODY_START: usize = TIMESTAMP.end + TAIL.len();

/// Writes a row in place of what is in `row`: the Timestamp, then the members of `body`, an object with at least one.
pub(crate) fn compose(row: &mut Vec<u8>, timestamp: &TimestampText, body: &[u8]) {
    row.clear();
    row.reserve(BODY_START + body.len());
    for text in [HEAD, timestamp, TAIL, &body[1..]] {
        row.extend_from_slice(text);
    }
}

/// Appends what comes before the members of a row's body.
pub(crate) fn append_timestamp(out: &mut Vec<u8>, timestamp: &str) {
    for text in [HEAD, timestamp.as_bytes(), TAIL] {
        out.extend_from_slice(text);
    }
}

/// Returns the text of a row's Timestamp; `None` when the bytes are not a stored row.
fn timestamp(row: &[u8]) -> Option<&str> {
    std::str::from_utf8(row.get(TIMESTAMP)?).ok()
}

/// Returns a row's version.
pub(crate) fn etag(row: &[u8]) -> Result<ETag, StoreError> {
    let text = timestamp(row).ok_or_else(|| corrupt("no Timestamp"))?;
    Ok(ETag::from_timestamp(text))
}

/// Returns the version of a row written with that timestamp.
pub(crate) fn etag_at(timestamp: &TimestampText) -> ETag {
    ETag::from_timestamp(str::from_utf8(timestamp).unwrap_or_default())
}

/// Returns a row as text.
pub(crate) fn text(row: &[u8]) -> Result<&str, StoreError> {
    std::str::from_utf8(row).map_err(corrupt)
}

/// Builds the error for bytes that are not a stored row.
pub(crate) fn corrupt(source: impl Into<Box<dyn Error + Send + Sync>>) -> StoreError {
    let message = "A row of the database file is damaged; restore the file from a backup.";
    StoreError::new(ErrorCode::INTERNAL_ERROR, message).caused_by(source)
}

/// Appends `"name":value`. Names that passed the rules need no escape.
pub(crate) fn append(out: &mut Vec<u8>, member: &RawMember<'_>) {
    out.push(b'"');
    out.extend_from_slice(member.name.as_bytes());
    out.extend_from_slice(b"\":");
    out.extend_from_slice(member.value.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timestamp_is_first_and_gives_the_etag() {
        let body = br#"{"PartitionKey":"p","RowKey":"r"}"#;
        let when: DateTime = "2011-11-06T09:10:00Z".parse().unwrap();
        let mut row = Vec::new();
        compose(&mut row, &when.text(), body);
        assert_eq!(
            std::str::from_utf8(&row).unwrap(),
            r#"{"Timestamp":"2011-11-06T09:10:00.0000000Z","PartitionKey":"p","RowKey":"r"}"#
        );
        assert_eq!(etag(&row).unwrap(), ETag::from_timestamp("2011-11-06T09:10:00.0000000Z"));
        assert_eq!(etag(b"{}").unwrap_err().code, ErrorCode::INTERNAL_ERROR);
    }
}
