//! One property of a request: the form that the client sent, in the form that a store takes.
//!
//! The service reads values of a declared type from JSON strings, too: `"23"` as an `Edm.Int32`.

use crate::error::ServiceError;
use serde_json::Value;
use std::borrow::Cow;
use table_orm::azure::protocol::instant;
use table_orm::model::{DateTime, EdmType};
use uuid::Uuid;

/// No number needs a longer text: a double in full, with its sign, point and exponent, has 24 characters.
const LONGEST_NUMBER: usize = 32;

/// The JSON text of a property's value, and whether its type is stored because JSON does not show it.
pub(super) struct StoredProperty<'a> {
    pub(super) value: Cow<'a, str>,
    pub(super) is_annotated: bool,
}

/// Reads a value, of the declared type if there is one. `None` for a null.
pub(super) fn read<'a>(
    name: &str,
    value: &'a str,
    declared: Option<&str>,
) -> Result<Option<StoredProperty<'a>>, ServiceError> {
    if value == "null" {
        return Ok(None);
    }
    if value.starts_with(['{', '[']) {
        let message = format!("The property `{name}` is an array or an object.");
        return Err(ServiceError::invalid(message));
    }
    let Some(declared) = declared else {
        return Ok(Some(StoredProperty { value: short(value), is_annotated: false }));
    };
    let edm =
        quoted(declared).and_then(|declared| EdmType::from_name(&declared)).ok_or_else(|| {
            ServiceError::invalid(format!("The type of the property `{name}` is not supported."))
        })?;
    converted(value, edm).map(Some).ok_or_else(|| {
        ServiceError::invalid(format!(
            "The value of the property `{name}` is not of the type {edm}."
        ))
    })
}

/// Returns the value in the form of its type.
fn converted(value: &str, edm: EdmType) -> Option<StoredProperty<'_>> {
    let unchanged = Cow::Borrowed(value);
    let (value, shown) = match edm {
        EdmType::String => (value.starts_with('"').then_some(unchanged)?, true),
        EdmType::Int32 => match quoted(value) {
            Some(text) => (Cow::Owned(text.trim().parse::<i32>().ok()?.to_string()), true),
            None => (short(value), true),
        },
        EdmType::Boolean => match quoted(value) {
            Some(text) => (Cow::Owned(boolean(&text)?.to_string()), true),
            None => (short(value), true),
        },
        EdmType::Double => match quoted(value) {
            Some(text) if !is_special(&text) => {
                let number: f64 =
                    text.trim().parse().ok().filter(|number: &f64| number.is_finite())?;
                (Cow::Owned(Value::from(number).to_string()), false)
            }
            _ => (short(value), false),
        },
        EdmType::Int64 => match quoted(value) {
            Some(text) => {
                let number = text.trim().parse::<i64>().ok()?;
                let is_sent = matches!(text, Cow::Borrowed(text) if is_plain(text));
                (if is_sent { unchanged } else { format!("\"{number}\"").into() }, false)
            }
            None => (short(value), false),
        },
        EdmType::DateTime => {
            let text = quoted(value)?;
            let is_sent = matches!(text, Cow::Borrowed(text) if text.parse::<DateTime>().is_ok());
            let instant = || Some(["\"", &instant::parse(&text)?.to_string(), "\""].concat());
            (if is_sent { unchanged } else { instant()?.into() }, false)
        }
        EdmType::Guid => {
            let guid = format!("\"{}\"", Uuid::parse_str(&quoted(value)?).ok()?);
            (if guid == value { unchanged } else { guid.into() }, false)
        }
        _ => (unchanged, false),
    };
    Some(StoredProperty { value, is_annotated: !shown })
}

/// A double of many digits in few: it takes 8 bytes of an entity, whatever its text.
fn short(value: &str) -> Cow<'_, str> {
    let is_double = || !value.starts_with('"') && value.contains(['.', 'e', 'E']);
    let is_long = value.len() > LONGEST_NUMBER && is_double();
    let number = is_long.then(|| value.parse::<f64>().ok().filter(|number| number.is_finite()));
    number.flatten().map_or(Cow::Borrowed(value), |number| Value::from(number).to_string().into())
}

/// Whether the text of an integer is the shortest.
fn is_plain(integer: &str) -> bool {
    match integer.strip_prefix('-').unwrap_or(integer).as_bytes() {
        [b'0'] => !integer.starts_with('-'),
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// Returns the text of a JSON string.
pub(super) fn quoted(value: &str) -> Option<Cow<'_, str>> {
    match value.strip_prefix('"')?.strip_suffix('"')? {
        inner if inner.contains('\\') => serde_json::from_str(value).ok().map(Cow::Owned),
        inner => Some(Cow::Borrowed(inner)),
    }
}

fn is_special(text: &str) -> bool {
    matches!(text, "NaN" | "Infinity" | "-Infinity")
}

fn boolean(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "1" => Some(true),
        "false" | "False" | "0" => Some(false),
        _ => None,
    }
}
