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
    fn number(&mut self) -> Option<Number> {
        let NumberEnds { start, integer, all } = number_ends(self.rest.as_bytes())?;
        let (text, rest) = self.rest.split_at(all);
        let number = if all > integer {
            // The standard library rounds correctly, as `serde_json` does with `float_roundtrip`.
            Number::Float(text.parse().ok().filter(|value: &f64| value.is_finite())?)
        } else if integer - start > MOST_DIGITS {
            return None;
        } else {
            let digits = text.as_bytes()[start..].iter();
            let value = digits.fold(0, |value, digit| 10 * value + i64::from(digit - b'0'));
            match (start, value) {
                (0, value) => Number::Unsigned(value.unsigned_abs()),
                // `-0` is a float.
                (_, 0) => return None,
                (_, value) => Number::Signed(-value),
            }
        };
        self.rest = rest;
        Some(number)
    }

    /// Skips a text without escapes, a number, a boolean or `null`. Returns whether it was one.
    #[inline]
    fn skip_plain(&mut self) -> bool {
        if self.plain_text().is_some() {
            return true;
        }
        let end = match self.rest.as_bytes() {
            [b't' | b'n', ..] if self.rest.starts_with("true") || self.rest.starts_with("null") => {
                4
            }
            [b'f', ..] if self.rest.starts_with("false") => 5,
            bytes => match number_ends(bytes) {
                Some(ends) => ends.all,
                None => return false,
            },
        };
        self.rest = &self.rest[end..];
        true
    }
}

/// Where the parts of a number's text end.
struct NumberEnds {
    /// The sign.
    start: usize,
    integer: usize,
    all: usize,
}

/// The parts of the number at the start of a text; `None` for text of another form.
#[inline(always)]
fn number_ends(bytes: &[u8]) -> Option<NumberEnds> {
    let start = usize::from(bytes.first() == Some(&b'-'));
    let integer = some_digits(bytes, start)?;
    if integer - start > 1 && bytes[start] == b'0' {
        return None;
    }
    let is_integer = !matches!(bytes.get(integer), Some(b'.' | b'e' | b'E'));
    let all = if is_integer { integer } else { float_end(bytes, integer)? };
    Some(NumberEnds { start, integer, all })
}

/// Where the fraction and the exponent from `at` on end; `None` where one has no digit.
fn float_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut end = at;
    if bytes.get(end) == Some(&b'.') {
        end = some_digits(bytes, end + 1)?;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let is_signed = matches!(bytes.get(end + 1), Some(b'+' | b'-'));
        end = some_digits(bytes, end + 1 + usize::from(is_signed))?;
    }
    Some(end)
}

fn some_digits(bytes: &[u8], from: usize) -> Option<usize> {
    let end = digits(bytes, from);
    (end > from).then_some(end)
}

/// Where the digits from `from` on end.
fn digits(bytes: &[u8], from: usize) -> usize {
    let found = bytes[from..].iter().position(|byte| !byte.is_ascii_digit());
    found.map_or(bytes.len(), |length| from + length)
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

    /// A value that nobody wants is only passed over.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.0.skip_plain() {
            visitor.visit_unit()
        } else {
            self.other(|reader| reader.deserialize_ignored_any(visitor))
        }
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
