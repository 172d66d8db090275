//! Dates and times of day of the optional date-time crates: the text of the equivalent `time` type.

use super::{
    Descending, KeyFault, KeyPart, KeyText, Plain, PrefixFree, Shape, Sorted, SortedLast, Width,
};
use time::{Date, Time};

/// A type of another crate with the same values as type `T` of `time`.
trait Civil<T>: Sized {
    /// The value as a `T`; `None` when `T` has no such value.
    fn to_time(&self) -> Option<T>;
    fn from_time(value: T) -> Option<Self>;
}

macro_rules! civil {
    ($([$feature:literal] $type:ty as $time:ty: $($encoder:ident),*;)*) => {
        $($(
            #[cfg(feature = $feature)]
            impl KeyPart<$encoder> for $type {
                const WIDTH: Width = <$time as KeyPart<$encoder>>::WIDTH;
                const SHAPE: Shape = <$time as KeyPart<$encoder>>::SHAPE;
                const REVERSED: bool = <$time as KeyPart<$encoder>>::REVERSED;
                const GROWS: bool = <$time as KeyPart<$encoder>>::GROWS;

                fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
                    let Some(value) = self.to_time() else {
                        key.push_plain(&self.to_string());
                        return Err(KeyFault::OutOfRange);
                    };
                    <$time as KeyPart<$encoder>>::encode(&value, key)
                }

                fn decode(text: &str) -> Result<Self, KeyFault> {
                    let value = <$time as KeyPart<$encoder>>::decode(text)?;
                    Self::from_time(value).ok_or(KeyFault::OutOfRange)
                }
            }
        )*)*
    };
}

civil! {
    ["chrono"] chrono::NaiveDate as Date: Plain, Descending;
    ["chrono"] chrono::NaiveTime as Time: Plain;
    ["jiff"] jiff::civil::Date as Date: Plain, Descending;
    ["jiff"] jiff::civil::Time as Time: Plain;
}

#[cfg(feature = "chrono")]
impl SortedLast<Descending> for chrono::NaiveDate {}
#[cfg(feature = "chrono")]
impl Sorted<Descending> for chrono::NaiveDate {}
#[cfg(feature = "chrono")]
impl PrefixFree<Descending> for chrono::NaiveDate {}
#[cfg(feature = "jiff")]
impl SortedLast<Descending> for jiff::civil::Date {}
#[cfg(feature = "jiff")]
impl Sorted<Descending> for jiff::civil::Date {}
#[cfg(feature = "jiff")]
impl PrefixFree<Descending> for jiff::civil::Date {}

#[cfg(feature = "chrono")]
impl Civil<Date> for chrono::NaiveDate {
    fn to_time(&self) -> Option<Date> {
        use chrono::Datelike as _;
        Date::from_ordinal_date(self.year(), u16::try_from(self.ordinal()).ok()?).ok()
    }

    fn from_time(value: Date) -> Option<Self> {
        Self::from_yo_opt(value.year(), value.ordinal().into())
    }
}

/// A leap second cannot be stored as a time of day.
#[cfg(feature = "chrono")]
impl Civil<Time> for chrono::NaiveTime {
    fn to_time(&self) -> Option<Time> {
        use chrono::Timelike as _;
        let [hour, minute, second] = [self.hour(), self.minute(), self.second()]
            .map(|part| u8::try_from(part).unwrap_or(u8::MAX));
        Time::from_hms_nano(hour, minute, second, self.nanosecond()).ok()
    }

    fn from_time(value: Time) -> Option<Self> {
        let (hour, minute, second, nanosecond) = value.as_hms_nano();
        Self::from_hms_nano_opt(hour.into(), minute.into(), second.into(), nanosecond)
    }
}

#[cfg(feature = "jiff")]
impl Civil<Date> for jiff::civil::Date {
    fn to_time(&self) -> Option<Date> {
        let day = self.day_of_year().unsigned_abs();
        Date::from_ordinal_date(self.year().into(), day).ok()
    }

    fn from_time(value: Date) -> Option<Self> {
        let (year, month, day) = value.to_calendar_date();
        let (year, month) = (i16::try_from(year).ok()?, u8::from(month));
        Self::new(year, month.cast_signed(), day.cast_signed()).ok()
    }
}

#[cfg(feature = "jiff")]
impl Civil<Time> for jiff::civil::Time {
    fn to_time(&self) -> Option<Time> {
        let [hour, minute, second] =
            [self.hour(), self.minute(), self.second()].map(i8::unsigned_abs);
        Time::from_hms_nano(hour, minute, second, self.subsec_nanosecond().unsigned_abs()).ok()
    }

    fn from_time(value: Time) -> Option<Self> {
        let (hour, minute, second, nanosecond) = value.as_hms_nano();
        let [hour, minute, second] = [hour, minute, second].map(u8::cast_signed);
        Self::new(hour, minute, second, nanosecond.cast_signed()).ok()
    }
}
