//! One stored property: its EDM type and its value.
//!
//! Invariant: [`StoredValue::read`] accepts exactly the values that a row may hold, so rows that
//! were checked when written are compared without errors when read.

use super::members;
use crate::model::{DateTime, Edm, EdmType, MAX_BINARY_BYTES, MAX_STRING_UNITS, order};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::borrow::Cow;
use std::cmp::Ordering;
use uuid::Uuid;

/// The value of a property with its type.
#[derive(Debug)]
pub(crate) enum StoredValue<'a> {
    String(Cow<'a, str>),
    Int32(i32),
    Int64(i64),
    Double(f64),
    Boolean(bool),
    DateTime(DateTime),
    Guid(Uuid),
    Binary(Vec<u8>),
}

/// The reason why a member is not a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueFault {
    /// The annotation does not name an EDM type.
    UnknownType,
    /// The value is an array or an object.
    Nested,
    /// The value is not of this type.
    NotA(EdmType),
}

/// How much longer a value is than a property may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Excess {
    pub(crate) length: usize,
    pub(crate) limit: usize,
    pub(crate) unit: &'static str,
}

impl<'a> StoredValue<'a> {
    /// Reads the JSON texts of a value and of its type annotation.
    pub(crate) fn read(value: &'a str, annotation: Option<&str>) -> Result<Self, ValueFault> {
        if value.starts_with(['{', '[']) {
            return Err(ValueFault::Nested);
        }
        let edm = match annotation {
            Some(annotation) => members::text(annotation)
                .and_then(|name| EdmType::from_name(&name))
                .ok_or(ValueFault::UnknownType)?,
            None => plain_type(value),
        };
        Self::parse(value, edm).ok_or(ValueFault::NotA(edm))
    }

    /// Reads the JSON text of a value of a known type.
    pub(crate) fn parse(value: &'a str, edm: EdmType) -> Option<Self> {
        Some(match edm {
            EdmType::String => Self::String(members::text(value)?),
            EdmType::Int32 => Self::Int32(value.parse().ok()?),
            EdmType::Int64 => Self::Int64(members::text(value)?.parse().ok()?),
            EdmType::Double => Self::Double(double(value)?),
            EdmType::Boolean => Self::Boolean(value.parse().ok()?),
            EdmType::DateTime => Self::DateTime(members::text(value)?.parse().ok()?),
            EdmType::Guid => Self::Guid(guid(&members::text(value)?)?),
            EdmType::Binary => Self::Binary(STANDARD.decode(&*members::text(value)?).ok()?),
        })
    }

    /// Returns the bytes that the service counts for the value, of the entity's 1 MiB (service
    /// documentation, "Understanding the Table service data model" and its size formula).
    pub(crate) fn size(&self) -> usize {
        let length = match self {
            Self::String(text) => order::len(text),
            Self::Binary(bytes) => bytes.len(),
            _ => 0,
        };
        self.edm_type().size(length)
    }

    /// Says how the value is too long for a property; `None` if it is not.
    pub(crate) fn excess(&self) -> Option<Excess> {
        let (length, limit, unit) = match self {
            // UTF-8 never takes fewer bytes than UTF-16 takes units.
            Self::String(text) if text.len() <= MAX_STRING_UNITS => return None,
            Self::String(text) => (order::len(text), MAX_STRING_UNITS, "UTF-16 units"),
            Self::Binary(bytes) => (bytes.len(), MAX_BINARY_BYTES, "bytes"),
            _ => return None,
        };
        (length > limit).then_some(Excess { length, limit, unit })
    }

    /// Compares with a filter's value; `None` when the types differ or one is not a number.
    pub(crate) fn compare(&self, other: &Edm) -> Option<Ordering> {
        Some(match (self, other) {
            (Self::String(left), Edm::String(right)) => order::compare(left, right),
            (Self::Int32(left), Edm::Int32(right)) => left.cmp(right),
            (Self::Int64(left), Edm::Int64(right)) => left.cmp(right),
            (Self::Double(left), Edm::Double(right)) => left.partial_cmp(right)?,
            (Self::Boolean(left), Edm::Boolean(right)) => left.cmp(right),
            (Self::DateTime(left), Edm::DateTime(right)) => left.cmp(right),
            (Self::Guid(left), Edm::Guid(right)) => left.as_bytes().cmp(right.as_bytes()),
            (Self::Binary(left), Edm::Binary(right)) => left.cmp(right),
            _ => return None,
        })
    }

    /// Returns the value's type.
    pub(crate) const fn edm_type(&self) -> EdmType {
        match self {
            Self::String(_) => EdmType::String,
            Self::Int32(_) => EdmType::Int32,
            Self::Int64(_) => EdmType::Int64,
            Self::Double(_) => EdmType::Double,
            Self::Boolean(_) => EdmType::Boolean,
            Self::DateTime(_) => EdmType::DateTime,
            Self::Guid(_) => EdmType::Guid,
            Self::Binary(_) => EdmType::Binary,
        }
    }
}

/// Determines the type of a value without annotation by its JSON form.
fn plain_type(value: &str) -> EdmType {
    match value.as_bytes().first() {
        Some(b'"') => EdmType::String,
        Some(b't' | b'f') => EdmType::Boolean,
        _ if value.contains(['.', 'e', 'E']) => EdmType::Double,
        _ => EdmType::Int32,
    }
}

fn double(value: &str) -> Option<f64> {
    match value {
        "\"NaN\"" => Some(f64::NAN),
        "\"Infinity\"" => Some(f64::INFINITY),
        "\"-Infinity\"" => Some(f64::NEG_INFINITY),
        // `f64` reads no other words that JSON has, and strings start with a quote.
        _ => value.parse().ok().filter(|value: &f64| value.is_finite()),
    }
}

/// Reads a GUID in the hyphenated form, the only one that the service returns.
fn guid(text: &str) -> Option<Uuid> {
    if text.len() == 36 { Uuid::parse_str(text).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edm_type(value: &str, annotation: Option<&str>) -> Result<EdmType, ValueFault> {
        StoredValue::read(value, annotation).map(|property| property.edm_type())
    }

    #[test]
    fn the_type_comes_from_the_annotation_or_the_json_form() {
        for (value, annotation, expected) in [
            (r#""x""#, None, EdmType::String),
            (r#""x""#, Some(r#""Edm.String""#), EdmType::String),
            ("-5", None, EdmType::Int32),
            ("5", Some(r#""Edm.Double""#), EdmType::Double),
            ("5.0", None, EdmType::Double),
            ("1e5", None, EdmType::Double),
            (r#""-Infinity""#, Some(r#""Edm.Double""#), EdmType::Double),
            ("true", None, EdmType::Boolean),
            (r#""9223372036854775807""#, Some(r#""Edm.Int64""#), EdmType::Int64),
            (r#""2011-11-06T09:10:00Z""#, Some(r#""Edm.DateTime""#), EdmType::DateTime),
            (r#""0f8fad5b-d9cb-469f-a165-70867728950e""#, Some(r#""Edm.Guid""#), EdmType::Guid),
            (r#""AAE=""#, Some(r#""Edm.Binary""#), EdmType::Binary),
        ] {
            assert_eq!(edm_type(value, annotation), Ok(expected), "{value}");
        }
    }

    #[test]
    fn values_of_another_type_are_refused() {
        for (value, annotation, fault) in [
            ("[1]", None, ValueFault::Nested),
            ("{}", Some(r#""Edm.String""#), ValueFault::Nested),
            ("1", Some(r#""Edm.Byte""#), ValueFault::UnknownType),
            ("1", Some("1"), ValueFault::UnknownType),
            ("2147483648", None, ValueFault::NotA(EdmType::Int32)),
            ("5", Some(r#""Edm.Int64""#), ValueFault::NotA(EdmType::Int64)),
            (r#""9223372036854775808""#, Some(r#""Edm.Int64""#), ValueFault::NotA(EdmType::Int64)),
            (r#""5""#, Some(r#""Edm.Int32""#), ValueFault::NotA(EdmType::Int32)),
            (r#""1.5""#, Some(r#""Edm.Double""#), ValueFault::NotA(EdmType::Double)),
            ("1e999", None, ValueFault::NotA(EdmType::Double)),
            (r#""true""#, Some(r#""Edm.Boolean""#), ValueFault::NotA(EdmType::Boolean)),
            ("5", Some(r#""Edm.String""#), ValueFault::NotA(EdmType::String)),
            (r#""\ud800""#, None, ValueFault::NotA(EdmType::String)),
            (
                r#""0001-01-01T00:00:00Z""#,
                Some(r#""Edm.DateTime""#),
                ValueFault::NotA(EdmType::DateTime),
            ),
            (
                r#""0f8fad5bd9cb469fa16570867728950e""#,
                Some(r#""Edm.Guid""#),
                ValueFault::NotA(EdmType::Guid),
            ),
            (r#""AA""#, Some(r#""Edm.Binary""#), ValueFault::NotA(EdmType::Binary)),
        ] {
            assert_eq!(edm_type(value, annotation), Err(fault), "{value}");
        }
    }
}
