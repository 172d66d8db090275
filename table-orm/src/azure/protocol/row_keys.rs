//! The keys in a row's body.

use crate::codec::{visit_members, write_keys, write_member};
use crate::model::{PARTITION_KEY, ROW_KEY};
use crate::store::{ErrorCode, StoreError};
use bytes::Bytes;
use std::borrow::Cow;
use std::error::Error;

/// Builds the body of an insert, which holds the row's keys: its URL does not. A body that starts
/// with these keys, as this crate writes rows, is not copied.
pub(crate) fn addressed<'b>(
    body: &'b Bytes,
    partition_key: &str,
    row_key: &str,
) -> Result<Cow<'b, Bytes>, StoreError> {
    if starts_with_keys(body, partition_key, row_key) {
        return Ok(Cow::Borrowed(body));
    }
    let mut keys = Vec::with_capacity(body.len() + partition_key.len() + row_key.len() + 40);
    write_keys(&mut keys, partition_key, row_key);
    let rejected = |error: Box<dyn Error + Send + Sync>| {
        let message = "The body is not a JSON object of properties.";
        StoreError::new(ErrorCode::INVALID_INPUT, message).caused_by(error)
    };
    let text = str::from_utf8(body).map_err(|error| rejected(error.into()))?;
    visit_members(text, |member| {
        if !matches!(&*member.name, PARTITION_KEY | ROW_KEY) {
            write_member(&mut keys, &member.name, member.value);
        }
    })
    .map_err(|error| rejected(error.into()))?;
    keys.push(b'}');
    Ok(Cow::Owned(keys.into()))
}

/// Returns whether the body certainly starts with these keys. Keys that JSON would escape never
/// match.
fn starts_with_keys(body: &[u8], partition_key: &str, row_key: &str) -> bool {
    let texts =
        ["{\"", PARTITION_KEY, "\":\"", partition_key, "\",\"", ROW_KEY, "\":\"", row_key, "\""];
    let rest = texts.iter().try_fold(body, |rest, text| rest.strip_prefix(text.as_bytes()));
    matches!(rest, Some([b',' | b'}', ..]))
        && !partition_key.contains(['"', '\\'])
        && !row_key.contains(['"', '\\'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_wins_over_the_keys_of_the_body() {
        for (body, expected) in [
            (
                r#"{"PartitionKey":"p","RowKey":"r","A":1}"#,
                r#"{"PartitionKey":"p","RowKey":"r","A":1}"#,
            ),
            (r#"{"A":1}"#, r#"{"PartitionKey":"p","RowKey":"r","A":1}"#),
            (
                r#"{"RowKey":"x","A":{"b":[1]}}"#,
                r#"{"PartitionKey":"p","RowKey":"r","A":{"b":[1]}}"#,
            ),
            (r#"{"PartitionKey":"p","RowKey":"rr"}"#, r#"{"PartitionKey":"p","RowKey":"r"}"#),
        ] {
            let body = Bytes::from_static(body.as_bytes());
            let built = addressed(&body, "p", "r").unwrap();
            assert_eq!(std::str::from_utf8(&built).unwrap(), expected);
        }
        let body = Bytes::from_static(br#"{"PartitionKey":"p","RowKey":"r","RowKey":"x"}"#);
        let built = addressed(&body, r#"p","RowKey":"r"#, "x").unwrap();
        let expected = r#"{"PartitionKey":"p\",\"RowKey\":\"r","RowKey":"x"}"#;
        assert_eq!(std::str::from_utf8(&built).unwrap(), expected);
        assert!(addressed(&Bytes::from_static(b"[]"), "p", "r").is_err());
    }
}
