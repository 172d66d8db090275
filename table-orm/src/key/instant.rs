//! Dates, times and other values of fixed-width text: instants, calendar dates, times of day,
//! UUIDs.
//!
//! An instant is stored as `2011-11-06T09:10:00.0000000Z`. An instant between two of the service's
//! ticks of 100 ns is the earlier one, in every key and every bound of a range.
//! Newest first, it is the ticks from it to the end of 9999 in 19 digits (the log tail pattern of
//! the service's design guide).

use super::{
    Ascending, Descending, Escape, KeyError, KeyFault, KeyPart, KeyReader, KeyText, Padded, Plain,
    PrefixFree, Shape, Sorted, SortedLast, Width,
};
use crate::model::DateTime;
use std::ops::RangeInclusive;
use time::{Date, Month, OffsetDateTime, Time};
use uuid::Uuid;

/// Digits of reversed ticks.
const TICK_DIGITS: usize = 19;
/// Digits of reversed days.
const DAY_DIGITS: usize = 7;

/// Implements `Ascending` as `Plain`, with both orders sorted.
macro_rules! ascending_as_plain {
    ($([$($cfg:tt)*] $type:ty),* $(,)?) => {$(
        $($cfg)*
        impl KeyPart<Ascending> for $type {
            const WIDTH: Width = <Self as KeyPart<Plain>>::WIDTH;
            const SHAPE: Shape = <Self as KeyPart<Plain>>::SHAPE;
            const GROWS: bool = <Self as KeyPart<Plain>>::GROWS;

            fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
                <Self as KeyPart<Plain>>::encode(self, key)
            }

            fn decode(text: &str) -> Result<Self, KeyFault> {
                <Self as KeyPart<Plain>>::decode(text)
            }
        }

        $($cfg)*
        impl SortedLast<Plain> for $type {}
        $($cfg)*
        impl Sorted<Plain> for $type {}
        $($cfg)*
        impl PrefixFree<Plain> for $type {}
        $($cfg)*
        impl SortedLast<Ascending> for $type {}
        $($cfg)*
        impl Sorted<Ascending> for $type {}
        $($cfg)*
        impl PrefixFree<Ascending> for $type {}
    )*};
}

impl KeyPart<Plain> for DateTime {
    const WIDTH: Width = Width::Fixed(Self::TEXT_LEN);
    const SHAPE: Shape = Shape::Pattern("0000-00-00T00:00:00.0000000Z");
    const GROWS: bool = true;

    fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
        key.push_plain(str::from_utf8(&self.text()).unwrap_or_default());
        Ok(())
    }

    fn decode(text: &str) -> Result<Self, KeyFault> {
        text.parse().map_err(|_| KeyFault::Malformed)
    }
}

impl KeyPart<Descending> for DateTime {
    const WIDTH: Width = Width::Fixed(TICK_DIGITS);
    const SHAPE: Shape = Shape::Digits(TICK_DIGITS);
    const REVERSED: bool = true;
    const GROWS: bool = true;

    fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
        let reversed = Self::MAX.ticks().abs_diff(self.ticks());
        <u64 as KeyPart<Padded<TICK_DIGITS>>>::encode(&reversed, key)
    }

    fn decode(text: &str) -> Result<Self, KeyFault> {
        let reversed = <u64 as KeyPart<Padded<TICK_DIGITS>>>::decode(text)?;
        let ticks = Self::MAX.ticks().checked_sub_unsigned(reversed).ok_or(KeyFault::Malformed)?;
        Self::from_ticks(ticks).map_err(|_| KeyFault::Malformed)
    }
}

impl SortedLast<Descending> for DateTime {}
impl Sorted<Descending> for DateTime {}
impl PrefixFree<Descending> for DateTime {}

/// Implements the instants of date-time crates through [`DateTime`].
macro_rules! instants {
    ($([$($cfg:tt)*] $type:ty),* $(,)?) => {
        instants!(@each Plain: $([$($cfg)*] $type),*);
        instants!(@each Descending: $([$($cfg)*] $type),*);
        $($($cfg)* impl SortedLast<Descending> for $type {})*
        $($($cfg)* impl Sorted<Descending> for $type {})*
        $($($cfg)* impl PrefixFree<Descending> for $type {})*
        ascending_as_plain!($([$($cfg)*] $type),*);
    };
    (@each $encoder:ident: $([$($cfg:tt)*] $type:ty),*) => {$(
        $($cfg)*
        impl KeyPart<$encoder> for $type {
            const WIDTH: Width = <DateTime as KeyPart<$encoder>>::WIDTH;
            const SHAPE: Shape = <DateTime as KeyPart<$encoder>>::SHAPE;
            const REVERSED: bool = <DateTime as KeyPart<$encoder>>::REVERSED;
            const GROWS: bool = true;

            fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
                match DateTime::try_from(self.clone()) {
                    Ok(instant) => <DateTime as KeyPart<$encoder>>::encode(&instant, key),
                    Err(_) => {
                        key.push_plain(&self.to_string());
                        Err(KeyFault::OutOfRange)
                    }
                }
            }

            fn decode(text: &str) -> Result<Self, KeyFault> {
                let instant = <DateTime as KeyPart<$encoder>>::decode(text)?;
                instant.try_into().map_err(|_| KeyFault::OutOfRange)
            }
        }
    )*};
}

ascending_as_plain!(
    [] DateTime, [] Date, [] Time, [] Uuid,
    [#[cfg(feature = "ulid")]] ulid::Ulid,
    [#[cfg(feature = "chrono")]] chrono::NaiveDate,
    [#[cfg(feature = "chrono")]] chrono::NaiveTime,
    [#[cfg(feature = "jiff")]] jiff::civil::Date,
    [#[cfg(feature = "jiff")]] jiff::civil::Time,
);
instants!(
    [] OffsetDateTime,
    [#[cfg(feature = "chrono")]] chrono::DateTime<chrono::Utc>,
    [#[cfg(feature = "jiff")]] jiff::Timestamp,
);

/// The years of the service's instants.
const YEARS: RangeInclusive<i32> = 1601..=9999;

/// `2011-11-06`.
impl KeyPart<Plain> for Date {
    const WIDTH: Width = Width::Fixed(10);
    const SHAPE: Shape = Shape::Pattern("0000-00-00");
    const GROWS: bool = true;

    fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
        if !YEARS.contains(&self.year()) {
            key.push_plain(&self.to_string());
            return Err(KeyFault::OutOfRange);
        }
        <u32 as KeyPart<Padded<4>>>::encode(&self.year().unsigned_abs(), key)?;
        key.push_plain("-");
        <u8 as KeyPart<Padded<2>>>::encode(&u8::from(self.month()), key)?;
        key.push_plain("-");
        <u8 as KeyPart<Padded<2>>>::encode(&self.day(), key)
    }

    fn decode(text: &str) -> Result<Self, KeyFault> {
        let (year, month, day) = year_month_day(text).map_err(|_| KeyFault::Malformed)?;
        let month = Month::try_from(month).map_err(|_| KeyFault::Malformed)?;
        let date = Self::from_calendar_date(year.into(), month, day).ok();
        date.filter(|date| YEARS.contains(&date.year())).ok_or(KeyFault::Malformed)
    }
}

fn year_month_day(text: &str) -> Result<(u16, u8, u8), KeyError> {
    let mut reader = KeyReader::new("Date", Escape::Reject, text);
    let year = reader.part::<Padded<4>, u16>("year", "")?;
    reader.literal("-")?;
    let month = reader.part::<Padded<2>, u8>("month", "")?;
    reader.literal("-")?;
    let day = reader.part::<Padded<2>, u8>("day", "")?;
    reader.finish()?;
    Ok((year, month, day))
}

/// The days from it to the end of 9999, in 7 digits.
impl KeyPart<Descending> for Date {
    const WIDTH: Width = Width::Fixed(DAY_DIGITS);
    const SHAPE: Shape = Shape::Digits(DAY_DIGITS);
    const REVERSED: bool = true;
    const GROWS: bool = true;

    fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
        if !YEARS.contains(&self.year()) {
            key.push_plain(&self.to_string());
            return Err(KeyFault::OutOfRange);
        }
        let days = LAST_DAY.abs_diff(self.to_julian_day());
        <u32 as KeyPart<Padded<DAY_DIGITS>>>::encode(&days, key)
    }

    fn decode(text: &str) -> Result<Self, KeyFault> {
        let days = <u32 as KeyPart<Padded<DAY_DIGITS>>>::decode(text)?;
        let day = LAST_DAY.checked_sub_unsigned(days).ok_or(KeyFault::Malformed)?;
        let date = Self::from_julian_day(day).ok();
        date.filter(|date| YEARS.contains(&date.year())).ok_or(KeyFault::Malformed)
    }
}

/// Julian day of 9999-12-31.
const LAST_DAY: i32 = 5_373_484;

impl SortedLast<Descending> for Date {}
impl Sorted<Descending> for Date {}
impl PrefixFree<Descending> for Date {}

/// `09:10:00.0000000`, rounded down to 100 ns.
impl KeyPart<Plain> for Time {
    const WIDTH: Width = Width::Fixed(16);
    const SHAPE: Shape = Shape::Pattern("00:00:00.0000000");

    fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
        let (hour, minute, second, nanosecond) = self.as_hms_nano();
        for (part, then) in [(hour, ":"), (minute, ":"), (second, ".")] {
            <u8 as KeyPart<Padded<2>>>::encode(&part, key)?;
            key.push_plain(then);
        }
        <u32 as KeyPart<Padded<7>>>::encode(&(nanosecond / 100), key)
    }

    fn decode(text: &str) -> Result<Self, KeyFault> {
        // A time of day has the syntax of an instant's time.
        let instant: DateTime =
            format!("2000-01-01T{text}Z").parse().map_err(|_| KeyFault::Malformed)?;
        Ok(OffsetDateTime::from(instant).time())
    }
}

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
