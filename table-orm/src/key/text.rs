//! Text in keys.

use super::{KeyFault, KeyPart, KeyText, Lower, Plain, SortedLast, TextPart, Width};
use std::borrow::Cow;

macro_rules! text {
    ($([$($generics:tt)*] $type:ty),*) => {$(
        impl<$($generics)*> KeyPart<Plain> for $type {
            const WIDTH: Width = Width::Unbounded;

            fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
                key.push_text(self)
            }

            fn decode(text: &str) -> Result<Self, KeyFault> {
                Ok(Self::from(text.to_owned()))
            }
        }

        impl<$($generics)*> SortedLast<Plain> for $type {}

        impl<$($generics)*> TextPart<Plain> for $type {
            fn prefix(prefix: &str) -> String {
                prefix.to_owned()
            }
        }

        impl<$($generics)*> KeyPart<Lower> for $type {
            const WIDTH: Width = Width::Unbounded;

            fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
                key.push_text(&self.to_lowercase())
            }

            fn decode(text: &str) -> Result<Self, KeyFault> {
                Ok(Self::from(text.to_owned()))
            }
        }

        impl<$($generics)*> SortedLast<Lower> for $type {}

        impl<$($generics)*> TextPart<Lower> for $type {
            fn prefix(prefix: &str) -> String {
                prefix.to_lowercase()
            }
        }
    )*};
}

text!([] String, ['a] Cow<'a, str>, [] Box<str>);
