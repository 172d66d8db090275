//! PartitionKeys for rows that are written in the order of time: the second of the minute, then the day.
//!
//! Invariants:
//! - The partition of an instant never changes, because stored keys contain it: two digits of seconds and
//!   the date in UTC, `ssyyyymmdd`. So the rows of a day are in 60 partitions.
//! - The partitions of a range of time are those of its instants, each once, in the order in which the range
//!   first meets them.

use super::{
    Escape, IntoValue, KeyError, KeyFault, KeyPart, KeyReader, KeyText, Padded, Plain, Shape, Width,
};
use crate::model::{DateTime, TICKS_PER_SECOND};
use std::ops::{Bound, Range, RangeInclusive};
use time::{Date, Month, OffsetDateTime};

const DIGITS: usize = 10;
const SECONDS_PER_DAY: i64 = 86_400;
/// The partitions of a day.
const SECONDS: i64 = 60;
/// The most days of a range: each has 60 partitions, and each partition is at least one request.
const MAX_DAYS: i64 = 1000;

/// The partition of an instant, as the component `spread(at, second)` writes it: `ssyyyymmdd`. The instant
/// cannot be read back from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spread(Slot);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Slot {
    Second(u8, Date),
    /// The text of what has no partition, and why.
    Wrong(String, KeyFault),
}

/// An instant in UTC, or the text of one that the service cannot store.
type ReadInstant = Result<DateTime, String>;

/// An instant that rows are spread by.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an instant, so it has no second to spread by",
    label = "not an instant",
    note = "`spread` takes a `DateTime` or an `OffsetDateTime`, or an instant of the crate `chrono` 0.4 \
            or `jiff` 0.2 with the feature of that name"
)]
pub trait Instant: KeyPart<Plain> + Clone {
    /// It in UTC, or its text where the service cannot store it.
    fn instant(&self) -> ReadInstant;
}

#[diagnostic::do_not_recommend]
impl<T: KeyPart<Plain> + Clone> Instant for T
where
    DateTime: TryFrom<T>,
{
    fn instant(&self) -> ReadInstant {
        DateTime::try_from(self.clone()).map_err(|_| {
            let mut text = KeyText::new("", Escape::Encode);
            let _ = self.encode(&mut text);
            text.as_str().to_owned()
        })
    }
}

/// An argument for a range of time with both ends: `a..b` or `a..=b`.
#[diagnostic::on_unimplemented(
    message = "expected a range of `{T}` with both ends, found `{Self}`",
    label = "expected a range such as `a..b` of `{T}`",
    note = "each day has 60 partitions, so pass `a..b` or `a..=b`"
)]
pub trait IntoBounded<T> {
    /// Its two ends.
    fn into_bounded(self) -> (Bound<T>, Bound<T>);
}

#[diagnostic::do_not_recommend]
impl<T, V: IntoValue<T>> IntoBounded<T> for Range<V> {
    fn into_bounded(self) -> (Bound<T>, Bound<T>) {
        (Bound::Included(self.start.into_value()), Bound::Excluded(self.end.into_value()))
    }
}

#[diagnostic::do_not_recommend]
impl<T, V: IntoValue<T>> IntoBounded<T> for RangeInclusive<V> {
    fn into_bounded(self) -> (Bound<T>, Bound<T>) {
        let (start, end) = self.into_inner();
        (Bound::Included(start.into_value()), Bound::Included(end.into_value()))
    }
}

impl Spread {
    /// The partition of an instant.
    pub fn of<T: Instant>(value: &T) -> Self {
        Self::read_by(Self::read, value)
    }

    /// The partition of a value that `read` takes for an instant. Generated code says how to read it, where the
    /// field's type is: a type that is no instant is then one error.
    #[doc(hidden)]
    pub fn read_by<T>(read: fn(&T) -> ReadInstant, value: &T) -> Self {
        Self(match read(value) {
            Ok(instant) => Slot::of(instant.ticks().div_euclid(TICKS_PER_SECOND)),
            Err(text) => Slot::Wrong(text, KeyFault::OutOfRange),
        })
    }

    #[doc(hidden)]
    pub fn read<T: Instant>(value: &T) -> ReadInstant {
        value.instant()
    }

    /// What `make` returns for each partition of a range of time. For a wrong range, it is called once, with what
    /// makes its key fail.
    pub fn map_in<T, R>(
        read: fn(&T) -> ReadInstant,
        range: &(Bound<T>, Bound<T>),
        make: impl FnMut(Self) -> R,
    ) -> Vec<R> {
        let slots = seconds(range, read).and_then(slots).unwrap_or_else(|wrong| vec![wrong]);
        slots.into_iter().map(Self).map(make).collect()
    }
}

impl Slot {
    /// Of a second since the year 1.
    fn of(second: i64) -> Self {
        let instant = DateTime::from_ticks(second * TICKS_PER_SECOND).unwrap_or(DateTime::MIN);
        let date = OffsetDateTime::from(instant).date();
        Self::Second(second.rem_euclid(SECONDS) as u8, date)
    }
}

/// The first and the last second of a range, since the year 1; `None` for an empty one.
fn seconds<T>(
    (from, to): &(Bound<T>, Bound<T>),
    read: fn(&T) -> ReadInstant,
) -> Result<Option<(i64, i64)>, Slot> {
    let ticks = |bound: &Bound<T>, open: DateTime| match bound {
        Bound::Included(value) | Bound::Excluded(value) => match read(value) {
            Ok(instant) => Ok(instant.ticks()),
            Err(text) => Err(Slot::Wrong(text, KeyFault::OutOfRange)),
        },
        Bound::Unbounded => Ok(open.ticks()),
    };
    let (first, last) = (ticks(from, DateTime::MIN)?, ticks(to, DateTime::MAX)?);
    if first > last {
        return Err(Slot::Wrong(described(first, last), KeyFault::InvertedRange));
    }
    let first = first + i64::from(matches!(from, Bound::Excluded(_)));
    let last = last - i64::from(matches!(to, Bound::Excluded(_)));
    let second = |ticks: i64| ticks.div_euclid(TICKS_PER_SECOND);
    Ok((first <= last).then(|| (second(first), second(last))))
}

/// The partitions of the seconds of a range.
fn slots(seconds: Option<(i64, i64)>) -> Result<Vec<Slot>, Slot> {
    let Some((first, last)) = seconds else { return Ok(Vec::new()) };
    let day = |second: i64| second.div_euclid(SECONDS_PER_DAY);
    if day(last) - day(first) >= MAX_DAYS {
        let range = described(first * TICKS_PER_SECOND, last * TICKS_PER_SECOND);
        return Err(Slot::Wrong(range, KeyFault::LongRange(MAX_DAYS)));
    }
    let of_day = |day: i64| {
        let start = first.max(day * SECONDS_PER_DAY);
        let end = last.min((day + 1) * SECONDS_PER_DAY - 1);
        (start..=end.min(start + SECONDS - 1)).map(Slot::of)
    };
    Ok((day(first)..=day(last)).flat_map(of_day).collect())
}

fn described(from: i64, to: i64) -> String {
    let text = |ticks| DateTime::from_ticks(ticks).map(|instant| instant.to_string());
    format!("{}..{}", text(from).unwrap_or_default(), text(to).unwrap_or_default())
}

impl KeyPart<Plain> for Spread {
    const WIDTH: Width = Width::Fixed(DIGITS);
    const SHAPE: Shape = Shape::Digits(DIGITS);

    fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
        match &self.0 {
            Slot::Second(second, date) => {
                let (year, month, day) = (date.year(), u8::from(date.month()), date.day());
                key.push_plain(&format!("{second:02}{year:04}{month:02}{day:02}"));
                Ok(())
            }
            Slot::Wrong(text, fault) => {
                key.push_plain(text);
                Err(fault.clone())
            }
        }
    }

    fn decode(text: &str) -> Result<Self, KeyFault> {
        let (second, year, month, day) = parts(text).map_err(|_| KeyFault::Malformed)?;
        let month = Month::try_from(month).map_err(|_| KeyFault::Malformed)?;
        let date = Date::from_calendar_date(year.into(), month, day).ok();
        let date = date.filter(|_| i64::from(second) < SECONDS && (1601..=9999).contains(&year));
        date.map(|date| Self(Slot::Second(second, date))).ok_or(KeyFault::Malformed)
    }
}

fn parts(text: &str) -> Result<(u8, u16, u8, u8), KeyError> {
    let mut reader = KeyReader::new("Spread", Escape::Reject, text);
    let second = reader.part::<Padded<2>, u8>("second", "")?;
    let year = reader.part::<Padded<4>, u16>("year", "")?;
    let month = reader.part::<Padded<2>, u8>("month", "")?;
    let day = reader.part::<Padded<2>, u8>("day", "")?;
    reader.finish()?;
    Ok((second, year, month, day))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    type Bounds = (Bound<DateTime>, Bound<DateTime>);

    fn text(slot: &Spread) -> Result<String, KeyFault> {
        let mut key = KeyText::new("Test", Escape::Reject);
        slot.encode(&mut key).map(|()| key.as_str().to_owned())
    }

    fn at(text: &str) -> DateTime {
        text.parse().unwrap()
    }

    fn texts(range: impl IntoBounded<DateTime>) -> Result<Vec<String>, KeyFault> {
        Spread::map_in(Spread::read, &range.into_bounded(), |slot| text(&slot))
            .into_iter()
            .collect()
    }

    #[test]
    fn the_text_is_the_second_and_the_day_and_reads_back() {
        let slot = Spread::of(&at("2011-11-06T14:10:07.25Z"));
        assert_eq!(text(&slot), Ok("0720111106".to_owned()));
        assert_eq!(Spread::decode("0720111106"), Ok(slot));
        for wrong in [
            "6020111106",
            "0720111306",
            "0720110229",
            "072011110",
            "07201111060",
            "0716001231",
            "+720111106",
            "",
        ] {
            assert_eq!(Spread::decode(wrong), Err(KeyFault::Malformed), "{wrong}");
        }
    }

    #[test]
    fn a_short_range_has_the_partitions_of_its_seconds_in_the_order_of_time() {
        let range = at("2011-11-06T14:10:58Z")..at("2011-11-06T14:11:01Z");
        assert_eq!(texts(range).unwrap(), ["5820111106", "5920111106", "0020111106"]);
        let midnight = at("2011-11-06T23:59:59.5Z")..=at("2011-11-07T00:00:00Z");
        assert_eq!(texts(midnight).unwrap(), ["5920111106", "0020111107"]);
        let instant = at("2011-11-06T14:10:58Z");
        assert_eq!(texts(instant..=instant).unwrap(), ["5820111106"]);
        assert_eq!(texts(instant..instant).unwrap(), [""; 0]);
    }

    #[test]
    fn a_day_has_sixty_partitions_and_a_longer_range_those_of_each_day() {
        let days = |to: &str| texts(at("2024-02-28T12:00:30Z")..at(to)).unwrap();
        assert_eq!(days("2024-02-28T12:01:29Z").len(), 59);
        assert_eq!(days("2024-02-28T23:00:00Z").len(), 60);
        assert_eq!(days("2024-02-28T23:00:00Z")[0], "3020240228");
        assert_eq!(days("2024-02-29T00:00:05Z").len(), 65);
        assert_eq!(days("2024-03-02T00:00:00Z").len(), 180);
    }

    #[test]
    fn a_range_that_has_no_partitions_is_one_that_no_key_holds() {
        let (early, late) = (at("2011-11-06T00:00:00Z"), at("2020-01-01T00:00:00Z"));
        assert_eq!(texts(late..early), Err(KeyFault::InvertedRange));
        assert_eq!(texts(early..late), Err(KeyFault::LongRange(1000)));
        let open: Bounds = (Bound::Unbounded, Bound::Included(late));
        assert_eq!(
            Spread::map_in(Spread::read, &open, |slot| text(&slot)),
            [Err(KeyFault::LongRange(1000))]
        );
        let year_0 = OffsetDateTime::from(early).replace_year(0).unwrap();
        let range = (Bound::Included(year_0), Bound::Excluded(year_0));
        assert_eq!(
            Spread::map_in(Spread::read, &range, |slot| text(&slot)),
            [Err(KeyFault::OutOfRange)]
        );
        assert_eq!(text(&Spread::of(&year_0)), Err(KeyFault::OutOfRange));
    }

    fn ticks() -> impl Strategy<Value = i64> {
        // Three days, and within them some seconds.
        let days = 0..3 * 864_000_000_000_i64;
        let start = at("2011-12-30T12:00:00Z").ticks();
        prop_oneof![days.clone(), (0..1_200_000_000_i64), days].prop_map(move |ticks| start + ticks)
    }

    proptest! {
        #[test]
        fn the_partitions_of_a_range_are_those_of_its_instants(
            one in ticks(),
            other in ticks(),
            inside in 0.0..1.0,
            inclusive in any::<bool>(),
        ) {
            let (from, to) = (one.min(other), one.max(other));
            let instant = |ticks| DateTime::from_ticks(ticks).unwrap();
            let slots = if inclusive {
                texts(instant(from)..=instant(to)).unwrap()
            } else {
                texts(instant(from)..instant(to)).unwrap()
            };
            // Each once.
            prop_assert_eq!(slots.iter().collect::<BTreeSet<_>>().len(), slots.len());
            let last = to - i64::from(!inclusive);
            // The partition of any instant in the range is one of them.
            let some = from + ((last - from) as f64 * inside) as i64;
            for ticks in [from, some, last].into_iter().filter(|ticks| (from..=last).contains(ticks)) {
                let slot = text(&Spread::of(&instant(ticks))).unwrap();
                prop_assert!(slots.contains(&slot), "{slot} {slots:?}");
            }
            // And each is that of a second in the range.
            let seconds = (from / TICKS_PER_SECOND..=last / TICKS_PER_SECOND).take(if from <= last { usize::MAX } else { 0 });
            if seconds.size_hint().0 < 200 {
                let of = |second: i64| text(&Spread(Slot::of(second))).unwrap();
                let expected: BTreeSet<_> = seconds.map(of).collect();
                prop_assert!(slots.iter().all(|slot| expected.contains(slot)));
            }
        }
    }
}
