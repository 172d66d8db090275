//! One row's properties over another's.

use super::members::RowContext;
use crate::codec::{PropertyError, RowFault, write_string};
use crate::model::TYPE_ANNOTATION;
use bytes::Bytes;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;

type Object<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

/// The stored row's JSON object, with the members of `set` in place of its own.
pub(crate) fn overlay(stored: &[u8], set: &[u8]) -> Result<Bytes, PropertyError> {
    let parse = |json| {
        serde_json::from_slice::<Object<'_>>(json)
            .map_err(|error| RowContext::new("row").error(RowFault::unreadable("", &error)))
    };
    let (mut merged, set) = (parse(stored)?, parse(set)?);
    for name in set.keys() {
        merged.remove(format!("{name}{TYPE_ANNOTATION}").as_str());
    }
    merged.extend(set);
    let mut json = Vec::with_capacity(stored.len());
    for (name, value) in merged {
        json.push(if json.is_empty() { b'{' } else { b',' });
        write_string(&mut json, &name);
        json.push(b':');
        json.extend_from_slice(value.get().as_bytes());
    }
    if json.is_empty() {
        json.push(b'{');
    }
    json.push(b'}');
    Ok(json.into())
}
