//! An instant as the service stores it.
//!
//! Invariant: the tick count lies within `MIN..=MAX`, so every value has a fixed-width text form
//! that sorts as time does.

use super::Printable;
use std::fmt;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};
use time::{Date, Month, OffsetDateTime, Time};

/// Ticks in a second: the service counts 100 ns.
pub(crate) const TICKS_PER_SECOND: i64 = 10_000_000;
const TICKS_PER_DAY: i64 = 86_400 * TICKS_PER_SECOND;
/// Ticks at 1970-01-01.
const UNIX_EPOCH_TICKS: i64 = 621_355_968_000_000_000;
/// The year of [`DateTime::MIN`].
const FIRST_YEAR: i32 = 1601;
/// Julian day of 0001-01-01, where ticks start to count.
const EPOCH_JULIAN_DAY: i64 = 1_721_426;

/// An instant in UTC at 100 ns, from 1601-01-01 to 9999-12-31: `Edm.DateTime`.
///
/// Counts ticks since 0001-01-01, as .NET does, so that reversed ticks
/// (`9999-12-31T23:59:59.9999999Z` minus the instant) are the same as in keys of other tools.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateTime(i64);

/// The error of an instant outside the years 1601 to 9999, or of a text that is not an instant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not an instant between 1601-01-01 and 9999-12-31 (UTC)", Printable(.0))]
pub struct DateTimeRangeError(pub(crate) String);

impl DateTime {
    /// 1601-01-01T00:00:00Z, the service's earliest instant.
    pub const MIN: Self = Self(504_911_232_000_000_000);
    /// 9999-12-31T23:59:59.9999999Z, the service's latest instant.
    pub const MAX: Self = Self(3_155_378_975_999_999_999);
    /// Length of the text form: `2011-11-06T09:10:00.0000000Z`.
    pub const TEXT_LEN: usize = 28;

    /// The current time, rounded down to 100 ns.
    #[must_use]
    pub fn now() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let ticks = i64::from(now.subsec_nanos() / 100);
        let seconds = i64::try_from(now.as_secs()).ok();
        let seconds = seconds.and_then(|seconds| seconds.checked_mul(TICKS_PER_SECOND));
        seconds.and_then(|seconds| Self::from_unix_ticks(seconds + ticks)).unwrap_or(Self::MAX)
    }

    /// Ticks of 100 ns since 0001-01-01T00:00:00Z.
    #[must_use]
    pub const fn ticks(self) -> i64 {
        self.0
    }

    /// Ticks of 100 ns since 1970-01-01T00:00:00Z.
    pub(crate) const fn unix_ticks(self) -> i64 {
        self.0 - UNIX_EPOCH_TICKS
    }

    /// The instant of that many ticks since 1970, if it is one.
    pub(crate) fn from_unix_ticks(ticks: i64) -> Option<Self> {
        Self::from_ticks(ticks.checked_add(UNIX_EPOCH_TICKS)?).ok()
    }

    /// The time since an earlier instant; zero since a later one.
    pub(crate) fn since(self, earlier: Self) -> std::time::Duration {
        let ticks = self.0.saturating_sub(earlier.0).max(0).unsigned_abs();
        std::time::Duration::from_nanos(ticks.saturating_mul(100))
    }

    /// The instant of that many ticks of 100 ns since 0001-01-01T00:00:00Z.
    ///
    /// # Errors
    /// When the instant is before 1601 or after 9999: [`DateTimeRangeError`].
    pub fn from_ticks(ticks: i64) -> Result<Self, DateTimeRangeError> {
        let value = Self(ticks);
        if (Self::MIN..=Self::MAX).contains(&value) {
            Ok(value)
        } else {
            Err(DateTimeRangeError(format!("tick {ticks}")))
        }
    }

    fn from_utc(date: Date, time: Time) -> Self {
        let days = i64::from(date.to_julian_day()) - EPOCH_JULIAN_DAY;
        let (hour, minute, second, nanosecond) = time.as_hms_nano();
        let seconds = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
        Self(days * TICKS_PER_DAY + seconds * TICKS_PER_SECOND + i64::from(nanosecond / 100))
    }

    #[cfg(any(feature = "chrono", feature = "jiff"))]
    fn from_unix_nanoseconds(
        nanoseconds: i128,
        value: &dyn fmt::Display,
    ) -> Result<Self, DateTimeRangeError> {
        i64::try_from(nanoseconds.div_euclid(100))
            .ok()
            .and_then(|ticks| ticks.checked_add(UNIX_EPOCH_TICKS))
            .and_then(|ticks| Self::from_ticks(ticks).ok())
            .ok_or_else(|| DateTimeRangeError(value.to_string()))
    }

    #[cfg(any(feature = "chrono", feature = "jiff"))]
    fn unix_seconds_and_ticks(self) -> (i64, u32) {
        let ticks = self.0 - UNIX_EPOCH_TICKS;
        let fraction = ticks.rem_euclid(TICKS_PER_SECOND);
        (ticks.div_euclid(TICKS_PER_SECOND), u32::try_from(fraction).unwrap_or_default())
    }

    /// The text form as ASCII bytes.
    pub(crate) fn text(self) -> [u8; Self::TEXT_LEN] {
        let mut text = *b"0000-00-00T00:00:00.0000000Z";
        let value = OffsetDateTime::from(self);
        let (year, month, day) = value.to_calendar_date();
        let (hour, minute, second) = value.to_hms();
        let mut put = |at: usize, width: usize, mut number: u64| {
            for digit in text[at..at + width].iter_mut().rev() {
                *digit = b'0' + (number % 10) as u8;
                number /= 10;
            }
        };
        put(0, 4, year.unsigned_abs().into());
        put(5, 2, u8::from(month).into());
        put(8, 2, day.into());
        put(11, 2, hour.into());
        put(14, 2, minute.into());
        put(17, 2, second.into());
        put(20, 7, (value.nanosecond() / 100).into());
        text
    }
}

/// Rounds down to 100 ns.
impl TryFrom<OffsetDateTime> for DateTime {
    type Error = DateTimeRangeError;

    fn try_from(value: OffsetDateTime) -> Result<Self, Self::Error> {
        let out_of_range = || DateTimeRangeError(value.to_string());
        let utc = value.checked_to_offset(time::UtcOffset::UTC).ok_or_else(out_of_range)?;
        Self::from_ticks(Self::from_utc(utc.date(), utc.time()).0).map_err(|_| out_of_range())
    }
}

impl From<DateTime> for OffsetDateTime {
    fn from(value: DateTime) -> Self {
        let ticks = value.0 - UNIX_EPOCH_TICKS;
        let nanoseconds = ticks.rem_euclid(TICKS_PER_SECOND) * 100;
        Self::from_unix_timestamp(ticks.div_euclid(TICKS_PER_SECOND))
            .and_then(|second| second.replace_nanosecond(nanoseconds as u32))
            .unwrap_or(Self::UNIX_EPOCH)
    }
}

#[cfg(feature = "chrono")]
impl TryFrom<chrono::DateTime<chrono::Utc>> for DateTime {
    type Error = DateTimeRangeError;

    fn try_from(value: chrono::DateTime<chrono::Utc>) -> Result<Self, Self::Error> {
        let nanoseconds = i128::from(value.timestamp()) * 1_000_000_000
            + i128::from(value.timestamp_subsec_nanos().min(999_999_999));
        Self::from_unix_nanoseconds(nanoseconds, &value)
    }
}

#[cfg(feature = "chrono")]
impl From<DateTime> for chrono::DateTime<chrono::Utc> {
    fn from(value: DateTime) -> Self {
        let (seconds, ticks) = value.unix_seconds_and_ticks();
        Self::from_timestamp(seconds, ticks * 100).unwrap_or_default()
    }
}

#[cfg(feature = "jiff")]
impl TryFrom<jiff::Timestamp> for DateTime {
    type Error = DateTimeRangeError;

    fn try_from(value: jiff::Timestamp) -> Result<Self, Self::Error> {
        Self::from_unix_nanoseconds(value.as_nanosecond(), &value)
    }
}

/// Fails in the last hours of 9999, which `jiff` leaves out.
#[cfg(feature = "jiff")]
impl TryFrom<DateTime> for jiff::Timestamp {
    type Error = jiff::Error;

    fn try_from(value: DateTime) -> Result<Self, Self::Error> {
        let (seconds, ticks) = value.unix_seconds_and_ticks();
        Self::new(seconds, (ticks * 100).cast_signed())
    }
}

impl fmt::Debug for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(str::from_utf8(&self.text()).unwrap_or_default())
    }
}

/// Reads `yyyy-mm-ddThh:mm:ss[.f{1,7}]Z`; the service trims trailing zeros of the fraction.
impl FromStr for DateTime {
    type Err = DateTimeRangeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let instant = date_and_time(text.as_bytes())
            .and_then(|(date, time)| Self::from_ticks(Self::from_utc(date, time).0).ok());
        instant.ok_or_else(|| DateTimeRangeError(text.to_owned()))
    }
}

/// The instant that a [`DateTime`] of the same text is. The number of ticks in between would cost time.
pub(crate) struct Utc(pub OffsetDateTime);

impl FromStr for Utc {
    type Err = DateTimeRangeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // Four digits give no later year than the latest.
        let instant = date_and_time(text.as_bytes()).filter(|(date, _)| date.year() >= FIRST_YEAR);
        let (date, time) = instant.ok_or_else(|| DateTimeRangeError(text.to_owned()))?;
        Ok(Self(date.with_time(time).assume_utc()))
    }
}

fn date_and_time(text: &[u8]) -> Option<(Date, Time)> {
    let number = |range: std::ops::Range<usize>| {
        text.get(range)?.iter().try_fold(0_u32, |sum, digit| {
            digit.is_ascii_digit().then(|| sum * 10 + u32::from(digit - b'0'))
        })
    };
    let literal = |at: usize, byte: u8| (text.get(at) == Some(&byte)).then_some(());
    literal(4, b'-')?;
    literal(7, b'-')?;
    literal(10, b'T')?;
    literal(13, b':')?;
    literal(16, b':')?;
    let end = text.len().checked_sub(1)?;
    literal(end, b'Z')?;
    let fraction = match end {
        19 => 0,
        21..=27 => {
            literal(19, b'.')?;
            number(20..end)? * 10_u32.pow(7 - u32::try_from(end - 20).ok()?)
        }
        _ => return None,
    };
    let month = Month::try_from(u8::try_from(number(5..7)?).ok()?).ok()?;
    let year = i32::try_from(number(0..4)?).ok()?;
    let date = Date::from_calendar_date(year, month, u8::try_from(number(8..10)?).ok()?).ok()?;
    let two = |range| u8::try_from(number(range)?).ok();
    let time =
        Time::from_hms_nano(two(11..13)?, two(14..16)?, two(17..19)?, fraction * 100).ok()?;
    Some((date, time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_the_documented_instants() {
        assert_eq!(DateTime::MIN.to_string(), "1601-01-01T00:00:00.0000000Z");
        assert_eq!(DateTime::MAX.to_string(), "9999-12-31T23:59:59.9999999Z");
    }

    #[test]
    fn fractions_of_zero_to_seven_digits_are_read() {
        for (text, ticks) in [("", 0), (".1", 1_000_000), (".1234567", 1_234_567)] {
            let read: DateTime = format!("2011-11-06T09:10:00{text}Z").parse().unwrap();
            assert_eq!(read.ticks() % TICKS_PER_SECOND, ticks);
        }
    }

    #[test]
    fn the_parts_of_a_text_are_those_of_its_ticks() {
        for text in [
            "1600-12-31T23:59:59.9999999Z",
            "1601-01-01T00:00:00Z",
            "1969-12-31T23:59:59.9999999Z",
            "2011-11-06T09:10:00.1234567Z",
            "2024-02-29T00:00:00.1Z",
            "2023-02-29T00:00:00Z",
            "9999-12-31T23:59:59.9999999Z",
            "2011-11-06T24:00:00Z",
            "2011-11-06",
        ] {
            let parts = text.parse().map(|Utc(instant)| instant);
            assert_eq!(parts, text.parse::<DateTime>().map(OffsetDateTime::from), "{text}");
        }
    }

    #[test]
    fn text_that_is_not_an_instant_is_rejected() {
        for text in [
            "",
            "Z",
            "2011-11-06",
            "2011-02-30T00:00:00Z",
            "0001-01-01T00:00:00Z",
            "2011-11-06T09:10:00.Z",
            "2011-11-06T09:10:00.12345678Z",
            "2011-11-06T09:10:00",
        ] {
            assert!(text.parse::<DateTime>().is_err(), "{text}");
        }
    }
}
