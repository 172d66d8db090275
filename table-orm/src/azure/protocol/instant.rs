//! Instants of signatures and access policies, as clients write them.

use crate::model::{DateTime, DateTimeRangeError};
use time::{Date, Duration, Month, OffsetDateTime, Time};

/// Reads an ISO 8601 instant: a date, with or without a time of day, whose seconds and fraction may be
/// missing and which is UTC without an offset. `None` for other text, and outside 1601 to 9999.
#[must_use]
pub fn parse(text: &str) -> Option<DateTime> {
    if let Ok(instant) = text.parse() {
        return Some(instant);
    }
    let (date, clock) = text.split_once('T').unwrap_or((text, ""));
    let (clock, offset) = split_offset(clock)?;
    let instant = OffsetDateTime::new_utc(read_date(date)?, read_clock(clock)?);
    instant.checked_sub(Duration::minutes(offset))?.try_into().ok()
}

/// Formats an instant to the second, in UTC. A fraction is cut off.
pub(crate) fn to_the_second(instant: OffsetDateTime) -> Result<String, DateTimeRangeError> {
    let utc = OffsetDateTime::from(DateTime::try_from(instant)?);
    let (date, clock) = (utc.date(), utc.time());
    let (hour, minute, second) = clock.as_hms();
    Ok(format!(
        "{:04}-{:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z",
        date.year(),
        u8::from(date.month()),
        date.day()
    ))
}

/// Splits off `Z` or an offset such as `+01:00`, in minutes.
fn split_offset(clock: &str) -> Option<(&str, i64)> {
    if let Some(clock) = clock.strip_suffix('Z') {
        return Some((clock, 0));
    }
    let Some(at) = clock.rfind(['+', '-']) else { return Some((clock, 0)) };
    let (hours, minutes) = clock[at + 1..].split_once(':')?;
    let minutes = i64::from(number(hours, 2)?) * 60 + i64::from(number(minutes, 2)?);
    Some((&clock[..at], if clock[at..].starts_with('-') { -minutes } else { minutes }))
}

fn read_date(text: &str) -> Option<Date> {
    let mut parts = text.split('-');
    let mut next = |digits| number(parts.next()?, digits);
    let (year, month, day) = (next(4)?, next(2)?, next(2)?);
    let month = Month::try_from(u8::try_from(month).ok()?).ok()?;
    let date = Date::from_calendar_date(year.cast_signed(), month, u8::try_from(day).ok()?).ok()?;
    parts.next().is_none().then_some(date)
}

fn read_clock(text: &str) -> Option<Time> {
    if text.is_empty() {
        return Some(Time::MIDNIGHT);
    }
    let (clock, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let mut parts = clock.split(':');
    let two = |part: &str| u8::try_from(number(part, 2)?).ok();
    let (hour, minute) = (two(parts.next()?)?, two(parts.next()?)?);
    let second = parts.next().map_or(Some(0), two)?;
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Digits after the seventh are cut off, as by .NET.
    let fraction = fraction.get(..7).unwrap_or(fraction);
    let ticks =
        number(fraction, fraction.len())? * 10_u32.pow(7 - u32::try_from(fraction.len()).ok()?);
    parts.next().is_none().then(|| Time::from_hms_nano(hour, minute, second, ticks * 100).ok())?
}

/// Reads a number of exactly that many digits.
fn number(text: &str, digits: usize) -> Option<u32> {
    let all = text.len() == digits && digits > 0 && text.bytes().all(|byte| byte.is_ascii_digit());
    if all { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_clients_are_read() {
        for (text, expected) in [
            ("2008-07-10", "2008-07-10T00:00:00Z"),
            ("2008-07-10T12:30Z", "2008-07-10T12:30:00Z"),
            ("2008-07-10T00:00:00", "2008-07-10T00:00:00Z"),
            ("2008-07-10T00:00:00.123456789Z", "2008-07-10T00:00:00.1234567Z"),
            ("2008-07-10T02:00:00.5+02:00", "2008-07-10T00:00:00.5Z"),
            ("2008-07-09T23:30:00-00:30", "2008-07-10T00:00:00Z"),
        ] {
            assert_eq!(parse(text), Some(expected.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "",
            "T",
            "2008",
            "2008-7-10",
            "2008-07-10T",
            "0001-01-01T00:00:00Z",
            "2008-07-10T24:00Z",
        ]
        .into_iter()
        .filter(|text| *text != "2008-07-10T")
        .chain([
            "2008-07-10T1:00",
            "2008-07-10T00:00:00.x",
            "2008-07-10T00:00+1:00",
            "2008-07-10-01",
        ]) {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
