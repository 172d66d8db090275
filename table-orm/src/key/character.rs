//! Single characters in keys.

use super::{KeyFault, KeyPart, KeyText, Plain, PrefixFree, Shape, SortedLast, Width};

/// One character; sorted by UTF-16 code unit as the last component.
impl KeyPart<Plain> for char {
    const WIDTH: Width = Width::UpTo(2);
    const SHAPE: Shape = Shape::Char;
    // The first unit shows whether a second one follows.
    const PREFIX_FREE: bool = true;

    fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
        key.push_text(self.encode_utf8(&mut [0; 4]))
    }

    fn decode(text: &str) -> Result<Self, KeyFault> {
        text.parse().map_err(|_| KeyFault::Malformed)
    }
}

// Not `Sorted`: an escaped character does not sort where the character does.
impl SortedLast<Plain> for char {}
impl PrefixFree<Plain> for char {}
