//! What the text of a component determines: so that a key is written from the texts of another key, without an entity.
//!
//! Invariant: for each value of a field, [`TemplatePart::value`] of the text that its type writes is one text,
//! whichever component determines it, and [`TemplatePart::append`] writes from it what the type writes.

use super::chars::unescape;
use super::coding::{Coding, Encodes};
use super::shape::{Shape, fits};
use super::text::lower_case;
use super::{
    Descending, Escape, KeyError, KeyFault, KeyPart, KeyText, Plain, Shard, Sharded, Spread,
    TemplatePart,
};
use crate::model::DateTime;
use std::borrow::Cow;
use time::Date;

const INSTANT: &str = "0000-00-00T00:00:00.0000000Z";
const DATE: &str = "0000-00-00";

/// The texts of a value, whichever component determines it.
#[derive(Clone, Copy)]
enum Texts {
    /// Digits without leading zeros.
    Number,
    /// Those of a shape.
    Shaped(Shape),
}

impl TemplatePart {
    /// A component that writes the field in the way of that encoder.
    #[must_use]
    pub const fn coded<T: KeyPart<X>, X: Encodes>(
        name: &'static str,
        field: &'static str,
        separator: &'static str,
    ) -> Self {
        let coding = match (X::REVERSES, X::DIGITS, X::LOWERS) {
            (true, true, _) => Coding::ReversedDigits,
            (true, ..) => Coding::Reversed,
            (_, _, true) => Coding::Lower,
            _ => Coding::Value,
        };
        Self { field, coding, ..Self::new(name, T::SHAPE, separator) }
    }

    /// A component that writes one of `N` shards.
    #[must_use]
    pub const fn sharded<T: Sharded, const N: u32>(
        name: &'static str,
        field: &'static str,
        separator: &'static str,
    ) -> Self {
        let coding = Coding::Shard(N, T::PADDED, |value| {
            let mut text = KeyText::new("", Escape::Encode);
            Shard::<N>::of(&T::read_value(value).ok()?).encode(&mut text).ok()?;
            text.finish().ok()
        });
        let shape = <Shard<N> as KeyPart>::SHAPE;
        Self { field, coding, ..Self::new(name, shape, separator) }
    }

    /// A component that spreads instants over partitions.
    #[must_use]
    pub const fn spread(name: &'static str, field: &'static str, separator: &'static str) -> Self {
        let shape = <Spread as KeyPart>::SHAPE;
        Self { field, coding: Coding::Spread, ..Self::new(name, shape, separator) }
    }

    /// A component that a function of the app writes.
    #[must_use]
    pub const fn computed(name: &'static str, separator: &'static str) -> Self {
        let shape = <String as KeyPart>::SHAPE;
        Self { field: "", coding: Coding::Computed, ..Self::new(name, shape, separator) }
    }

    /// The texts of the values that it determines; `None` where its text does not determine the value.
    const fn texts(&self) -> Option<Texts> {
        Some(match (self.coding, self.shape) {
            (Coding::Reversed, Shape::Digits(19)) => Texts::Shaped(Shape::Pattern(INSTANT)),
            (Coding::Reversed, Shape::Digits(7)) => Texts::Shaped(Shape::Pattern(DATE)),
            (
                Coding::Value | Coding::Reversed | Coding::ReversedDigits,
                Shape::Digits(_) | Shape::Number(_),
            ) => Texts::Number,
            (Coding::Value, shape) | (Coding::Reversed, shape @ Shape::Pattern(_)) => {
                Texts::Shaped(shape)
            }
            _ => return None,
        })
    }

    /// Whether the text of `other` determines the text of this component.
    pub(crate) const fn is_determined_by(&self, other: &Self) -> bool {
        let Some(texts) = other.texts() else { return false };
        if self.field.is_empty() || !same(self.field, other.field) {
            return false;
        }
        match (self.coding, texts) {
            (Coding::Computed, _) => false,
            (Coding::Shard(..), _) => true,
            (Coding::Spread, Texts::Shaped(Shape::Pattern(pattern))) => same(pattern, INSTANT),
            (Coding::Lower, Texts::Shaped(shape)) => same_shape(self.shape, shape),
            (Coding::Lower | Coding::Spread, _) => false,
            _ => match (self.texts(), texts) {
                (Some(Texts::Number), Texts::Number) => true,
                (Some(Texts::Shaped(own)), Texts::Shaped(other)) => same_shape(own, other),
                _ => false,
            },
        }
    }

    /// Whether it writes the same text of each value as another component.
    pub(crate) const fn is_like(&self, other: &Self) -> bool {
        let same_coding = match (self.coding, other.coding) {
            (Coding::Shard(count, padded, _), Coding::Shard(others, other_padded, _)) => {
                count == others && padded == other_padded
            }
            (Coding::Value, Coding::Value)
            | (Coding::Reversed, Coding::Reversed)
            | (Coding::ReversedDigits, Coding::ReversedDigits)
            | (Coding::Lower, Coding::Lower)
            | (Coding::Spread, Coding::Spread) => true,
            _ => false,
        };
        same_coding
            && !self.field.is_empty()
            && same(self.field, other.field)
            && same(self.separator, other.separator)
            && same_shape(self.shape, other.shape)
    }

    /// The same, and for functions of the app: whether they have one name.
    pub(crate) const fn may_be_like(&self, other: &Self) -> bool {
        let both_computed =
            matches!((self.coding, other.coding), (Coding::Computed, Coding::Computed));
        self.is_like(other)
            || both_computed && same(self.name, other.name) && same(self.separator, other.separator)
    }

    /// The number of shards that it writes.
    pub(crate) const fn shards(&self) -> Option<u32> {
        match self.coding {
            Coding::Shard(count, ..) => Some(count),
            _ => None,
        }
    }

    /// Whether both write a shard, of the same hash of one field.
    pub(crate) const fn hashes_like(&self, other: &Self) -> bool {
        match (self.coding, other.coding) {
            (Coding::Shard(_, padded, _), Coding::Shard(_, other_padded, _)) => {
                padded == other_padded && same(self.field, other.field)
            }
            _ => false,
        }
    }

    /// Whether it is the value itself, neither reversed nor otherwise computed.
    pub(crate) const fn is_value(&self) -> bool {
        matches!(self.coding, Coding::Value)
    }

    /// Whether it only spreads values over partitions.
    pub(crate) const fn is_shard(&self) -> bool {
        matches!(self.coding, Coding::Shard(..) | Coding::Spread)
    }

    /// The value that its text in a key determines: without escapes, and digits without leading zeros.
    pub(crate) fn value<'t>(&self, text: &'t str, escape: Escape) -> Option<Cow<'t, str>> {
        Some(match (self.coding, self.texts()?) {
            (Coding::Value, Texts::Number) => digits(text).into(),
            (Coding::Value, Texts::Shaped(Shape::Text | Shape::Char | Shape::Own(..))) => {
                match escape {
                    Escape::Encode if text.contains('~') => unescape(text)?.into(),
                    _ => text.into(),
                }
            }
            (Coding::Value, _) => text.into(),
            (_, Texts::Number) => digits(&self.turned(text)?).to_owned().into(),
            (_, Texts::Shaped(_)) => self.turned(text)?.into(),
        })
    }

    /// Appends the text for a value, and the literal after it.
    pub(crate) fn append(&self, value: &str, key: &mut KeyText) -> Result<(), KeyError> {
        let until = if self.shape.fixed().is_some() { "" } else { self.separator };
        key.component(self.name, until, |key| self.write(value, key))?;
        key.literal(self.separator);
        Ok(())
    }

    fn write(&self, value: &str, key: &mut KeyText) -> Result<(), KeyFault> {
        let malformed = KeyFault::Malformed;
        match (self.coding, self.shape) {
            (Coding::Value, Shape::Digits(width)) if value.len() <= width => {
                key.push_plain(&format!("{value:0>width$}"));
            }
            (Coding::Value, Shape::Number(width)) if value.len() <= width => key.push_plain(value),
            (Coding::Value, Shape::Pattern(_) | Shape::OneOf(_)) => key.push_plain(value),
            (Coding::Value, Shape::Text | Shape::Char | Shape::Own(..)) => key.push_text(value)?,
            (Coding::Reversed | Coding::ReversedDigits, _) => {
                key.push_plain(&self.turned(value).ok_or(malformed)?);
            }
            (Coding::Lower, _) => key.push_text(&lower_case(value))?,
            (Coding::Shard(_, _, shard), _) => key.push_plain(&shard(value).ok_or(malformed)?),
            (Coding::Spread, _) => {
                let instant: DateTime = value.parse().map_err(|_| malformed)?;
                KeyPart::<Plain>::encode(&Spread::of(&instant), key)?;
            }
            (Coding::Value | Coding::Computed, _) => return Err(malformed),
        }
        Ok(())
    }

    /// The value for the text of a component that turns its order around, and the text for a value.
    fn turned(&self, text: &str) -> Option<String> {
        match (self.coding, self.shape) {
            (Coding::ReversedDigits, Shape::Digits(width)) => {
                let largest = 10_u64.checked_pow(u32::try_from(width).ok()?);
                subtracted(text, largest.map_or(u64::MAX, |next| next - 1), width)
            }
            (Coding::Reversed, Shape::Digits(19)) => turned::<DateTime>(text),
            (Coding::Reversed, Shape::Digits(7)) => turned::<Date>(text),
            (Coding::Reversed, Shape::Digits(width)) => {
                let largest = match width {
                    3 => u8::MAX.into(),
                    5 => u16::MAX.into(),
                    10 => u32::MAX.into(),
                    _ => u64::MAX,
                };
                subtracted(text, largest, width)
            }
            (Coding::Reversed, Shape::Pattern(pattern)) => inverted(text, pattern),
            _ => None,
        }
    }
}

/// Digits without leading zeros.
fn digits(text: &str) -> &str {
    match text.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    }
}

/// A number subtracted from the largest, in all digits.
fn subtracted(text: &str, largest: u64, width: usize) -> Option<String> {
    let number = largest.checked_sub(text.parse().ok()?)?;
    Some(format!("{number:0width$}"))
}

/// The plain text for the reversed one, or the reversed one for the plain text.
fn turned<T: KeyPart<Plain> + KeyPart<Descending>>(text: &str) -> Option<String> {
    let mut turned = KeyText::new("", Escape::Reject);
    if text.contains('-') {
        let value = <T as KeyPart<Plain>>::decode(text).ok()?;
        KeyPart::<Descending>::encode(&value, &mut turned).ok()?;
    } else {
        let value = <T as KeyPart<Descending>>::decode(text).ok()?;
        KeyPart::<Plain>::encode(&value, &mut turned).ok()?;
    }
    turned.finish().ok()
}

/// All bits inverted, of hexadecimal digits or Crockford's base 32.
fn inverted(text: &str, pattern: &str) -> Option<String> {
    const BASE_32: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    const HEX: &[u8; 16] = b"0123456789abcdef";
    if text.len() != pattern.len() {
        return None;
    }
    let turn = |(symbol, byte): (u8, u8)| {
        let alphabet: &[u8] = match symbol {
            _ if !fits(symbol, byte) => return None,
            b'x' => HEX,
            b'A' => BASE_32,
            b'7' => &HEX[..8],
            b'0' => return None,
            _ => return Some(char::from(byte)),
        };
        let at = alphabet.iter().position(|other| *other == byte)?;
        Some(char::from(alphabet[alphabet.len() - 1 - at]))
    };
    pattern.bytes().zip(text.bytes()).map(turn).collect()
}

/// Whether two texts are the same, as a constant.
pub(crate) const fn same(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let mut at = 0;
    while at < left.len() && at < right.len() && left[at] == right[at] {
        at += 1;
    }
    at == left.len() && at == right.len()
}

const fn same_shape(left: Shape, right: Shape) -> bool {
    match (left, right) {
        (Shape::Digits(left), Shape::Digits(right))
        | (Shape::Number(left), Shape::Number(right)) => left == right,
        (Shape::Pattern(left), Shape::Pattern(right)) => same(left, right),
        (Shape::OneOf(left), Shape::OneOf(right)) => {
            let mut at = 0;
            while at < left.len() && at < right.len() && same(left[at], right[at]) {
                at += 1;
            }
            at == left.len() && at == right.len()
        }
        // Only the type knows its texts. The conversion is compared as entities are read and written.
        (Shape::Own(..), Shape::Own(..)) => true,
        (Shape::Char, Shape::Char) | (Shape::Text, Shape::Text) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{Ascending, Biased, DescendingPadded, Lower, Padded};
    use proptest::prelude::*;
    use uuid::Uuid;

    fn text<X, T: KeyPart<X>>(value: &T, separator: &'static str) -> String {
        let mut key = KeyText::new("Test", Escape::Encode);
        key.part("x", value, separator).unwrap();
        key.as_str().to_owned()
    }

    /// The texts of one value by two encoders.
    #[track_caller]
    fn determine_each_other<X: Encodes, Y: Encodes, T: KeyPart<X> + KeyPart<Y>>(value: &T) {
        let one = TemplatePart::coded::<T, X>("x", "f", "__");
        let other = TemplatePart::coded::<T, Y>("y", "f", "");
        assert!(other.is_determined_by(&one) && one.is_determined_by(&other));
        let (stored, expected) = (text::<X, T>(value, "__"), text::<Y, T>(value, ""));
        let text = one.value(&stored, Escape::Encode).unwrap();
        let mut key = KeyText::new("Test", Escape::Encode);
        other.append(&text, &mut key).unwrap();
        assert_eq!(key.as_str(), expected);
        // Back.
        let text = other.value(&expected, Escape::Encode).unwrap();
        let mut key = KeyText::new("Test", Escape::Encode);
        one.append(&text, &mut key).unwrap();
        assert_eq!(key.as_str(), stored + "__");
    }

    proptest! {
        #[test]
        fn each_encoder_of_an_integer_determines_each_other(small: u8, value: u32, large: u64, signed: i32) {
            determine_each_other::<Plain, Descending, u8>(&small);
            determine_each_other::<Padded<10>, Descending, u32>(&value);
            determine_each_other::<Ascending, DescendingPadded<12>, u32>(&value);
            determine_each_other::<Plain, Padded<19>, u64>(&(large / 100));
            determine_each_other::<Descending, Ascending, u64>(&large);
            determine_each_other::<DescendingPadded<20>, Plain, u64>(&large);
            determine_each_other::<Biased, Descending, i32>(&signed);
            determine_each_other::<Ascending, Descending, i64>(&large.cast_signed());
        }

        #[test]
        fn each_encoder_of_a_time_or_an_identifier_determines_each_other(ticks in 0..3_155_378_975_999_999_999_i64, id: u128) {
            let at = DateTime::from_ticks(ticks);
            if let Ok(at) = at {
                determine_each_other::<Plain, Descending, DateTime>(&at);
                let date = time::OffsetDateTime::from(at).date();
                if date.year() >= 1601 {
                    determine_each_other::<Descending, Plain, Date>(&date);
                }
            }
            determine_each_other::<Plain, Descending, Uuid>(&Uuid::from_u128(id));
            #[cfg(feature = "ulid")]
            determine_each_other::<Descending, Plain, ulid::Ulid>(&ulid::Ulid(id));
        }

        #[test]
        fn a_value_determines_its_shard_and_its_lower_case(word in "[a-zA-Z_~/ß]{0,8}", signed: i16, id: u128) {
            fn shard<T: Sharded>(field: &TemplatePart, stored: &str, value: &T) {
                let shard = TemplatePart::sharded::<T, 37>("s", "f", "");
                assert!(shard.is_determined_by(field) && !field.is_determined_by(&shard));
                let mut key = KeyText::new("Test", Escape::Reject);
                let value_text = field.value(stored, Escape::Encode).unwrap();
                shard.append(&value_text, &mut key).unwrap();
                assert_eq!(key.as_str(), text::<Plain, _>(&Shard::<37>::of(value), ""));
            }
            let plain = TemplatePart::new("f", Shape::Text, "__");
            let stored = text::<Plain, _>(&word, "__");
            shard(&plain, &stored, &word);
            let biased = TemplatePart::coded::<i16, Biased>("n", "f", "");
            shard(&biased, &text::<Biased, _>(&signed, ""), &signed);
            let newest = TemplatePart::coded::<Uuid, Descending>("n", "f", "");
            let id = Uuid::from_u128(id);
            shard(&newest, &text::<Descending, _>(&id, ""), &id);
            let lower = TemplatePart::coded::<String, Lower>("l", "f", "");
            assert!(lower.is_determined_by(&plain) && !plain.is_determined_by(&lower));
            let mut key = KeyText::new("Test", Escape::Encode);
            lower.append(&plain.value(&stored, Escape::Encode).unwrap(), &mut key).unwrap();
            assert_eq!(key.as_str(), text::<Lower, _>(&word, ""));
        }
    }

    #[test]
    fn an_instant_determines_the_partition_over_which_it_is_spread() {
        let at: DateTime = "2011-11-06T14:10:07.25Z".parse().unwrap();
        let newest = TemplatePart::coded::<DateTime, Descending>("newest", "at", "");
        let spread = TemplatePart::spread("s", "at", "");
        assert!(spread.is_determined_by(&newest));
        let mut key = KeyText::new("Test", Escape::Reject);
        let stored = text::<Descending, _>(&at, "");
        spread.append(&newest.value(&stored, Escape::Reject).unwrap(), &mut key).unwrap();
        assert_eq!(key.as_str(), "0720111106");
    }

    #[test]
    fn a_component_of_a_function_or_of_another_field_determines_nothing() {
        let number = TemplatePart::new("n", Shape::Number(10), "");
        for other in [
            TemplatePart::computed("n", ""),
            TemplatePart::new("m", Shape::Number(10), ""),
            TemplatePart::new("n", Shape::Text, ""),
            TemplatePart::spread("s", "n", ""),
        ] {
            assert!(!other.is_determined_by(&number) && !number.is_determined_by(&other));
        }
    }

    #[test]
    fn a_value_that_does_not_fit_has_no_text() {
        let mut key = KeyText::new("Test", Escape::Reject);
        let part = TemplatePart::coded::<u8, Descending>("x", "n", "");
        assert!(part.append("256", &mut key).is_err());
        assert!(
            TemplatePart::coded::<u32, Padded<3>>("x", "n", "").append("1000", &mut key).is_err()
        );
    }
}
