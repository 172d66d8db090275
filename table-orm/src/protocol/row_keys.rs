//! The keys in a row's body.

use crate::property::write_string;
use crate::store::{ErrorCode, StoreError};
use bytes::Bytes;
use serde::Deserializer as _;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The body of an insert, whose keys are its address: the service knows no other. A body that
/// starts with its keys, as rows are written here, is not copied.
pub(super) fn addressed(
    body: &Bytes,
    partition_key: &str,
    row_key: &str,
) -> Result<Bytes, StoreError> {
    let mut keys = Vec::with_capacity(partition_key.len() + row_key.len() + 40);
    keys.extend_from_slice(b"{\"PartitionKey\":");
    write_string(&mut keys, partition_key);
    keys.extend_from_slice(b",\"RowKey\":");
    write_string(&mut keys, row_key);
    if let Some(rest) = body.strip_prefix(&keys[..])
        && matches!(rest.first(), Some(b',' | b'}'))
    {
        return Ok(body.clone());
    }
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
    Ok(keys.into())
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
            if !matches!(&*member.0, "PartitionKey" | "RowKey") {
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
            let built = addressed(&Bytes::from_static(body.as_bytes()), "p", "r").unwrap();
            assert_eq!(std::str::from_utf8(&built).unwrap(), expected);
        }
        assert!(addressed(&Bytes::from_static(b"[]"), "p", "r").is_err());
    }
}
