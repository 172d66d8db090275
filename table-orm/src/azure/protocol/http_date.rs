//! Dates as headers have them: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7).

use crate::model::DateTime;
use httpdate::{fmt_http_date, parse_http_date};
use std::borrow::Cow;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use time::OffsetDateTime;

/// The length of a date. The two obsolete forms, which nobody has sent since the nineties, have
/// other lengths.
const LENGTH: usize = "Sun, 06 Nov 1994 08:49:37 GMT".len();

/// The last second of the year 9999.
const LAST: Duration = Duration::from_secs(253_402_300_799);

/// Formats a moment. `httpdate` panics at moments before 1970 and after 9999, which a broken clock
/// may give.
#[must_use]
pub fn format(moment: SystemTime) -> String {
    fmt_http_date(moment.clamp(UNIX_EPOCH, UNIX_EPOCH + LAST))
}

/// Reads a moment; `None` for text in another form.
#[must_use]
pub fn parse(text: &str) -> Option<SystemTime> {
    let text = text.trim();
    // `httpdate` refuses a leap second, which is the last second of its minute to other clocks.
    let text = text
        .strip_suffix(":60 GMT")
        .map_or(Cow::Borrowed(text), |minute| Cow::Owned(format!("{minute}:59 GMT")));
    if text.len() == LENGTH { parse_http_date(&text).ok() } else { None }
}

/// Converts a moment that was read; `None` for one that the service's data model cannot hold.
pub(crate) fn instant(moment: SystemTime) -> Option<DateTime> {
    let seconds = moment.duration_since(UNIX_EPOCH).ok()?.as_secs();
    let instant = OffsetDateTime::from_unix_timestamp(seconds.try_into().ok()?).ok()?;
    instant.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_read_to_the_second() {
        let seconds = |text| parse(text).unwrap().duration_since(UNIX_EPOCH).unwrap().as_secs();
        assert_eq!(seconds("Sun, 06 Nov 1994 08:49:37 GMT"), 784_111_777);
        assert_eq!(seconds(" Sat, 31 Dec 2016 23:59:60 GMT "), 1_483_228_799);
    }

    #[test]
    fn a_date_is_written_as_it_is_read() {
        for text in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sat, 31 Dec 2016 23:59:59 GMT"] {
            assert_eq!(format(parse(text).unwrap()), text);
        }
        let early = UNIX_EPOCH - Duration::from_secs(1);
        assert_eq!(format(early), "Thu, 01 Jan 1970 00:00:00 GMT");
        let late = UNIX_EPOCH + LAST + Duration::from_secs(1);
        assert_eq!(format(late), "Fri, 31 Dec 9999 23:59:59 GMT");
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
