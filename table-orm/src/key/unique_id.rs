//! UUIDs and ULIDs.

use super::{
    Descending, KeyFault, KeyPart, KeyText, Plain, PrefixFree, Shape, Sorted, SortedLast, Width,
};
use uuid::Uuid;

/// Hyphenated, lower case.
impl KeyPart<Plain> for Uuid {
    const WIDTH: Width = Width::Fixed(36);
    const SHAPE: Shape = Shape::Pattern("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx");

    fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
        key.push_plain(self.hyphenated().encode_lower(&mut Self::encode_buffer()));
        Ok(())
    }

    fn decode(text: &str) -> Result<Self, KeyFault> {
        // The parser also takes other spellings; a stored key has this one.
        let canonical = text.len() == 36 && !text.bytes().any(|byte| byte.is_ascii_uppercase());
        Self::parse_str(text).ok().filter(|_| canonical).ok_or(KeyFault::Malformed)
    }
}

/// The text of the UUID with all bits inverted: of UUIDs of version 7, the newest first.
impl KeyPart<Descending> for Uuid {
    const WIDTH: Width = <Self as KeyPart<Plain>>::WIDTH;
    const SHAPE: Shape = <Self as KeyPart<Plain>>::SHAPE;
    const REVERSED: bool = true;

    fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
        <Self as KeyPart<Plain>>::encode(&Self::from_u128(!self.as_u128()), key)
    }

    fn decode(text: &str) -> Result<Self, KeyFault> {
        let inverted = <Self as KeyPart<Plain>>::decode(text)?;
        Ok(Self::from_u128(!inverted.as_u128()))
    }
}

impl SortedLast<Descending> for Uuid {}
impl Sorted<Descending> for Uuid {}
impl PrefixFree<Descending> for Uuid {}

/// 26 characters of Crockford's base 32.
#[cfg(feature = "ulid")]
impl KeyPart<Plain> for ulid::Ulid {
    const WIDTH: Width = Width::Fixed(26);
    const SHAPE: Shape = Shape::Pattern("7AAAAAAAAAAAAAAAAAAAAAAAAA");
    const GROWS: bool = true;

    fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
        key.push_plain(&self.to_string());
        Ok(())
    }

    fn decode(text: &str) -> Result<Self, KeyFault> {
        let value = Self::from_string(text).map_err(|_| KeyFault::Malformed)?;
        // Crockford's base 32 also reads lower case; a stored key has one spelling.
        if value.to_string() == text { Ok(value) } else { Err(KeyFault::Malformed) }
    }
}

/// The text of the ULID with all bits inverted: the newest first.
#[cfg(feature = "ulid")]
impl KeyPart<Descending> for ulid::Ulid {
    const WIDTH: Width = <Self as KeyPart<Plain>>::WIDTH;
    const SHAPE: Shape = <Self as KeyPart<Plain>>::SHAPE;
    const REVERSED: bool = true;
    const GROWS: bool = true;

    fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
        <Self as KeyPart<Plain>>::encode(&Self(!self.0), key)
    }

    fn decode(text: &str) -> Result<Self, KeyFault> {
        let inverted = <Self as KeyPart<Plain>>::decode(text)?;
        Ok(Self(!inverted.0))
    }
}

#[cfg(feature = "ulid")]
impl SortedLast<Descending> for ulid::Ulid {}
#[cfg(feature = "ulid")]
impl Sorted<Descending> for ulid::Ulid {}
#[cfg(feature = "ulid")]
impl PrefixFree<Descending> for ulid::Ulid {}
