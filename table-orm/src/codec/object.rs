//! The members of a row's JSON object as slices of its text, for code that passes values on.
//!
//! Invariant: no value tree is built. A member is its name and the JSON text of its value, so a
//! value is written back byte for byte as it was read.

use super::json::Json;
use super::{RowFault, write_string};
#[cfg(any(feature = "azure", feature = "embedded"))]
use crate::model::TYPE_ANNOTATION;
use serde::de::Error as _;
use serde_json::Error;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// One member: its name, and the JSON text of its value.
#[derive(Debug, Clone)]
pub struct RawMember<'a> {
    /// The name, without escapes.
    pub name: Cow<'a, str>,
    /// The JSON text of the value.
    pub value: &'a str,
}

#[cfg(any(feature = "azure", feature = "embedded"))]
impl RawMember<'_> {
    /// Returns the property that the member annotates; `None` for a member that is no annotation.
    #[must_use]
    pub fn annotated(&self) -> Option<&str> {
        self.name.strip_suffix(TYPE_ANNOTATION)
    }

    /// Returns the property whose value or type the member holds.
    #[must_use]
    pub fn property(&self) -> &str {
        self.annotated().unwrap_or(&self.name)
    }
}

/// The JSON texts of an object's values, by their names.
pub(crate) type MembersByName<'a> = BTreeMap<Cow<'a, str>, &'a str>;

/// Reads a JSON object. The last of several members with the same name wins.
pub(crate) fn members_by_name(object: &[u8]) -> serde_json::Result<MembersByName<'_>> {
    let mut members = MembersByName::new();
    let text = str::from_utf8(object).map_err(Error::custom)?;
    visit_members(text, |member| {
        members.insert(member.name, member.value);
    })?;
    Ok(members)
}

/// Calls `each` with every member of a JSON object, in the order of its text.
///
/// # Errors
/// The text is not one JSON object.
pub fn visit_members<'a>(
    object: &'a str,
    each: impl FnMut(RawMember<'a>),
) -> serde_json::Result<()> {
    read_members(object, each).map_err(|fault| Error::custom(fault.fault()))
}

fn read_members<'a>(object: &'a str, mut each: impl FnMut(RawMember<'a>)) -> Result<(), RowFault> {
    let mut json = Json { rest: object };
    let mut is_first = true;
    while let Some(name) = json.name(is_first)? {
        is_first = false;
        each(RawMember { name, value: json.raw()? });
    }
    json.end()
}

/// Appends a member after those that the object already has: a comma, its name and the JSON text of
/// its value.
pub fn write_member(json: &mut Vec<u8>, name: &str, value: &str) {
    json.push(b',');
    write_string(json, name);
    json.push(b':');
    json.extend_from_slice(value.as_bytes());
}

/// Writes the object that has these members.
pub(crate) fn write_object(members: &MembersByName<'_>) -> Vec<u8> {
    let mut json = Vec::with_capacity(512);
    members.iter().for_each(|(name, value)| write_member(&mut json, name, value));
    match json.first_mut() {
        Some(comma) => *comma = b'{',
        None => json.push(b'{'),
    }
    json.push(b'}');
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_written_back_with_the_texts_of_its_values() {
        let members =
            members_by_name(r#" { "B":1.50,"\u0041\n" : {"x": [ ]}, "B":"\u00e9" } "#.as_bytes());
        assert_eq!(write_object(&members.unwrap()), br#"{"A\n":{"x": [ ]},"B":"\u00e9"}"#);
        assert_eq!(write_object(&members_by_name(b" { } ").unwrap()), b"{}");
    }

    #[test]
    fn only_one_whole_object_is_read() {
        for text in ["", "1", "[]", "{", "{}x", "{\"A\"}", "{} {}", "{\"A\":}"] {
            assert!(members_by_name(text.as_bytes()).is_err(), "{text}");
        }
        assert!(members_by_name(b"{\"A\":\"\xFF\"}").is_err());
    }
}
