//! Instants.
//!
//! An instant is stored as `2011-11-06T09:10:00.0000000Z`. An instant between two of the service's
//! ticks of 100 ns is the earlier one, in every key and every bound of a range.
//! Newest first, it is the ticks from it to the end of 9999 in 19 digits (the log tail pattern of
//! the service's design guide).

use super::{
    Descending, KeyFault, KeyPart, KeyText, Padded, Plain, PrefixFree, Shape, Sorted, SortedLast,
    Width,
};
use crate::model::DateTime;
use time::OffsetDateTime;

/// Digits of reversed ticks.
const TICK_DIGITS: usize = 19;

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

instants!(
    [] OffsetDateTime,
    [#[cfg(feature = "chrono")]] chrono::DateTime<chrono::Utc>,
    [#[cfg(feature = "jiff")]] jiff::Timestamp,
);
