//! Finds numbers that JSON has no text for.
//!
//! `serde_json` writes NaN and the infinities as `null`, which cannot be read back as a number.

use serde::ser::{self, Serialize, Serializer};
use std::fmt;

/// Whether every number in the value has a text in JSON.
pub(super) fn is_finite<T: Serialize + ?Sized>(value: &T) -> bool {
    !matches!(value.serialize(Finite), Err(Stopped::NotFinite))
}

/// A serializer that stops at a number that is not finite.
struct Finite;

#[derive(Debug)]
enum Stopped {
    NotFinite,
    /// The value's own serialization failed.
    Other,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number that is not finite")
    }
}

impl std::error::Error for Stopped {}

impl ser::Error for Stopped {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::Other
    }
}

type Walked<T = ()> = Result<T, Stopped>;

fn float(value: f64) -> Walked {
    if value.is_finite() { Ok(()) } else { Err(Stopped::NotFinite) }
}

macro_rules! values {
    ($($method:ident($($value:ty),*))*) => {$(
        fn $method(self, $(_: $value),*) -> Walked {
            Ok(())
        }
    )*};
}

macro_rules! compounds {
    ($($method:ident($($value:ty),*) -> $compound:ident)*) => {$(
        type $compound = Self;

        fn $method(self, $(_: $value),*) -> Walked<Self> {
            Ok(self)
        }
    )*};
}

impl Serializer for Finite {
    type Ok = ();
    type Error = Stopped;

    fn serialize_f32(self, value: f32) -> Walked {
        float(value.into())
    }

    fn serialize_f64(self, value: f64) -> Walked {
        float(value)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Walked {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Walked {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Walked {
        value.serialize(self)
    }

    values! {
        serialize_bool(bool)
        serialize_i8(i8)
        serialize_i16(i16)
        serialize_i32(i32)
        serialize_i64(i64)
        serialize_i128(i128)
        serialize_u8(u8)
        serialize_u16(u16)
        serialize_u32(u32)
        serialize_u64(u64)
        serialize_u128(u128)
        serialize_char(char)
        serialize_str(&str)
        serialize_bytes(&[u8])
        serialize_none()
        serialize_unit()
        serialize_unit_struct(&'static str)
        serialize_unit_variant(&'static str, u32, &'static str)
    }

    compounds! {
        serialize_seq(Option<usize>) -> SerializeSeq
        serialize_tuple(usize) -> SerializeTuple
        serialize_tuple_struct(&'static str, usize) -> SerializeTupleStruct
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> SerializeTupleVariant
        serialize_map(Option<usize>) -> SerializeMap
        serialize_struct(&'static str, usize) -> SerializeStruct
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> SerializeStructVariant
    }
}

macro_rules! members {
    ($($compound:ident: $($method:ident($($name:ty)?)),*;)*) => {$(
        impl ser::$compound for Finite {
            type Ok = ();
            type Error = Stopped;

            $(fn $method<T: Serialize + ?Sized>(&mut self, $(_: $name,)? value: &T) -> Walked {
                value.serialize(Self)
            })*

            fn end(self) -> Walked {
                Ok(())
            }
        }
    )*};
}

members! {
    SerializeSeq: serialize_element();
    SerializeTuple: serialize_element();
    SerializeTupleStruct: serialize_field();
    SerializeTupleVariant: serialize_field();
    SerializeMap: serialize_key(), serialize_value();
    SerializeStruct: serialize_field(&'static str);
    SerializeStructVariant: serialize_field(&'static str);
}
