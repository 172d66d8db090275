//! Keys as bytes that sort as the service sorts them.
//!
//! Invariant: byte order of encoded text is its UTF-16 order. Each byte of UTF-8 is stored as its
//! [rank](order::rank): EE and EF as FE and FF, all others as they are. A row's key is its encoded PartitionKey, a zero byte and its encoded RowKey. Stored keys have
//! no control characters, so the zero byte sorts below any longer PartitionKey and is the only one.

use crate::model::order;
use std::borrow::Cow;

/// The byte between PartitionKey and RowKey.
pub(crate) const SEPARATOR: u8 = 0;
/// A byte that sorts above every row of a partition and below every longer PartitionKey.
pub(crate) const PARTITION_END: u8 = 1;

/// Appends the encoded text.
pub(crate) fn encode_into(text: &str, bytes: &mut Vec<u8>) {
    if text.is_ascii() {
        bytes.extend_from_slice(text.as_bytes());
    } else {
        bytes.extend(text.bytes().map(order::rank));
    }
}

/// Encodes text.
pub(crate) fn encode(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    encode_into(text, &mut bytes);
    bytes
}

/// Decodes bytes; `None` when they are not encoded text.
pub(crate) fn decode(bytes: &[u8]) -> Option<Cow<'_, str>> {
    if bytes.is_ascii() {
        return str::from_utf8(bytes).ok().map(Cow::Borrowed);
    }
    if bytes.iter().any(|byte| matches!(byte, 0xEE | 0xEF)) {
        return None;
    }
    let bytes = bytes.iter().map(|&byte| if byte >= 0xFE { byte - 0x10 } else { byte }).collect();
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// Returns whether encoded text is what JSON has for it between its quotes.
pub(crate) fn is_json(bytes: &[u8]) -> bool {
    // Without an early exit, several bytes are looked at at a time.
    let is_plain = |byte: u8| byte.is_ascii() && byte >= b' ' && byte != b'"' && byte != b'\\';
    bytes.iter().fold(true, |all, byte| all & is_plain(*byte))
}

/// Builds the key of a row.
pub(crate) fn row(partition_key: &str, row_key: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(partition_key.len() + 1 + row_key.len());
    encode_into(partition_key, &mut bytes);
    bytes.push(SEPARATOR);
    encode_into(row_key, &mut bytes);
    bytes
}

/// Splits a row's key into the encoded PartitionKey and RowKey.
pub(crate) fn split(key: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(SEPARATOR, key)?;
    Some((&key[..at], &key[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Characters around every border of the two orders.
    fn text() -> impl Strategy<Value = String> {
        let border = proptest::sample::select(vec![
            ' ',
            'a',
            '~',
            '\u{80}',
            '\u{7FF}',
            '\u{800}',
            '\u{D7FF}',
            '\u{E000}',
            '\u{F8FF}',
            '\u{FFFD}',
            '\u{FFFF}',
            '\u{10000}',
            '\u{1F3C3}',
            '\u{10FFFF}',
        ]);
        proptest::collection::vec(prop_oneof![border, proptest::char::any()], 0..6)
            .prop_map(|chars| chars.into_iter().filter(|c| !c.is_control()).collect())
    }

    proptest! {
        #[test]
        fn byte_order_is_utf16_order(left in text(), right in text()) {
            prop_assert_eq!(encode(&left).cmp(&encode(&right)), order::compare(&left, &right));
        }

        #[test]
        fn row_keys_sort_by_partition_key_then_row_key(left in (text(), text()), right in (text(), text())) {
            let expected = order::compare(&left.0, &right.0).then(order::compare(&left.1, &right.1));
            prop_assert_eq!(row(&left.0, &left.1).cmp(&row(&right.0, &right.1)), expected);
        }

        #[test]
        fn decoding_gives_the_text_back(partition_key in text(), row_key in text()) {
            let key = row(&partition_key, &row_key);
            let (left, right) = split(&key).unwrap();
            prop_assert_eq!(decode(left).unwrap(), partition_key);
            prop_assert_eq!(decode(right).unwrap(), row_key);
        }
    }

    #[test]
    fn only_text_without_escapes_is_its_own_json() {
        for (text, expected) in
            [("", true), ("a b~", true), ("\"", false), ("\\", false), ("é", false)]
        {
            assert_eq!(is_json(&encode(text)), expected, "{text}");
        }
    }

    #[test]
    fn bytes_that_are_not_encoded_text_are_refused() {
        for bytes in [&[0xEE, 0x80, 0x80][..], &[0xFF], &[0xC0], &[b'a', 0x80]] {
            assert_eq!(decode(bytes), None);
        }
    }
}
