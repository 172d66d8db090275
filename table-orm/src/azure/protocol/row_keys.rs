//! The keys in a row's body.

use crate::codec::{write_keys, write_string};
use crate::model::{PARTITION_KEY, ROW_KEY};
use crate::store::{ErrorCode, StoreError};
use bytes::Bytes;
use serde::Deserializer as _;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The body of an insert, whose keys are its address: the service knows no other. A body that
/// starts with its keys, as rows are written here, is not copied.
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
    let members = serde_json::Deserializer::from_slice(body)
        .deserialize_map(OtherMembers)
        .map_err(|error| {
            let message = "The body is not a JSON object of properties.";
            StoreError::new(ErrorCode::INVALID_INPUT, message).caused_by(error)
        })?;
    for (name, value) in members {
        keys.push(b',');
        write_string(&mut keys, &name);
        keys.push(b':');
        keys.extend_from_slice(value.get().as_bytes());
    }
    keys.push(b'}');
    Ok(Cow::Owned(keys.into()))
}

/// Whether the body is sure to start with these keys; not for keys that JSON would escape.
fn starts_with_keys(body: &[u8], partition_key: &str, row_key: &str) -> bool {
    let texts =
        ["{\"", PARTITION_KEY, "\":\"", partition_key, "\",\"", ROW_KEY, "\":\"", row_key, "\""];
    let rest = texts.iter().try_fold(body, |rest, text| rest.strip_prefix(text.as_bytes()));
    matches!(rest, Some([b',' | b'}', ..]))
        && !partition_key.contains(['"', '\\'])
        && !row_key.contains(['"', '\\'])
}

/// The members of a row that are not its keys.
struct OtherMembers;

impl<'de> Visitor<'de> for OtherMembers {
    type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut row: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = row.next_entry::<Cow<'de, str>, &'de RawValue>()? {
            if !matches!(&*member.0, PARTITION_KEY | ROW_KEY) {
                members.push(member);
            }
        }
        Ok(members)
    }
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
