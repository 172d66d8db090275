//! Text in keys.

use super::{KeyFault, KeyPart, KeyText, Lower, Plain, Shape, SortedLast, TextPart, Width};
use std::borrow::Cow;

macro_rules! text {
    ($([$($generics:tt)*] $type:ty),*) => {$(
        impl<$($generics)*> KeyPart<Plain> for $type {
            const WIDTH: Width = Width::Unbounded;
            const SHAPE: Shape = Shape::Text;

            fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
                key.push_text(self)
            }

            fn decode(text: &str) -> Result<Self, KeyFault> {
                Ok(Self::from(text.to_owned()))
            }
        }

        impl<$($generics)*> SortedLast<Plain> for $type {}

        #[diagnostic::do_not_recommend]
        impl<$($generics)*> TextPart<Plain> for $type {
            fn prefix(prefix: &str) -> String {
                prefix.to_owned()
            }
        }

        impl<$($generics)*> KeyPart<Lower> for $type {
            const WIDTH: Width = Width::Unbounded;
            const SHAPE: Shape = Shape::Text;

            fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
                key.push_text(&lower_case(self))
            }

            fn decode(text: &str) -> Result<Self, KeyFault> {
                Ok(Self::from(text.to_owned()))
            }
        }

        impl<$($generics)*> SortedLast<Lower> for $type {}

        #[diagnostic::do_not_recommend]
        impl<$($generics)*> TextPart<Lower> for $type {
            fn prefix(prefix: &str) -> String {
                lower_case(prefix)
            }
        }
    )*};
}

/// Lower case, character by character. `str::to_lowercase` writes a sigma at the end of a word
/// differently, so that a prefix would miss longer text.
pub(super) fn lower_case(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

text!([] String, ['a] Cow<'a, str>, [] Box<str>);
