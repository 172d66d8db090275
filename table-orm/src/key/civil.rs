//! Calendar dates and times of day.

use super::{
    Descending, Escape, KeyError, KeyFault, KeyPart, KeyReader, KeyText, Padded, Plain, PrefixFree,
    Shape, Sorted, SortedLast, Width,
};
use crate::model::DateTime;
use std::ops::RangeInclusive;
use time::{Date, Month, OffsetDateTime, Time};

/// Digits of reversed days.
const DAY_DIGITS: usize = 7;
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
