//! The types that one property can store.

use super::{Property, PropertyFault, PropertyWriter};
use crate::key::{Escape, KeyPart, KeyText};
use crate::model::{DateTime, Edm, EdmType, Utc};
use base64::Engine as _;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;
use time::{Date, OffsetDateTime, Time};
use uuid::Uuid;

/// A value stored as text that parses, such as an `Edm.Int64`.
struct Text<T>(PhantomData<T>, &'static str);

impl<T: FromStr> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.1)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }
}

/// Reads a number in the form of `serde_json` with the feature `arbitrary_precision`, which another
/// crate of the app may turn on. Rejects any other map.
pub(super) fn arbitrary_number<'de, A, V>(map: A, visitor: V) -> Result<V::Value, A::Error>
where
    A: MapAccess<'de>,
    V: Visitor<'de>,
{
    let number = serde_json::Number::deserialize(MapAccessDeserializer::new(map))
        .map_err(|_| A::Error::invalid_type(Unexpected::Map, &visitor))?;
    match (number.as_i64(), number.as_u64(), number.as_f64()) {
        (Some(value), _, _) => visitor.visit_i64(value),
        (None, Some(value), _) => visitor.visit_u64(value),
        (None, None, Some(value)) => visitor.visit_f64(value),
        (None, None, None) => Err(A::Error::invalid_type(Unexpected::Map, &visitor)),
    }
}

/// An `Edm.Int64`: text, or a bare number that some writers leave without annotation.
struct Int64;

impl<'de> Visitor<'de> for Int64 {
    type Value = i64;

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<i64, A::Error> {
        arbitrary_number(map, self)
    }

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a 64-bit integer as text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<i64, E> {
        text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<i64, E> {
        Ok(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<i64, E> {
        value.try_into().map_err(|_| E::invalid_value(Unexpected::Unsigned(value), &self))
    }
}

/// An `Edm.Double`: a number, or the names of those JSON has no number for.
pub(super) struct Double;

impl<'de> Visitor<'de> for Double {
    type Value = f64;

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<f64, A::Error> {
        arbitrary_number(map, self)
    }

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, `NaN`, `Infinity` or `-Infinity`")
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<f64, E> {
        Ok(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<f64, E> {
        Ok(value as f64)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<f64, E> {
        Ok(value as f64)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<f64, E> {
        match text {
            "NaN" => Ok(f64::NAN),
            "Infinity" => Ok(f64::INFINITY),
            "-Infinity" => Ok(f64::NEG_INFINITY),
            _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
        }
    }
}

/// An `Edm.Binary`.
pub(super) struct Binary;

impl Visitor<'_> for Binary {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("base64 text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<u8>, E> {
        base64::engine::general_purpose::STANDARD
            .decode(text)
            .map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }
}

macro_rules! int32 {
    ($($type:ty),*) => {$(
        impl Property for $type {
            const TYPE: Option<EdmType> = Some(EdmType::Int32);

            fn write(&self, out: PropertyWriter<'_>) -> Result<(), PropertyFault> {
                out.int32((*self).into())
            }

            fn read<'de, D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
                Self::deserialize(value)
            }

            fn edm(&self) -> Result<Option<Edm>, PropertyFault> {
                Ok(Some(Edm::Int32((*self).into())))
            }
        }
    )*};
}

int32!(i8, i16, i32, u8, u16);

impl Property for i64 {
    const TYPE: Option<EdmType> = Some(EdmType::Int64);

    fn write(&self, out: PropertyWriter<'_>) -> Result<(), PropertyFault> {
        out.int64(*self)
    }

    fn read<'de, D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        value.deserialize_any(Int64)
    }

    fn edm(&self) -> Result<Option<Edm>, PropertyFault> {
        Ok(Some(Edm::Int64(*self)))
    }
}

macro_rules! unsigned64 {
    ($($type:ty),*) => {$(
        impl Property for $type {
            const TYPE: Option<EdmType> = Some(EdmType::Int64);

            fn write(&self, out: PropertyWriter<'_>) -> Result<(), PropertyFault> {
                out.int64(int64(*self as u64)?)
            }

            fn read<'de, D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
                let stored = value.deserialize_any(Int64)?;
                stored.try_into().map_err(|_| {
                    D::Error::invalid_value(Unexpected::Signed(stored), &stringify!($type))
                })
            }

            fn edm(&self) -> Result<Option<Edm>, PropertyFault> {
                Ok(Some(Edm::Int64(int64(*self as u64)?)))
            }
        }
    )*};
}

unsigned64!(u32, u64, usize);

fn int64(value: u64) -> Result<i64, PropertyFault> {
    value.try_into().map_err(|_| PropertyFault::Int64Overflow(value))
}

impl Property for f64 {
    const TYPE: Option<EdmType> = Some(EdmType::Double);

    fn write(&self, out: PropertyWriter<'_>) -> Result<(), PropertyFault> {
        out.double(*self)
    }

    fn read<'de, D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        value.deserialize_any(Double)
    }

    fn edm(&self) -> Result<Option<Edm>, PropertyFault> {
        Ok(Some(Edm::Double(*self)))
    }
}

impl Property for f32 {
    const TYPE: Option<EdmType> = Some(EdmType::Double);

    fn write(&self, out: PropertyWriter<'_>) -> Result<(), PropertyFault> {
        out.double((*self).into())
    }

    fn read<'de, D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        // Every f32 is written as the f64 of the same value, so narrowing returns the same value.
        let stored = value.deserialize_any(Double)?;
        let narrowed = stored as Self;
        if narrowed.is_infinite() && stored.is_finite() {
            return Err(D::Error::invalid_value(Unexpected::Float(stored), &"an f32"));
        }
        Ok(narrowed)
    }

    fn edm(&self) -> Result<Option<Edm>, PropertyFault> {
        Ok(Some(Edm::Double((*self).into())))
    }
}

impl Property for bool {
    const TYPE: Option<EdmType> = Some(EdmType::Boolean);

    fn write(&self, out: PropertyWriter<'_>) -> Result<(), PropertyFault> {
        out.boolean(*self)
    }

    fn read<'de, D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        Self::deserialize(value)
    }

    fn edm(&self) -> Result<Option<Edm>, PropertyFault> {
        Ok(Some(Edm::Boolean(*self)))
    }
}

macro_rules! text {
    ($([$($generics:tt)*] $type:ty),*) => {$(
        impl<$($generics)*> Property for $type {
            const TYPE: Option<EdmType> = Some(EdmType::String);

            fn write(&self, out: PropertyWriter<'_>) -> Result<(), PropertyFault> {
                out.string(self)
            }

            fn read<'de, D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
                String::deserialize(value).map(Self::from)
            }

            fn edm(&self) -> Result<Option<Edm>, PropertyFault> {
                Ok(Some(Edm::String(self.to_string())))
            }
        }
    )*};
}

text!([] String, ['a] Cow<'a, str>, [] Box<str>);

/// Types stored as text through `Display` and `FromStr`.
macro_rules! displayed {
    ($([$($cfg:tt)*] $type:ty: $what:literal),* $(,)?) => {$(
        $($cfg)*
        impl Property for $type {
            const TYPE: Option<EdmType> = Some(EdmType::String);

            fn write(&self, out: PropertyWriter<'_>) -> Result<(), PropertyFault> {
                out.string(&self.to_string())
            }

            fn read<'de, D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
                value.deserialize_str(Text(PhantomData, $what))
            }

            fn edm(&self) -> Result<Option<Edm>, PropertyFault> {
                Ok(Some(Edm::String(self.to_string())))
            }
        }
    )*};
}

displayed! {
    [] char: "one character",
    [#[cfg(feature = "rust_decimal")]] rust_decimal::Decimal: "a decimal number as text",
    [#[cfg(feature = "ulid")]] ulid::Ulid: "a ULID",
}

/// Dates and times of day are stored as the text they have in a key, because the service has no
/// type for them. So filters compare them in the order of time.
macro_rules! key_text {
    ($([$($cfg:tt)*] $type:ty: $what:literal),* $(,)?) => {$(
        $($cfg)*
        impl Property for $type {
            const TYPE: Option<EdmType> = Some(EdmType::String);

            fn write(&self, out: PropertyWriter<'_>) -> Result<(), PropertyFault> {
                out.string(&key_text(self)?)
            }

            fn read<'de, D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
                let text = Cow::<str>::deserialize(value)?;
                <Self as KeyPart>::decode(&text)
                    .map_err(|_| D::Error::invalid_value(Unexpected::Str(&text), &$what))
            }

            fn edm(&self) -> Result<Option<Edm>, PropertyFault> {
                Ok(Some(Edm::String(key_text(self)?)))
            }
        }
    )*};
}

key_text! {
    [] Date: "a date such as 2011-11-06",
    [] Time: "a time such as 09:10:00.0000000",
    [#[cfg(feature = "chrono")]] chrono::NaiveDate: "a date such as 2011-11-06",
    [#[cfg(feature = "chrono")]] chrono::NaiveTime: "a time such as 09:10:00.0000000",
    [#[cfg(feature = "jiff")]] jiff::civil::Date: "a date such as 2011-11-06",
    [#[cfg(feature = "jiff")]] jiff::civil::Time: "a time such as 09:10:00.0000000",
}

fn key_text<T: KeyPart + ToString>(value: &T) -> Result<String, PropertyFault> {
    let mut key = KeyText::new("", Escape::Reject);
    match value.encode(&mut key) {
        Ok(()) => Ok(key.as_str().to_owned()),
        Err(_) => Err(PropertyFault::DateTimeOutOfRange(value.to_string())),
    }
}

impl Property for Vec<u8> {
    const TYPE: Option<EdmType> = Some(EdmType::Binary);

    fn write(&self, out: PropertyWriter<'_>) -> Result<(), PropertyFault> {
        out.binary(self)
    }

    fn read<'de, D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        value.deserialize_str(Binary)
    }

    fn edm(&self) -> Result<Option<Edm>, PropertyFault> {
        Ok(Some(Edm::Binary(self.clone())))
    }
}

impl Property for bytes::Bytes {
    const TYPE: Option<EdmType> = Some(EdmType::Binary);

    fn write(&self, out: PropertyWriter<'_>) -> Result<(), PropertyFault> {
        out.binary(self)
    }

    fn read<'de, D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        value.deserialize_str(Binary).map(Self::from)
    }

    fn edm(&self) -> Result<Option<Edm>, PropertyFault> {
        Ok(Some(Edm::Binary(self.to_vec())))
    }
}

impl Property for Uuid {
    const TYPE: Option<EdmType> = Some(EdmType::Guid);

    fn write(&self, out: PropertyWriter<'_>) -> Result<(), PropertyFault> {
        out.guid(*self)
    }

    fn read<'de, D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        value.deserialize_str(Text(PhantomData, "a GUID"))
    }

    fn edm(&self) -> Result<Option<Edm>, PropertyFault> {
        Ok(Some(Edm::Guid(*self)))
    }
}

impl Property for DateTime {
    const TYPE: Option<EdmType> = Some(EdmType::DateTime);

    fn write(&self, out: PropertyWriter<'_>) -> Result<(), PropertyFault> {
        out.date_time(*self)
    }

    fn read<'de, D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        value.deserialize_str(Text(PhantomData, INSTANT))
    }

    fn edm(&self) -> Result<Option<Edm>, PropertyFault> {
        Ok(Some(Edm::DateTime(*self)))
    }
}

const INSTANT: &str = "an instant such as 2011-11-06T09:10:00Z";

/// The instants of date-time crates, through [`DateTime`].
macro_rules! instants {
    ($([$($cfg:tt)*] $type:ty: $read:expr),* $(,)?) => {$(
        $($cfg)*
        impl Property for $type {
            const TYPE: Option<EdmType> = Some(EdmType::DateTime);

            fn write(&self, out: PropertyWriter<'_>) -> Result<(), PropertyFault> {
                out.date_time(instant(*self)?)
            }

            fn read<'de, D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
                $read(value)
            }

            fn edm(&self) -> Result<Option<Edm>, PropertyFault> {
                Ok(Some(Edm::DateTime(instant(*self)?)))
            }
        }
    )*};
}

instants!(
    [] OffsetDateTime: parts,
    [#[cfg(feature = "chrono")]] chrono::DateTime<chrono::Utc>: ticks,
    [#[cfg(feature = "jiff")]] jiff::Timestamp: ticks,
);

fn parts<'de, D: Deserializer<'de>>(value: D) -> Result<OffsetDateTime, D::Error> {
    value.deserialize_str(Text::<Utc>(PhantomData, INSTANT)).map(|Utc(instant)| instant)
}

#[cfg(any(feature = "chrono", feature = "jiff"))]
fn ticks<'de, D, T>(value: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<DateTime, Error: fmt::Display>,
{
    DateTime::read(value)?.try_into().map_err(D::Error::custom)
}

fn instant<T>(value: T) -> Result<DateTime, PropertyFault>
where
    T: TryInto<DateTime, Error = crate::model::DateTimeRangeError>,
{
    value.try_into().map_err(|error| PropertyFault::DateTimeOutOfRange(error.0))
}

/// `None` is stored as no property.
impl<T: Property> Property for Option<T> {
    const TYPE: Option<EdmType> = T::TYPE;
    const CODES: &'static [&'static str] = T::CODES;

    fn write(&self, out: PropertyWriter<'_>) -> Result<(), PropertyFault> {
        self.as_ref().map_or(Ok(()), |value| value.write(out))
    }

    fn read<'de, D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        T::read(value).map(Some)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }

    fn edm(&self) -> Result<Option<Edm>, PropertyFault> {
        self.as_ref().map_or(Ok(None), Property::edm)
    }
}
