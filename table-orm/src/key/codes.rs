//! Small closed sets in keys: truth values and single characters.

use super::{KeyFault, KeyPart, KeyText, Plain, Sorted, SortedLast, Width};

/// `false` before `true`.
impl KeyPart<Plain> for bool {
    const WIDTH: Width = Width::UpTo(5);
    const PREFIX_FREE: bool = true;

    fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
        key.push_plain(if *self { "true" } else { "false" });
        Ok(())
    }

    fn decode(text: &str) -> Result<Self, KeyFault> {
        text.parse().map_err(|_| KeyFault::Malformed)
    }
}

impl SortedLast<Plain> for bool {}
impl Sorted<Plain> for bool {}

/// One character; sorted by UTF-16 code unit as the last component.
impl KeyPart<Plain> for char {
    const WIDTH: Width = Width::UpTo(2);
    // The first unit tells whether a second one follows.
    const PREFIX_FREE: bool = true;

    fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
        key.push_text(self.encode_utf8(&mut [0; 4]))
    }

    fn decode(text: &str) -> Result<Self, KeyFault> {
        text.parse().map_err(|_| KeyFault::Malformed)
    }
}

// Not `Sorted`: where the entity escapes, an escaped character does not stand in its place.
impl SortedLast<Plain> for char {}
