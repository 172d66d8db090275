//! Names that a property can have.

use crate::model::{MAX_NAME_CHARS, order};

/// Returns whether a property can have that name: the rules of a C# identifier, at most 255 UTF-16 units
/// (service documentation, "Understanding the Table service data model").
#[must_use]
pub fn is_property_name(name: &str) -> bool {
    if name.len() <= MAX_NAME_CHARS && name.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return !name.is_empty();
    }
    let mut chars = name.chars();
    chars.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && chars.all(|c| c.is_alphanumeric() || c == '_')
        && order::len(name) <= MAX_NAME_CHARS
}
