//! Spans of time that have a table of their own.
//!
//! Invariants: every instant is in exactly one period of a length. The digits of a period name it and no
//! other one, and those of one length sort as time does.

use super::{DateTime, TableName};
use std::fmt;
use std::ops::{Bound, Range, RangeInclusive};
use time::{Date, Month, OffsetDateTime, Time};

const TICKS_PER_HOUR: i64 = 36_000_000_000;
const TICKS_PER_DAY: i64 = 24 * TICKS_PER_HOUR;

/// How long the periods are whose entities share a table: hours, days, months or years, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(clippy::exhaustive_enums, reason = "the lengths that `bucket(..)` takes")]
pub enum Bucket {
    /// One table for each hour: `readings2026112318`.
    Hour,
    /// One table for each day: `readings20261123`.
    Day,
    /// One table for each month: `readings202611`.
    Month,
    /// One table for each year: `readings2026`.
    Year,
}

impl Bucket {
    /// Returns how many digits name a period: 4 to 10.
    #[must_use]
    pub const fn digits(self) -> usize {
        match self {
            Self::Year => 4,
            Self::Month => 6,
            Self::Day => 8,
            Self::Hour => 10,
        }
    }

    /// Its name, as `bucket(..)` takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Year => "year",
            Self::Month => "month",
            Self::Day => "day",
            Self::Hour => "hour",
        }
    }
}

/// One hour, day, month or year in UTC, whose entities share a table.
///
/// ```
/// use table_orm::model::{Bucket, DateTime, Period};
///
/// # fn main() -> Result<(), table_orm::model::DateTimeRangeError> {
/// let at: DateTime = "2026-11-23T18:30:00.0000000Z".parse()?;
/// let month = Period::of(Bucket::Month, at);
/// assert_eq!(month.to_string(), "202611");
/// assert_eq!(month.start().to_string(), "2026-11-01T00:00:00.0000000Z");
/// assert_eq!(month.back(11).to_string(), "202512");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Period {
    start: DateTime,
    bucket: Bucket,
}

impl Period {
    /// The period of an instant.
    #[must_use]
    pub fn of(bucket: Bucket, at: DateTime) -> Self {
        let (ticks, date) = (at.ticks(), OffsetDateTime::from(at).date());
        let day = ticks - ticks.rem_euclid(TICKS_PER_DAY);
        let start = match bucket {
            Bucket::Hour => ticks - ticks.rem_euclid(TICKS_PER_HOUR),
            Bucket::Day => day,
            Bucket::Month => day - i64::from(date.day() - 1) * TICKS_PER_DAY,
            Bucket::Year => day - i64::from(date.ordinal() - 1) * TICKS_PER_DAY,
        };
        // The first year begins at the first instant, so each start is one.
        let start = DateTime::from_ticks(start).unwrap_or(DateTime::MIN);
        Self { start, bucket }
    }

    /// The period that these digits name; `None` for another text.
    #[must_use]
    pub fn parse(bucket: Bucket, digits: &str) -> Option<Self> {
        if digits.len() != bucket.digits() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        // What a longer period has no digits for is its first.
        let part = |at: Range<usize>, first: u8| {
            digits.get(at).map_or(Some(first), |text| text.parse().ok())
        };
        let year = digits[..4].parse().ok()?;
        let month = Month::try_from(part(4..6, 1)?).ok()?;
        let date = Date::from_calendar_date(year, month, part(6..8, 1)?).ok()?;
        let time = Time::from_hms(part(8..10, 0)?, 0, 0).ok()?;
        let start = OffsetDateTime::new_utc(date, time).try_into().ok()?;
        Some(Self { start, bucket })
    }

    /// Returns how long it is.
    #[must_use]
    pub const fn bucket(self) -> Bucket {
        self.bucket
    }

    /// Its first instant.
    #[must_use]
    pub const fn start(self) -> DateTime {
        self.start
    }

    /// The next one; `None` after the end of the year 9999.
    #[must_use]
    pub fn next(self) -> Option<Self> {
        let date = OffsetDateTime::from(self.start).date();
        let length = match self.bucket {
            Bucket::Hour => TICKS_PER_HOUR,
            Bucket::Day => TICKS_PER_DAY,
            Bucket::Month => i64::from(date.month().length(date.year())) * TICKS_PER_DAY,
            Bucket::Year => i64::from(time::util::days_in_year(date.year())) * TICKS_PER_DAY,
        };
        let start = DateTime::from_ticks(self.start.ticks() + length).ok()?;
        Some(Self { start, ..self })
    }

    /// The one before; `None` before the year 1601.
    #[must_use]
    pub fn previous(self) -> Option<Self> {
        let before = DateTime::from_ticks(self.start.ticks() - 1).ok()?;
        Some(Self::of(self.bucket, before))
    }

    /// Returns the period that many periods earlier, or the first of all.
    #[must_use]
    pub fn back(self, periods: usize) -> Self {
        let back = i64::try_from(periods).unwrap_or(i64::MAX);
        let date = OffsetDateTime::from(self.start).date();
        let month = i64::from(date.year()) * 12 + i64::from(u8::from(date.month())) - 1;
        let start = match self.bucket {
            Bucket::Hour => self.hours_before(back),
            Bucket::Day => back.checked_mul(24).and_then(|hours| self.hours_before(hours)),
            Bucket::Month => month.checked_sub(back).and_then(start_of_month),
            Bucket::Year => {
                back.checked_mul(12).and_then(|back| start_of_month(month.checked_sub(back)?))
            }
        };
        Self { start: start.unwrap_or(DateTime::MIN), ..self }
    }

    fn hours_before(self, hours: i64) -> Option<DateTime> {
        let ticks = hours.checked_mul(TICKS_PER_HOUR)?;
        DateTime::from_ticks(self.start.ticks().checked_sub(ticks)?).ok()
    }

    /// The table of the period.
    pub(crate) fn table(self, base: &TableName) -> TableName {
        TableName::checked(&format!("{base}{self}"))
    }

    /// The period whose table that is, among those with names of that base.
    pub(crate) fn of_table(bucket: Bucket, base: &TableName, table: &TableName) -> Option<Self> {
        let (name, digits) = table.as_str().split_at_checked(base.as_str().len())?;
        // The names of tables have no case.
        name.eq_ignore_ascii_case(base.as_str()).then(|| Self::parse(bucket, digits))?
    }
}

/// The start of a month, by its number since the year 0; `None` outside the service's years.
fn start_of_month(month: i64) -> Option<DateTime> {
    let year = i32::try_from(month.div_euclid(12)).ok()?;
    let of_year = Month::January.nth_next(u8::try_from(month.rem_euclid(12)).ok()?);
    let date = Date::from_calendar_date(year, of_year, 1).ok()?;
    OffsetDateTime::new_utc(date, Time::MIDNIGHT).try_into().ok()
}

/// The digits that name it: `2026`, `202611`, `20261123` or `2026112318`.
impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = OffsetDateTime::from(self.start);
        write!(f, "{:04}", start.year())?;
        let parts = [u8::from(start.month()), start.day(), start.hour()];
        let more = (self.bucket.digits() - 4) / 2;
        parts.iter().take(more).try_for_each(|part| write!(f, "{part:02}"))
    }
}

/// Its first instant.
impl From<Period> for DateTime {
    fn from(period: Period) -> Self {
        period.start
    }
}

/// An instant that is in a period, or a period itself.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an instant, so it has no period",
    label = "not an instant",
    note = "use a `DateTime`, an `OffsetDateTime` or a `Period`, or an instant of the crate `chrono` 0.4 or \
            `jiff` 0.2 with the feature of that name"
)]
pub trait Moment: Clone {
    /// It in UTC; `None` where the service has no such instant.
    fn moment(&self) -> Option<DateTime>;
}

#[diagnostic::do_not_recommend]
impl<T: Clone> Moment for T
where
    DateTime: TryFrom<T>,
{
    fn moment(&self) -> Option<DateTime> {
        DateTime::try_from(self.clone()).ok()
    }
}

/// A range of time with both ends: `a..b` or `a..=b`.
#[diagnostic::on_unimplemented(
    message = "expected a range of time with both ends, found `{Self}`",
    label = "expected a range such as `a..b` of instants",
    note = "each period is at least one request, so pass `a..b` or `a..=b`"
)]
pub trait TimeRange {
    /// Its two ends; `None` for an end that the service has no such instant of.
    fn ends(self) -> Option<(DateTime, Bound<DateTime>)>;
}

#[diagnostic::do_not_recommend]
impl<T: Moment> TimeRange for Range<T> {
    fn ends(self) -> Option<(DateTime, Bound<DateTime>)> {
        Some((self.start.moment()?, Bound::Excluded(self.end.moment()?)))
    }
}

#[diagnostic::do_not_recommend]
impl<T: Moment> TimeRange for RangeInclusive<T> {
    fn ends(self) -> Option<(DateTime, Bound<DateTime>)> {
        Some((self.start().moment()?, Bound::Included(self.end().moment()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BUCKETS: [Bucket; 4] = [Bucket::Hour, Bucket::Day, Bucket::Month, Bucket::Year];

    fn at(text: &str) -> DateTime {
        text.parse().unwrap()
    }

    #[test]
    fn an_instant_on_a_border_is_in_the_later_period() {
        for (bucket, before, after) in [
            (Bucket::Hour, "2023123123", "2024010100"),
            (Bucket::Day, "20231231", "20240101"),
            (Bucket::Month, "202312", "202401"),
            (Bucket::Year, "2023", "2024"),
        ] {
            let last = Period::of(bucket, at("2023-12-31T23:59:59.9999999Z"));
            let first = Period::of(bucket, at("2024-01-01T00:00:00.0000000Z"));
            assert_eq!((last.to_string().as_str(), first.to_string().as_str()), (before, after));
            assert_eq!((last.next(), first.previous()), (Some(first), Some(last)));
        }
        let leap = Period::parse(Bucket::Day, "20240228").unwrap();
        assert_eq!(leap.next().unwrap().to_string(), "20240229");
        assert_eq!(Period::of(Bucket::Year, DateTime::MIN).previous(), None);
        assert_eq!(Period::of(Bucket::Hour, DateTime::MAX).next(), None);
    }

    #[test]
    fn only_its_own_digits_name_a_period() {
        for wrong in ["", "20261", "202613", "202600", "+20261", "2026 1", "20261123", "150012"] {
            assert_eq!(Period::parse(Bucket::Month, wrong), None, "{wrong}");
        }
        assert_eq!(Period::parse(Bucket::Day, "20230229"), None);
        assert_eq!(Period::parse(Bucket::Hour, "2026112324"), None);
        let base = TableName::new("readings").unwrap();
        let of = |name| {
            let table = TableName::new(name).unwrap();
            Period::of_table(Bucket::Month, &base, &table).map(|period| period.to_string())
        };
        assert_eq!(of("READINGS202611").as_deref(), Some("202611"));
        for other in
            ["readings", "readings2026", "readings20261123", "readingsA202611", "reading202611"]
        {
            assert_eq!(of(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn each_instant_is_between_its_period_and_the_next(
            ticks in DateTime::MIN.ticks()..=DateTime::MAX.ticks(),
            bucket in prop::sample::select(&BUCKETS[..]),
        ) {
            let instant = DateTime::from_ticks(ticks).unwrap();
            let period = Period::of(bucket, instant);
            prop_assert!(period.start() <= instant);
            prop_assert!(period.next().is_none_or(|next| instant < next.start()));
            let digits = period.to_string();
            prop_assert_eq!((digits.len(), period.bucket()), (bucket.digits(), bucket));
            prop_assert_eq!(Period::parse(bucket, &digits), Some(period));
            prop_assert_eq!(period.next().and_then(Period::previous).unwrap_or(period), period);
        }

        #[test]
        fn a_period_so_many_back_is_that_many_steps_before(
            ticks in DateTime::MIN.ticks()..=DateTime::MAX.ticks(),
            bucket in prop::sample::select(&BUCKETS[..]),
            periods in 0_usize..60,
        ) {
            let period = Period::of(bucket, DateTime::from_ticks(ticks).unwrap());
            let steps = std::iter::successors(Some(period), |period| period.previous());
            prop_assert_eq!(Some(period.back(periods)), steps.take(periods + 1).last());
            for far in [usize::MAX, usize::MAX / 24, 100_000_000] {
                prop_assert_eq!(period.back(far), Period::of(bucket, DateTime::MIN));
            }
        }
    }
}
