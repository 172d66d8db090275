//! Text in a URL.

use super::sink::Sink;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// All bytes but those of ASCII letters, digits and `-_.~` (RFC 3986, section 2.3).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Percent-encodes the UTF-8 bytes of `text`, all but ASCII letters, digits and `-_.~`.
#[must_use]
pub fn percent_encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    push(&mut encoded, text);
    encoded
}

/// Appends `text` percent-encoded.
pub(crate) fn push(out: &mut impl Sink, text: &str) {
    utf8_percent_encode(text, ESCAPED).for_each(|piece| out.put(piece));
}

/// Appends a quoted literal, percent-encoded but for its quotes: `'O%27%27Brien'`.
pub(crate) fn push_quoted(out: &mut impl Sink, text: &str) {
    out.put("'");
    for (index, part) in text.split('\'').enumerate() {
        if index > 0 {
            out.put("%27%27");
        }
        push(out, part);
    }
    out.put("'");
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

    #[test]
    fn only_unreserved_bytes_are_sent_as_they_are() {
        let sent = b"-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~";
        for byte in 0..=0x7F {
            let text = char::from(byte).to_string();
            let expected = if sent.contains(&byte) { text.clone() } else { format!("%{byte:02X}") };
            assert_eq!(percent_encode(&text), expected);
        }
    }
}
