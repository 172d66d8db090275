//! A JSON value, as the type that is read from it sees it.
//!
//! Invariant: every value is read as `serde_json` reads it, and fails with its errors. Texts without
//! escapes, numbers and booleans are read here, because most properties are one of these; whatever has
//! another form goes to `serde_json`.

use super::json::Json;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, Visitor};
use serde_json::Error;
use serde_json::de::StrRead;

/// No integer of that many digits overflows.
const MOST_DIGITS: usize = 18;
/// Each integer of that many digits is a double.
const EXACT_DIGITS: usize = 15;
/// Each of these is a double.
const POWERS_OF_TEN: [f64; EXACT_DIGITS] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14];

/// A number, as `serde_json` hands it to a visitor.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Number {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
}

impl<'de> Json<'de> {
    /// Reads a value. An error leaves it unread.
    #[inline]
    pub fn value<S: DeserializeSeed<'de>>(&mut self, seed: S) -> serde_json::Result<S::Value> {
        let start = self.rest;
        let read = seed.deserialize(Value(self));
        if read.is_err() {
            self.rest = start;
        }
        read
    }

    /// Reads a number; `None` for text of another form, and for a number that `serde_json` may judge
    /// otherwise.
    #[inline]
    fn number(&mut self) -> Option<Number> {
        let NumberText { is_negative, digits, integer, fraction, end } =
            NumberText::at_start(self.rest.as_bytes())?;
        let (text, rest) = self.rest.split_at(end);
        let number = match fraction {
            Some(fraction) => Number::Float(fraction.value(is_negative, digits, integer, text)?),
            None if integer > MOST_DIGITS => return None,
            None if !is_negative => Number::Unsigned(digits),
            // `-0` is a float.
            None if digits == 0 => return None,
            None => Number::Signed(-digits.cast_signed()),
        };
        self.rest = rest;
        Some(number)
    }

    /// Skips a text without escapes, a number, a boolean or `null`. Returns whether it was one.
    #[inline]
    pub fn skip_plain(&mut self) -> bool {
        if self.plain_text().is_some() {
            return true;
        }
        let end = match self.rest.as_bytes() {
            [b't' | b'n', ..] if self.rest.starts_with("true") || self.rest.starts_with("null") => {
                4
            }
            [b'f', ..] if self.rest.starts_with("false") => 5,
            bytes => match NumberText::at_start(bytes) {
                Some(number) => number.end,
                None => return false,
            },
        };
        self.rest = &self.rest[end..];
        true
    }
}

/// The parts of the number at the start of a text.
struct NumberText {
    is_negative: bool,
    /// All digits before an exponent, read as one integer. Of more than nineteen, only the last bits are kept.
    digits: u64,
    /// How many digits the integer has.
    integer: usize,
    fraction: Option<Fraction>,
    end: usize,
}

/// What follows the integer of a number that is no integer.
struct Fraction {
    /// How many digits it has.
    digits: usize,
    has_exponent: bool,
}

impl NumberText {
    /// `None` for text of another form.
    #[inline(always)]
    fn at_start(bytes: &[u8]) -> Option<Self> {
        let is_negative = bytes.first() == Some(&b'-');
        let (start, mut digits) = (usize::from(is_negative), 0);
        let mut end = some_digits(bytes, start, &mut digits)?;
        let integer = end - start;
        if integer > 1 && bytes[start] == b'0' {
            return None;
        }
        let mut fraction = None;
        if bytes.get(end) == Some(&b'.') {
            let from = end + 1;
            end = some_digits(bytes, from, &mut digits)?;
            fraction = Some(Fraction { digits: end - from, has_exponent: false });
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let is_signed = matches!(bytes.get(end + 1), Some(b'+' | b'-'));
            end = some_digits(bytes, end + 1 + usize::from(is_signed), &mut 0)?;
            fraction = Some(Fraction { digits: 0, has_exponent: true });
        }
        Some(Self { is_negative, digits, integer, fraction, end })
    }
}

impl Fraction {
    /// The number, as `serde_json` rounds it with `float_roundtrip`; `None` for a number that is too large.
    #[inline]
    fn value(&self, is_negative: bool, digits: u64, integer: usize, text: &str) -> Option<f64> {
        if self.has_exponent || integer + self.digits > EXACT_DIGITS {
            // The standard library rounds correctly, too.
            return text.parse().ok().filter(|value: &f64| value.is_finite());
        }
        // Both are exact, so the division rounds once.
        let value = digits as f64 / POWERS_OF_TEN[self.digits];
        Some(if is_negative { -value } else { value })
    }
}

/// Reads the digits from `from` on behind those of `value`. Returns where they end; `None` if there are none.
#[inline(always)]
fn some_digits(bytes: &[u8], from: usize, value: &mut u64) -> Option<usize> {
    let mut end = from;
    while let Some(digit @ b'0'..=b'9') = bytes.get(end) {
        *value = value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
        end += 1;
    }
    (end > from).then_some(end)
}

/// The next value of a text.
struct Value<'j, 'de>(&'j mut Json<'de>);

impl<'de> Value<'_, 'de> {
    /// Reads what has no plain form.
    #[cold]
    #[inline(never)]
    fn other<T>(
        self,
        read: impl FnOnce(&mut serde_json::Deserializer<StrRead<'de>>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut reader = serde_json::Deserializer::from_str(self.0.rest);
        let value = read(&mut reader)?;
        let length = reader.into_iter::<IgnoredAny>().byte_offset();
        self.0.rest = &self.0.rest[length..];
        Ok(value)
    }
}

impl Number {
    fn visit<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::Unsigned(value) => visitor.visit_u64(value),
            Self::Signed(value) => visitor.visit_i64(value),
            Self::Float(value) => visitor.visit_f64(value),
        }
    }
}

/// Methods that read a number, else ask `serde_json`.
macro_rules! numbers {
    ($($method:ident),*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.0.next();
            match self.0.number() {
                Some(number) => number.visit(visitor),
                None => self.other(|reader| reader.$method(visitor)),
            }
        }
    )*};
}

/// Methods that read a text, else ask `serde_json`.
macro_rules! texts {
    ($($method:ident),*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.0.plain_text() {
                Some(text) => visitor.visit_borrowed_str(text),
                None => self.other(|reader| reader.$method(visitor)),
            }
        }
    )*};
}

/// Methods that ask `serde_json`.
macro_rules! others {
    ($($method:ident($($name:ident: $type:ty),*)),*) => {$(
        fn $method<V: Visitor<'de>>(self, $($name: $type,)* visitor: V) -> Result<V::Value, Error> {
            self.other(|reader| reader.$method($($name,)* visitor))
        }
    )*};
}

impl<'de> Deserializer<'de> for Value<'_, 'de> {
    type Error = Error;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0.next() {
            Some(b'"') => self.deserialize_str(visitor),
            Some(b'-' | b'0'..=b'9') => match self.0.number() {
                Some(number) => number.visit(visitor),
                None => self.other(|reader| reader.deserialize_any(visitor)),
            },
            _ => self.other(|reader| reader.deserialize_any(visitor)),
        }
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0.next() {
            Some(b'n') => self.other(|reader| reader.deserialize_option(visitor)),
            _ => visitor.visit_some(self),
        }
    }

    #[inline]
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.0.next();
        for (text, value) in [("true", true), ("false", false)] {
            if let Some(rest) = self.0.rest.strip_prefix(text) {
                self.0.rest = rest;
                return visitor.visit_bool(value);
            }
        }
        self.other(|reader| reader.deserialize_bool(visitor))
    }

    numbers!(
        deserialize_i8,
        deserialize_i16,
        deserialize_i32,
        deserialize_i64,
        deserialize_u8,
        deserialize_u16,
        deserialize_u32,
        deserialize_u64,
        deserialize_f64
    );
    texts!(deserialize_char, deserialize_str, deserialize_string, deserialize_identifier);
    others!(
        deserialize_f32(),
        deserialize_i128(),
        deserialize_u128(),
        deserialize_bytes(),
        deserialize_byte_buf(),
        deserialize_ignored_any(),
        deserialize_unit(),
        deserialize_unit_struct(name: &'static str),
        deserialize_newtype_struct(name: &'static str),
        deserialize_seq(),
        deserialize_tuple(len: usize),
        deserialize_tuple_struct(name: &'static str, len: usize),
        deserialize_map(),
        deserialize_struct(name: &'static str, fields: &'static [&'static str]),
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::Deserialize;
    use std::fmt::Debug;
    use std::marker::PhantomData;

    /// A value of any type. With `arbitrary_precision`, a `Value` keeps the text of its number, which
    /// is lost to a reader that hands out numbers, so numbers are compared by value.
    #[derive(Debug, Deserialize)]
    #[serde(transparent)]
    struct Untyped(serde_json::Value);

    impl PartialEq for Untyped {
        fn eq(&self, other: &Self) -> bool {
            match (&self.0, &other.0) {
                (serde_json::Value::Number(one), serde_json::Value::Number(two)) => {
                    (one.as_u64(), one.as_i64(), one.as_f64())
                        == (two.as_u64(), two.as_i64(), two.as_f64())
                }
                (one, two) => one == two,
            }
        }
    }

    /// Checks that a value is read as `serde_json` reads it: the value or the error, and the rest.
    fn check<'de, T: Deserialize<'de> + PartialEq + Debug>(text: &'de str) {
        let mut json = Json { rest: text };
        let read = json.value(PhantomData::<T>);
        let mut reader = serde_json::Deserializer::from_str(text);
        let message = |error: Error| {
            let text = error.to_string();
            text.split(" at line ").next().unwrap_or_default().to_owned()
        };
        match (T::deserialize(&mut reader), read) {
            (Ok(expected), Ok(value)) => {
                assert_eq!(value, expected, "{text}");
                let end = reader.into_iter::<IgnoredAny>().byte_offset();
                assert_eq!(json.rest, &text[end..], "{text}");
            }
            (Err(expected), Err(error)) => {
                assert_eq!(message(error), message(expected), "{text}");
                assert_eq!(json.rest, text);
            }
            (expected, read) => panic!("{text}: {read:?} instead of {expected:?}"),
        }
    }

    /// Checks that a value is passed over as far as `serde_json` reads it.
    fn check_skipped(text: &str) {
        let mut json = Json { rest: text };
        let skipped = json.ignore();
        let mut reader = serde_json::Deserializer::from_str(text);
        match IgnoredAny::deserialize(&mut reader) {
            Ok(_) => {
                assert!(skipped.is_ok(), "{text}: {skipped:?}");
                let end = reader.into_iter::<IgnoredAny>().byte_offset();
                assert_eq!(json.rest, &text[end..], "{text}");
            }
            Err(_) => assert!(skipped.is_err(), "{text}"),
        }
    }

    fn check_all(text: &str) {
        // A value is never the last of a row.
        for text in [text.to_owned(), format!(" \n{text},\"B\":1}}"), format!("{text}}}")] {
            check::<f64>(&text);
            check::<f32>(&text);
            check::<i64>(&text);
            check::<i32>(&text);
            check::<u8>(&text);
            check::<u64>(&text);
            check::<i128>(&text);
            check::<bool>(&text);
            check::<char>(&text);
            check::<String>(&text);
            check::<Option<String>>(&text);
            check::<Option<f64>>(&text);
            check::<Option<bool>>(&text);
            check::<Vec<u8>>(&text);
            check::<()>(&text);
            check::<Untyped>(&text);
            check::<std::collections::BTreeMap<String, i32>>(&text);
            check::<IgnoredAny>(&text);
            check_skipped(&text);
        }
    }

    #[test]
    fn values_of_every_form_are_read_as_serde_json_reads_them() {
        for text in [
            "0",
            "-0",
            "00",
            "01",
            "-01",
            "-",
            "--1",
            "+1",
            "1",
            "-1",
            "255",
            "256",
            "-129",
            "1.",
            ".5",
            "1.5",
            "-1.5",
            "0.0",
            "-0.0",
            "1e5",
            "1E+5",
            "1e-5",
            "1e",
            "1e+",
            "1.e5",
            "1.5e400",
            "1e-400",
            "0e999999999999",
            "1e999999999999",
            "1x",
            "1 2",
            "0x10",
            "Infinity",
            "NaN",
            "2147483648",
            "-2147483649",
            "999999999999999999",
            "-999999999999999999",
            "9223372036854775807",
            "9223372036854775808",
            "-9223372036854775808",
            "18446744073709551615",
            "18446744073709551616",
            "123456789012345678.5",
            "0.1",
            "0.30000000000000004",
            "2.2250738585072011e-308",
            "1.00000005960464477",
            "8.589973e9",
            "true",
            "false",
            "truex",
            "tru",
            "null",
            "nul",
            "",
            " ",
            "\"\"",
            "\"a\"",
            "\"plain text of more than sixteen bytes\"",
            "\"é€𐍈\"",
            "\"\u{7f}\"",
            "\"a\nb\"",
            "\"tab\tinside\"",
            r#""\n""#,
            r#""a\u00e9""#,
            r#""sixteen bytes ab\"c""#,
            r#""\ud800""#,
            r#""\x""#,
            "\"open",
            "\"",
            "[]",
            "[1,2]",
            "[1,]",
            "{}",
            r#"{"a":1}"#,
            r#"{"a":"x"}"#,
            "{",
            "]",
        ] {
            check_all(text);
        }
    }

    proptest! {
        #[test]
        fn numbers_are_read_as_serde_json_reads_them(text in "-?[0-9]{1,20}(\\.[0-9]{0,20})?([eE][+-]?[0-9]{0,3})?") {
            check_all(&text);
        }

        #[test]
        fn doubles_are_read_back_exactly(value in any::<f64>()) {
            prop_assume!(value.is_finite());
            let text = serde_json::to_string(&value).unwrap();
            let read = Json { rest: &text }.value(PhantomData::<f64>).unwrap();
            prop_assert_eq!(read.to_bits(), value.to_bits());
        }

        #[test]
        fn texts_are_read_as_serde_json_reads_them(text in "[ -~\u{0}-\u{1f}é€]{0,40}", cut in 0_usize..40) {
            let json = serde_json::to_string(&text).unwrap();
            check_all(&json);
            check_all(&format!("\"{text}\""));
            let cut = json.char_indices().map(|(at, _)| at).nth(cut).unwrap_or(json.len());
            check_all(&json[..cut]);
        }
    }
}
