//! The characters and the length that the service allows in a key.

use super::KeyFault;
use crate::model::{MAX_KEY_UNITS, order};

/// Returns whether the service forbids `c` in keys: `/`, `\`, `#`, `?` and control characters (service
/// documentation, "Understanding the Table service data model").
#[must_use]
pub const fn is_forbidden(c: char) -> bool {
    matches!(c, '/' | '\\' | '#' | '?' | '\0'..='\u{1F}' | '\u{7F}'..='\u{9F}')
}

/// The first forbidden character of the text.
#[must_use]
pub(crate) fn forbidden_in(text: &str) -> Option<char> {
    // One look at each byte; most text has no byte that a forbidden character starts with.
    if text.bytes().any(|byte| STARTS_FORBIDDEN[usize::from(byte)]) {
        text.chars().find(|&c| is_forbidden(c))
    } else {
        None
    }
}

/// The bytes that forbidden characters start with in UTF-8. Others start with 0xC2, too.
const STARTS_FORBIDDEN: [bool; 256] = {
    let mut starts = [false; 256];
    let mut byte = 0_u8;
    while byte < 0x80 {
        starts[byte as usize] = is_forbidden(byte as char);
        byte += 1;
    }
    starts[0xC2] = true;
    starts
};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forbidden_character_is_found_wherever_it_is() {
        for c in '\0'..=char::MAX {
            assert_eq!(forbidden_in(&format!("ü{c}ÿ")), is_forbidden(c).then_some(c), "{c:?}");
        }
        assert_eq!(forbidden_in("a\u{A0}\u{BF}/?"), Some('/'));
        assert_eq!(forbidden_in(""), None);
    }
}
