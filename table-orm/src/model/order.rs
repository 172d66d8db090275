//! The service's order of text: by UTF-16 code unit.
//!
//! Code-point order (Rust's `str`) agrees with it except that U+E000..=U+FFFF come after all
//! supplementary characters, whose first unit is a surrogate. In UTF-8, the former have the lead bytes
//! EE and EF, and the latter F0 to F4.

use std::cmp::Ordering;

/// Compares two keys in the service's order: by UTF-16 code unit.
#[must_use]
pub fn compare(left: &str, right: &str) -> Ordering {
    // Ranks disagree with bytes only where neither byte is ASCII.
    if left.is_ascii() || right.is_ascii() {
        return left.cmp(right);
    }
    let mut bytes = left.bytes().zip(right.bytes());
    match bytes.find(|(left, right)| left != right) {
        Some((left, right)) => rank(left).cmp(&rank(right)),
        None => left.len().cmp(&right.len()),
    }
}

/// What a byte of UTF-8 sorts by: EE and EF come after F0 to F4.
pub(crate) const fn rank(byte: u8) -> u8 {
    if matches!(byte, 0xEE | 0xEF) { byte + 0x10 } else { byte }
}

/// The length as the service counts it: in UTF-16 code units.
#[must_use]
pub fn len(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().map(char::len_utf16).sum() }
}

/// The smallest text above every text that starts with `prefix`, or `None` when no text is above
/// them all (an empty prefix, or U+FFFF throughout).
///
/// The text may have characters that keys cannot hold: it only bounds a range.
#[must_use]
pub fn successor(prefix: &str) -> Option<String> {
    let mut text = prefix.to_owned();
    while let Some(last) = text.pop() {
        if let Some(next) = next_char(last) {
            text.push(next);
            return Some(text);
        }
    }
    None
}

/// The next character in UTF-16 order.
fn next_char(c: char) -> Option<char> {
    match c {
        '\u{D7FF}' => Some('\u{10000}'),
        '\u{10FFFF}' => Some('\u{E000}'),
        '\u{FFFF}' => None,
        _ => char::from_u32(u32::from(c) + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn supplementary_characters_sort_below_the_private_use_area() {
        assert_eq!(compare("\u{1F3C3}", "\u{E000}"), Ordering::Less);
        assert_eq!(successor("a\u{10FFFF}").as_deref(), Some("a\u{E000}"));
        assert_eq!(successor("a\u{FFFF}").as_deref(), Some("b"));
        assert_eq!(successor("\u{FFFF}"), None);
        assert_eq!(successor(""), None);
    }

    proptest! {
        #[test]
        fn texts_sort_by_their_utf16_units(left in "[a\u{e9}\u{d7ff}-\u{e001}\u{fffe}-\u{10001}]{0,4}", right in "[a\u{e9}\u{d7ff}-\u{e001}\u{fffe}-\u{10001}]{0,4}") {
            prop_assert_eq!(compare(&left, &right), left.encode_utf16().cmp(right.encode_utf16()));
        }

        #[test]
        fn successor_splits_exactly_at_the_prefix(prefix in "\\PC{0,3}", other in "\\PC{0,5}") {
            if let Some(bound) = successor(&prefix) {
                let below = compare(&other, &bound) == Ordering::Less;
                let from = compare(&other, &prefix) != Ordering::Less;
                prop_assert_eq!(below && from, other.starts_with(&prefix));
                let longer = format!("{prefix}{other}");
                prop_assert_eq!(compare(&longer, &bound), Ordering::Less);
            }
        }
    }
}
