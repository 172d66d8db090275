//! What generated code needs besides the public API. Not for use by hand.

pub use serde::Deserializer;
pub use serde::de::MapAccess;

use crate::key::KeyFault;
use serde::Deserialize;
use serde::de::{Error, Unexpected};
use std::borrow::Cow;

/// Reads an enum's code from a string property.
///
/// # Errors
/// When no variant has that code.
pub fn read_code<'de, T, D: Deserializer<'de>>(
    value: D,
    decode: impl FnOnce(&str) -> Result<T, KeyFault>,
) -> Result<T, D::Error> {
    let code = Cow::<str>::deserialize(value)?;
    decode(&code).map_err(|_| {
        D::Error::invalid_value(Unexpected::Str(&code), &"one of the codes of this enum")
    })
}
