//! The characters and the length that the service allows in a key.

use super::KeyFault;
use crate::model::{MAX_KEY_UNITS, order};

/// Whether the service forbids `c` in keys: `/`, `\`, `#`, `?` and control characters (service
/// documentation, "Understanding the Table service data model").
#[must_use]
pub const fn is_forbidden(c: char) -> bool {
    matches!(c, '/' | '\\' | '#' | '?' | '\0'..='\u{1F}' | '\u{7F}'..='\u{9F}')
}

/// The first forbidden character of the text.
#[must_use]
pub(crate) fn forbidden_in(text: &str) -> Option<char> {
    // Most text is ASCII, which takes one pass over the bytes.
    let plain = |byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'/' | b'\\' | b'#' | b'?');
    if text.bytes().all(plain) { None } else { text.chars().find(|&c| is_forbidden(c)) }
}

/// Checks the length of a key.
pub(super) fn check_length(key: &str) -> Result<(), KeyFault> {
    // UTF-8 never takes fewer bytes than UTF-16 takes units.
    let units = if key.len() > MAX_KEY_UNITS { order::len(key) } else { 0 };
    if units > MAX_KEY_UNITS { Err(KeyFault::TooLong(units)) } else { Ok(()) }
}

/// Checks the characters and the length of a key.
#[cfg(any(feature = "azure", feature = "embedded"))]
pub(crate) fn check_key(key: &str) -> Result<(), KeyFault> {
    match forbidden_in(key) {
        Some(c) => Err(KeyFault::Forbidden(c)),
        None => check_length(key),
    }
}

/// Text without its escapes: `~` and two hexadecimal digits for each byte.
pub(super) fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'~' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            let value = digit()? * 16 + digit()?;
            bytes.push(u8::try_from(value).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
