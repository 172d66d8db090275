//! The promises of the module, for every encoder and for whole keys.

use super::*;
use crate::model::{DateTime, order};
use crate::query::{KeyBuilder, KeyRange};
use proptest::prelude::*;
use std::cmp::Ordering;
use std::fmt::Debug;
use std::ops::Bound;
use time::{Date, OffsetDateTime, Time};
use uuid::Uuid;

fn text<X, T: KeyPart<X>>(value: &T) -> Result<String, KeyError> {
    let mut key = KeyText::new("Test", Escape::Reject);
    key.part::<X, T>("x", value, "")?;
    key.finish()
}

fn decodes_back<X, T: KeyPart<X> + PartialEq + Debug>(value: T) {
    let text = text::<X, T>(&value).unwrap();
    assert_eq!(T::decode(&text).as_ref(), Ok(&value), "{text}");
    assert!(T::SHAPE.takes(&text, Escape::Reject), "{text} {:?}", T::SHAPE);
    assert!(T::SHAPE.most_units().is_none_or(|most| order::len(&text) <= most), "{text}");
    assert_eq!(T::SHAPE.fixed().is_some(), T::WIDTH.is_fixed());
    let units = order::len(&text);
    match T::WIDTH {
        Width::Fixed(width) => assert!(units == width && text.is_ascii(), "{text}"),
        Width::UpTo(width) => assert!(units <= width, "{text}"),
        Width::Unbounded => {}
    }
}

/// Text order is value order, and no text is a prefix of another's where the type promises that.
fn sorts<X, T: SortedLast<X>>(left: &T, right: &T, values: Ordering) {
    let (a, b) = (text::<X, T>(left).unwrap(), text::<X, T>(right).unwrap());
    let expected = if T::REVERSED { values.reverse() } else { values };
    assert_eq!(order::compare(&a, &b), expected, "{a} {b}");
    if T::PREFIX_FREE && values.is_ne() {
        assert!(!a.starts_with(&b) && !b.starts_with(&a), "{a} {b}");
    }
}

macro_rules! encoder {
    ($($name:ident: $strategy:expr => $type:ty as $encoder:ty;)*) => {
        proptest! {$(
            #[test]
            fn $name(a in $strategy, b in $strategy) {
                decodes_back::<$encoder, $type>(a.clone());
                sorts::<$encoder, $type>(&a, &b, a.cmp(&b));
                sorts::<$encoder, $type>(&a, &a, Ordering::Equal);
            }
        )*}
    };
}

fn instant() -> impl Strategy<Value = OffsetDateTime> {
    date_time().prop_map(OffsetDateTime::from)
}

fn date_time() -> impl Strategy<Value = DateTime> {
    (DateTime::MIN.ticks()..=DateTime::MAX.ticks())
        .prop_map(|ticks| DateTime::from_ticks(ticks).unwrap())
}

fn date() -> impl Strategy<Value = Date> {
    let first = Date::from_ordinal_date(1601, 1).unwrap().to_julian_day();
    (first..=5_373_484).prop_map(|day| Date::from_julian_day(day).unwrap())
}

fn time_of_day() -> impl Strategy<Value = Time> {
    (0_u32..24, 0_u32..60, 0_u32..60, 0_u32..10_000_000).prop_map(|(hour, minute, second, tick)| {
        Time::from_hms_nano(hour as u8, minute as u8, second as u8, tick * 100).unwrap()
    })
}

/// The values of another type that have the same text.
#[cfg(any(feature = "chrono", feature = "jiff"))]
fn text_of<T: KeyPart + Debug, U: KeyPart + Debug>(
    values: impl Strategy<Value = T>,
) -> impl Strategy<Value = U> {
    values.prop_map(|value| U::decode(&text::<Plain, T>(&value).unwrap()).unwrap())
}

encoder! {
    u8_padded_sorts: any::<u8>() => u8 as Padded<3>;
    u32_padded_sorts: 0_u32..100_000 => u32 as Padded<5>;
    u64_padded_sorts: any::<u64>() => u64 as Padded<20>;
    u64_padded_beyond_its_digits_sorts: any::<u64>() => u64 as Padded<24>;
    u16_ascending_sorts: any::<u16>() => u16 as Ascending;
    u64_ascending_sorts: any::<u64>() => u64 as Ascending;
    u32_descending_sorts_down: any::<u32>() => u32 as Descending;
    u64_descending_sorts_down: any::<u64>() => u64 as Descending;
    u32_descending_padded_sorts_down: 0_u32..100_000 => u32 as DescendingPadded<5>;
    i8_biased_sorts: any::<i8>() => i8 as Biased;
    i16_biased_sorts: any::<i16>() => i16 as Biased;
    i32_biased_sorts: any::<i32>() => i32 as Biased;
    i64_biased_sorts: any::<i64>() => i64 as Biased;
    i64_ascending_sorts: any::<i64>() => i64 as Ascending;
    i64_descending_sorts_down: any::<i64>() => i64 as Descending;
    bool_sorts: any::<bool>() => bool as Plain;
    uuid_sorts: any::<u128>().prop_map(Uuid::from_u128) => Uuid as Plain;
    uuid_descending_sorts_down: any::<u128>().prop_map(Uuid::from_u128) => Uuid as Descending;
    instant_sorts: instant() => OffsetDateTime as Plain;
    instant_ascending_sorts: instant() => OffsetDateTime as Ascending;
    instant_descending_sorts_down: instant() => OffsetDateTime as Descending;
    date_time_descending_sorts_down: date_time() => DateTime as Descending;
    date_sorts: date() => Date as Plain;
    date_descending_sorts_down: date() => Date as Descending;
    time_of_day_sorts: time_of_day() => Time as Plain;
}

#[cfg(feature = "ulid")]
encoder! {
    ulid_sorts: any::<u128>().prop_map(ulid::Ulid) => ulid::Ulid as Plain;
    ulid_descending_sorts_down: any::<u128>().prop_map(ulid::Ulid) => ulid::Ulid as Descending;
}

#[cfg(feature = "chrono")]
encoder! {
    chrono_sorts: date_time().prop_map(chrono::DateTime::<chrono::Utc>::from)
        => chrono::DateTime<chrono::Utc> as Plain;
    chrono_descending_sorts_down: date_time().prop_map(chrono::DateTime::<chrono::Utc>::from)
        => chrono::DateTime<chrono::Utc> as Descending;
    chrono_date_sorts: text_of::<_, chrono::NaiveDate>(date()) => chrono::NaiveDate as Plain;
    chrono_date_ascending_sorts: text_of::<_, chrono::NaiveDate>(date()) => chrono::NaiveDate as Ascending;
    chrono_date_descending_sorts_down: text_of::<_, chrono::NaiveDate>(date()) => chrono::NaiveDate as Descending;
    chrono_time_of_day_sorts: text_of::<_, chrono::NaiveTime>(time_of_day()) => chrono::NaiveTime as Plain;
}

#[cfg(feature = "jiff")]
encoder! {
    jiff_sorts: date_time().prop_filter_map("jiff ends a day earlier", |at| jiff::Timestamp::try_from(at).ok())
        => jiff::Timestamp as Plain;
    jiff_descending_sorts_down:
        date_time().prop_filter_map("jiff ends a day earlier", |at| jiff::Timestamp::try_from(at).ok())
        => jiff::Timestamp as Descending;
    jiff_date_sorts: text_of::<_, jiff::civil::Date>(date()) => jiff::civil::Date as Plain;
    jiff_date_ascending_sorts: text_of::<_, jiff::civil::Date>(date()) => jiff::civil::Date as Ascending;
    jiff_date_descending_sorts_down: text_of::<_, jiff::civil::Date>(date()) => jiff::civil::Date as Descending;
    jiff_time_of_day_sorts: text_of::<_, jiff::civil::Time>(time_of_day()) => jiff::civil::Time as Plain;
}

#[cfg(all(feature = "chrono", feature = "jiff"))]
fn rejected<X, T: KeyPart<X>>(value: &T, shown: &str) {
    let error = text::<X, T>(value).unwrap_err();
    assert_eq!((error.fault, &*error.value), (KeyFault::OutOfRange, shown));
}

#[cfg(all(feature = "chrono", feature = "jiff"))]
#[test]
fn dates_and_times_of_other_crates_outside_the_service_years_are_rejected() {
    use chrono::{NaiveDate, NaiveTime};
    let early = NaiveDate::from_ymd_opt(1600, 12, 31).unwrap();
    rejected::<Plain, _>(&early, "1600-12-31");
    rejected::<Descending, _>(&early, "1600-12-31");
    rejected::<Plain, _>(&NaiveDate::from_ymd_opt(10_000, 1, 1).unwrap(), "+10000-01-01");
    rejected::<Plain, _>(&jiff::civil::date(1600, 12, 31), "1600-12-31");
    rejected::<Descending, _>(&jiff::civil::date(1600, 1, 1), "1600-01-01");
    let leap = NaiveTime::from_hms_nano_opt(23, 59, 59, 1_500_000_000).unwrap();
    rejected::<Plain, _>(&leap, "23:59:60.500");
    let between = NaiveTime::from_hms_nano_opt(1, 2, 3, 199).unwrap();
    assert_eq!(text::<Plain, _>(&between).unwrap(), "01:02:03.0000001");
    assert_eq!(text::<Plain, _>(&jiff::civil::time(1, 2, 3, 199)).unwrap(), "01:02:03.0000001");
}

/// Text that a key can hold.
fn key_text() -> impl Strategy<Value = String> {
    "[^/\\\\#?\u{0}-\u{1f}\u{7f}-\u{9f}]{0,12}"
}

/// Text of few letters, so that separators, prefixes and equal values come up often.
fn narrow_text() -> impl Strategy<Value = String> {
    "[ab_~/\u{e000}\u{1F3C3}]{0,6}"
}

proptest! {
    #[test]
    fn text_sorts_as_the_last_component(a in key_text(), b in key_text()) {
        decodes_back::<Plain, String>(a.clone());
        sorts::<Plain, String>(&a, &b, order::compare(&a, &b));
    }

    #[test]
    fn char_sorts_by_utf16_unit(a in any::<char>(), b in any::<char>()) {
        prop_assume!(!is_forbidden(a) && !is_forbidden(b));
        decodes_back::<Plain, char>(a);
        sorts::<Plain, char>(&a, &b, order::compare(&a.to_string(), &b.to_string()));
    }

    #[test]
    fn bare_unsigned_numbers_decode_back(value in any::<u64>()) {
        decodes_back::<Plain, u64>(value);
        prop_assert_eq!(text::<Plain, _>(&value).unwrap(), value.to_string());
    }

    #[test]
    fn lower_finds_values_whatever_their_case(value in key_text(), more in "[ΟΔΣςσa]{0,4}") {
        let whole = text::<Lower, _>(&format!("{more}{value}")).unwrap();
        prop_assert!(whole.starts_with(&<String as TextPart<Lower>>::prefix(&more)));
        prop_assert_eq!(
            text::<Lower, _>(&value).unwrap(),
            text::<Lower, _>(&text::<Lower, _>(&value).unwrap()).unwrap()
        );
    }

    /// Each key splits back into the values it was made of, so no two values share a key.
    #[test]
    fn keys_split_back(
        first in narrow_text(),
        second in narrow_text(),
        number in 0_u32..1000,
        encode in any::<bool>(),
    ) {
        let escape = if encode { Escape::Encode } else { Escape::Reject };
        match row_key(escape, &first, number, &second) {
            Ok(key) => {
                prop_assert!(!key.chars().any(is_forbidden));
                let mut reader = KeyReader::new("Test", escape, &key);
                reader.literal("T:").unwrap();
                prop_assert_eq!(reader.part::<Plain, String>("first", "__").unwrap(), first);
                reader.literal("__").unwrap();
                prop_assert_eq!(reader.part::<Padded<3>, u32>("number", "").unwrap(), number);
                prop_assert_eq!(reader.part::<Plain, String>("second", "").unwrap(), second);
                reader.finish().unwrap();
            }
            Err(error) => {
                prop_assert!(!encode, "with escape = encode, every value has a key: {error}");
                prop_assert!(matches!(error.fault, KeyFault::Forbidden('/') | KeyFault::Separator("__")));
            }
        }
    }

    /// The error of an unreadable component shows its text without the rest of the key.
    #[test]
    fn an_unreadable_component_is_shown_by_itself(text in "[a-z]{1,8}", more in "[a-z]{0,8}") {
        let key = format!("T:{text}__{more}");
        let read = |until: &'static str| {
            let mut reader = KeyReader::new("Test", Escape::Reject, &key);
            reader.literal("T:").unwrap();
            reader.part::<Plain, Uuid>("id", until).unwrap_err().value
        };
        prop_assert_eq!(read("__"), text);
        prop_assert_eq!(read(""), &key[2..]);
    }

    /// A query's bounds hold exactly the keys with the given values.
    #[test]
    fn queries_hold_exactly_the_rows_asked_for(
        rows in prop::collection::vec((narrow_text(), 0_u32..40, narrow_text()), 1..12),
        low in 0_u32..40,
        width in 0_u32..20,
        text_bound in narrow_text(),
        encode in any::<bool>(),
    ) {
        let escape = if encode { Escape::Encode } else { Escape::Reject };
        let start = || KeyBuilder::new("Test", escape, Ok("p".to_owned()), "T:");
        let given = &rows[0];
        let first = || start().part::<Plain, String>("first", &given.0, "__");
        let number = || first().part::<Padded<3>, u32>("number", &given.1, "");
        let stored: Vec<_> = rows
            .iter()
            .filter_map(|row| Some((row, row_key(escape, &row.0, row.1, &row.2).ok()?)))
            .collect();
        let holds = |keys: Result<KeyRange, KeyError>, matches: &dyn Fn(&(String, u32, String)) -> bool| {
            if let Ok(keys) = keys {
                for (row, key) in &stored {
                    assert_eq!(keys.row.contains(key), matches(row), "{keys:?} {key}");
                }
            }
        };
        holds(start().prefix(), &|_| true);
        holds(first().prefix(), &|row| row.0 == given.0);
        holds(number().prefix(), &|row| row.0 == given.0 && row.1 == given.1);
        holds(number().part::<Plain, String>("second", &given.2, "").exact(), &|row| row == given);
        holds(start().starts_with::<Plain, String>("first", &text_bound, "__"), &|row| {
            row.0.starts_with(&text_bound)
        });
        holds(number().starts_with::<Plain, String>("second", &text_bound, ""), &|row| {
            row.0 == given.0 && row.1 == given.1 && row.2.starts_with(&text_bound)
        });
        let high = low + width;
        type Bounds = (Bound<u32>, Bound<u32>);
        let ranges: [Bounds; 6] = [
            (Bound::Included(low), Bound::Excluded(high)),
            (Bound::Included(low), Bound::Included(high)),
            (Bound::Excluded(low), Bound::Included(high)),
            (Bound::Included(low), Bound::Unbounded),
            (Bound::Unbounded, Bound::Included(high)),
            (Bound::Unbounded, Bound::Unbounded),
        ];
        for bounds in ranges {
            use std::ops::RangeBounds as _;
            holds(first().range::<Padded<3>, u32>("number", bounds), &|row| {
                row.0 == given.0 && bounds.contains(&row.1)
            });
        }
        if !encode {
            let (from, to) = (&given.2, &text_bound);
            let between = |lower: Bound<&String>, upper: Bound<&String>| {
                number().range::<Plain, String>("second", (lower.cloned(), upper.cloned()))
            };
            let same = |row: &(String, u32, String)| row.0 == given.0 && row.1 == given.1;
            holds(between(Bound::Included(from), Bound::Excluded(to)), &|row| {
                same(row) && order::compare(&row.2, from).is_ge() && order::compare(&row.2, to).is_lt()
            });
            holds(between(Bound::Excluded(from), Bound::Included(to)), &|row| {
                same(row) && order::compare(&row.2, from).is_gt() && order::compare(&row.2, to).is_le()
            });
            holds(between(Bound::Unbounded, Bound::Included(to)), &|row| {
                same(row) && order::compare(&row.2, to).is_le()
            });
        }
    }

    /// A range of a descending component is given in value order; the query reverses the bounds.
    #[test]
    fn descending_ranges_follow_the_order_of_values(
        values in prop::collection::vec(0_u32..50, 1..10),
        low in 0_u32..50,
        width in 0_u32..20,
    ) {
        let high = low + width;
        let start = || KeyBuilder::new("Test", Escape::Reject, Ok("p".to_owned()), "N:");
        for value in values {
            let key = format!("N:{}__x", text::<DescendingPadded<4>, _>(&value).unwrap());
            for (bounds, inside) in [
                ((Bound::Included(low), Bound::Excluded(high)), (low..high).contains(&value)),
                ((Bound::Excluded(low), Bound::Included(high)), value > low && value <= high),
                ((Bound::Unbounded, Bound::Excluded(high)), value < high),
                ((Bound::Excluded(low), Bound::Unbounded), value > low),
            ] {
                let keys = start().range::<DescendingPadded<4>, u32>("n", bounds).unwrap();
                prop_assert_eq!(keys.row.contains(&key), inside);
            }
        }
    }
}

/// `T:{first}__{number:03}{second}`.
fn row_key(
    escape: Escape,
    first: &String,
    number: u32,
    second: &String,
) -> Result<String, KeyError> {
    let mut key = KeyText::new("Test", escape);
    key.literal("T:");
    key.part::<Plain, String>("first", first, "__")?;
    key.literal("__");
    key.part::<Padded<3>, u32>("number", &number, "")?;
    key.part::<Plain, String>("second", second, "")?;
    key.finish()
}

#[test]
fn a_number_that_does_not_fit_its_width_is_rejected() {
    let error = text::<Padded<5>, _>(&100_000_u32).unwrap_err();
    assert_eq!(error.fault, KeyFault::Width(5));
    assert_eq!(error.value, "100000");
    assert!(text::<DescendingPadded<5>, _>(&100_000_u32).is_err());
    assert!(text::<Padded<5>, _>(&99_999_u32).is_ok());
}

#[test]
fn a_key_of_more_than_512_units_is_rejected() {
    assert!(text::<Plain, _>(&"é".repeat(512)).is_ok());
    let error = text::<Plain, _>(&"é".repeat(513)).unwrap_err();
    assert_eq!(error.fault, KeyFault::TooLong(513));
    assert!(text::<Plain, _>(&"\u{1F3C3}".repeat(257)).is_err());
}

#[test]
fn an_inverted_range_is_rejected() {
    let start = || KeyBuilder::new("Test", Escape::Reject, Ok("p".to_owned()), "N:");
    let inverted =
        start().range::<Padded<3>, u32>("n", (Bound::Included(2_u32), Bound::Excluded(1)));
    assert_eq!(inverted.unwrap_err().fault, KeyFault::InvertedRange);
    let inverted =
        start().range::<Descending, u32>("n", (Bound::Included(2_u32), Bound::Excluded(1)));
    assert_eq!(inverted.unwrap_err().fault, KeyFault::InvertedRange);
    assert!(start().range::<Padded<3>, u32>("n", (1_u32..1).into_range()).is_ok());
}

#[test]
fn an_instant_the_service_cannot_store_is_rejected() {
    let early = OffsetDateTime::UNIX_EPOCH.replace_year(1600).unwrap();
    assert_eq!(text::<Plain, _>(&early).unwrap_err().fault, KeyFault::OutOfRange);
    assert_eq!(text::<Descending, _>(&early).unwrap_err().fault, KeyFault::OutOfRange);
    assert_eq!(text::<Plain, _>(&early.date()).unwrap_err().fault, KeyFault::OutOfRange);
}

#[test]
fn text_that_no_value_writes_is_not_decoded() {
    assert!(<u32 as KeyPart<Plain>>::decode("007").is_err());
    assert!(<u32 as KeyPart<Plain>>::decode("").is_err());
    assert!(<u8 as KeyPart<Padded<3>>>::decode("256").is_err());
    assert!(<u32 as KeyPart<Padded<3>>>::decode("+12").is_err());
    assert!(<bool as KeyPart<Plain>>::decode("1").is_err());
    assert!(<Uuid as KeyPart<Plain>>::decode("67E55044-10B1-426F-9247-BB680E5FE0C8").is_err());
    for text in ["0001-01-01", "1600-12-31", "2011-11-6", "2011-02-29"] {
        assert!(<Date as KeyPart<Plain>>::decode(text).is_err(), "{text}");
    }
    assert!(<Date as KeyPart<Descending>>::decode("7000000").is_err());
}

#[test]
fn only_the_escapes_that_are_written_are_read() {
    fn read<X, T: KeyPart<X>>(key: &str, until: &'static str) -> Result<T, KeyFault> {
        let mut reader = KeyReader::new("Test", Escape::Encode, key);
        let value = reader.part::<X, T>("x", until).map_err(|error| error.fault)?;
        reader.literal(until).map_err(|error| error.fault)?;
        Ok(value)
    }
    assert_eq!(read::<Plain, String>("a~5Fb__", "__").as_deref(), Ok("a_b"));
    assert_eq!(read::<Plain, String>("a_b", "").as_deref(), Ok("a_b"));
    for (key, until) in [("a_b__", "__"), ("~61__", "__"), ("~2f__", "__"), ("a~5Fb", "")] {
        let read = read::<Plain, String>(key, until);
        assert_eq!(read, Err(KeyFault::Malformed), "{key}");
    }
    assert!(read::<Padded<5>, u32>("~3712", "").is_err());
}

#[test]
fn a_value_of_several_parts_keeps_clear_of_the_separator_behind_it() {
    struct Pair(&'static str, &'static str);

    impl KeyPart for Pair {
        const WIDTH: Width = Width::Unbounded;

        fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
            let part = |key: &mut KeyText, text: &str, until| {
                key.part::<Plain, String>("part", &text.to_owned(), until).map_err(|it| it.fault)
            };
            part(key, self.0, "-")?;
            key.literal("-");
            part(key, self.1, "")
        }

        fn decode(_: &str) -> Result<Self, KeyFault> {
            Err(KeyFault::Malformed)
        }
    }

    let written = |pair: Pair, escape| {
        let mut key = KeyText::new("Test", escape);
        key.part::<Plain, Pair>("pair", &pair, "__").map_err(|error| error.fault)?;
        key.literal("__");
        Ok(key.as_str().to_owned())
    };
    assert_eq!(written(Pair("x", "y"), Escape::Reject).as_deref(), Ok("x-y__"));
    for (first, second) in [("x", "y__z"), ("x__", "y"), ("x", "y_")] {
        let rejected = written(Pair(first, second), Escape::Reject);
        assert_eq!(rejected, Err(KeyFault::Separator("__")), "{first} {second}");
    }
}

#[test]
fn a_usize_has_the_same_text_on_every_machine() {
    assert_eq!(text::<Descending, _>(&1_usize), text::<Descending, _>(&1_u64));
    assert_eq!(<usize as KeyPart<Descending>>::decode("18446744073709551614"), Ok(1));
}
