//! Truth values in keys.

use super::{KeyFault, KeyPart, KeyText, Plain, PrefixFree, Shape, Sorted, SortedLast, Width};

/// `false` before `true`.
impl KeyPart<Plain> for bool {
    const WIDTH: Width = Width::UpTo(5);
    const SHAPE: Shape = Shape::OneOf(&["false", "true"]);
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
impl PrefixFree<Plain> for bool {}
