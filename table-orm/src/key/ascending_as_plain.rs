//! Types whose text of fixed width is in their order as it is: [`Ascending`] writes it, too.

use super::{
    Ascending, KeyFault, KeyPart, KeyText, Plain, PrefixFree, Shape, Sorted, SortedLast, Width,
};
use crate::model::DateTime;
use time::{Date, OffsetDateTime, Time};
use uuid::Uuid;

/// Implements `Ascending` as `Plain`, with both orders sorted.
macro_rules! ascending_as_plain {
    ($([$($cfg:tt)*] $type:ty),* $(,)?) => {$(
        $($cfg)*
        impl KeyPart<Ascending> for $type {
            const WIDTH: Width = <Self as KeyPart<Plain>>::WIDTH;
            const SHAPE: Shape = <Self as KeyPart<Plain>>::SHAPE;
            const GROWS: bool = <Self as KeyPart<Plain>>::GROWS;

            fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
                <Self as KeyPart<Plain>>::encode(self, key)
            }

            fn decode(text: &str) -> Result<Self, KeyFault> {
                <Self as KeyPart<Plain>>::decode(text)
            }
        }

        $($cfg)*
        impl SortedLast<Plain> for $type {}
        $($cfg)*
        impl Sorted<Plain> for $type {}
        $($cfg)*
        impl PrefixFree<Plain> for $type {}
        $($cfg)*
        impl SortedLast<Ascending> for $type {}
        $($cfg)*
        impl Sorted<Ascending> for $type {}
        $($cfg)*
        impl PrefixFree<Ascending> for $type {}
    )*};
}

ascending_as_plain!(
    [] DateTime, [] Date, [] Time, [] Uuid,
    [#[cfg(feature = "ulid")]] ulid::Ulid,
    [#[cfg(feature = "chrono")]] chrono::NaiveDate,
    [#[cfg(feature = "chrono")]] chrono::NaiveTime,
    [#[cfg(feature = "jiff")]] jiff::civil::Date,
    [#[cfg(feature = "jiff")]] jiff::civil::Time,
    [] OffsetDateTime,
    [#[cfg(feature = "chrono")]] chrono::DateTime<chrono::Utc>,
    [#[cfg(feature = "jiff")]] jiff::Timestamp,
);
