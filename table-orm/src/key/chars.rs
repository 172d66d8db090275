//! The characters and the length the service allows in a key.

/// The most UTF-16 units of a PartitionKey or RowKey: 1 KiB (service documentation,
/// "Understanding the Table service data model").
pub const MAX_KEY_UNITS: usize = 512;

/// Whether the service refuses keys that hold `c`: `/`, `\`, `#`, `?` and control characters.
#[must_use]
pub const fn is_forbidden(c: char) -> bool {
    matches!(c, '/' | '\\' | '#' | '?' | '\0'..='\u{1F}' | '\u{7F}'..='\u{9F}')
}
