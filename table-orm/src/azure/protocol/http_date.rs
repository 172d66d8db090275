//! Dates as headers have them: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7).

use time::{Date, Month, OffsetDateTime, Time, UtcOffset};

const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The text of a moment.
pub(crate) fn format(moment: OffsetDateTime) -> String {
    let moment = moment.to_offset(UtcOffset::UTC);
    let weekday = WEEKDAYS[usize::from(moment.weekday().number_days_from_sunday())];
    let month = MONTHS[usize::from(u8::from(moment.month()) - 1)];
    let (day, year) = (moment.day(), moment.year());
    let (hour, minute, second) = moment.to_hms();
    format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
}

/// The moment, `None` for text in another form, such as the two that nobody has sent since the
/// nineties.
pub(crate) fn parse(text: &str) -> Option<OffsetDateTime> {
    let parts: Vec<&str> = text.split_ascii_whitespace().collect();
    let [_weekday, day, month, year, time, "GMT"] = parts[..] else { return None };
    let month = MONTHS.iter().zip(1_u8..).find(|(name, _)| **name == month)?.1;
    let month = Month::try_from(month).ok()?;
    let date = Date::from_calendar_date(number(year, 4)?.into(), month, small(day)?).ok()?;
    let (hour, rest) = time.split_once(':')?;
    let (minute, second) = rest.split_once(':')?;
    // A leap second is the last one of its minute to those who have none.
    let second = small(second)?;
    let second = if second == 60 { 59 } else { second };
    let time = Time::from_hms(small(hour)?, small(minute)?, second).ok()?;
    Some(OffsetDateTime::new_in_offset(date, time, UtcOffset::UTC))
}

fn small(text: &str) -> Option<u8> {
    number(text, 2)?.try_into().ok()
}

fn number(text: &str, digits: usize) -> Option<u16> {
    let is_number = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_read_to_the_second() {
        let moment = parse("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        assert_eq!(moment.unix_timestamp(), 784_111_777);
        let leap = parse(" Sat, 31 Dec 2016 23:59:60 GMT ").unwrap();
        assert_eq!(leap.unix_timestamp(), 1_483_228_799);
    }

    #[test]
    fn a_date_is_written_as_it_is_read() {
        for text in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sat, 31 Dec 2016 23:59:59 GMT"] {
            assert_eq!(format(parse(text).unwrap()), text);
        }
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "7",
            "Sun, 06 Nov 1994 08:49:37",
            "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 31 Feb 1994 08:49:37 GMT",
            "Sun, 06 nov 1994 08:49:37 GMT",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov +994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:49:37 GMT",
            "Sun, 06 Nov 1994 08:49 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
