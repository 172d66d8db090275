//! Text in a URL.

use std::fmt::Write as _;

/// Percent-encodes the UTF-8 bytes of `text`, all but letters, digits and `-_.~`.
pub(crate) fn percent_encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    push(&mut out, text);
    out
}

/// Appends `text` percent-encoded.
pub(crate) fn push(out: &mut String, text: &str) {
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    if text.bytes().all(plain) {
        return out.push_str(text);
    }
    for byte in text.bytes() {
        if plain(byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a `String` cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

/// Appends a quoted literal, percent-encoded but for its quotes: `'O%27%27Brien'`.
pub(crate) fn push_quoted(out: &mut String, text: &str) {
    out.push('\'');
    for (index, part) in text.split('\'').enumerate() {
        if index > 0 {
            out.push_str("%27%27");
        }
        push(out, part);
    }
    out.push('\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_doubled_and_everything_else_is_percent_encoded() {
        let quoted = |text: &str| {
            let mut out = String::new();
            push_quoted(&mut out, text);
            out
        };
        assert_eq!(quoted("O'Brien"), "'O%27%27Brien'");
        assert_eq!(quoted("a b%+&=,()"), "'a%20b%25%2B%26%3D%2C%28%29'");
        assert_eq!(quoted("é\u{1F3C3}"), "'%C3%A9%F0%9F%8F%83'");
        assert_eq!(quoted(".."), "'..'");
        assert_eq!(quoted(""), "''");
    }
}
