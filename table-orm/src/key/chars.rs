//! The characters and the length the service allows in a key.

/// The most UTF-16 units of a PartitionKey or RowKey: 1 KiB (service documentation,
/// "Understanding the Table service data model").
pub const MAX_KEY_UNITS: usize = 512;

/// Whether the service refuses keys that hold `c`: `/`, `\`, `#`, `?` and control characters.
#[must_use]
pub const fn is_forbidden(c: char) -> bool {
    matches!(c, '/' | '\\' | '#' | '?' | '\0'..='\u{1F}' | '\u{7F}'..='\u{9F}')
}

/// Whether the text is ASCII without such characters, as most is: one pass over the bytes.
#[must_use]
pub(crate) fn is_plain(text: &str) -> bool {
    let plain = |byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'/' | b'\\' | b'#' | b'?');
    text.bytes().all(plain)
}
