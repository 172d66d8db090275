//! Properties that a filter can compare with `gt`, `ge`, `lt` and `le`.

use super::Property;
use crate::model::DateTime;
use std::borrow::Cow;
use time::{Date, OffsetDateTime, Time};
use uuid::Uuid;

/// A property whose stored form the service orders as the values:
/// [`Column::gt`](crate::query::Column::gt) and the like accept it.
///
/// Numbers, truth values, dates and times, UUIDs and text are ordered. `#[derive(KeyPart)]`
/// implements it for an enum whose codes ascend, and for a newtype of an ordered type. Decimal
/// numbers are not ordered: their text sorts `10` before `9`, and `1.5` and `1.50` are one number.
/// Bytes and JSON are not either.
pub trait Ordered: Property {}

macro_rules! ordered {
    ($([$($cfg:tt)*] $type:ty),* $(,)?) => {$(
        $($cfg)*
        impl Ordered for $type {}
    )*};
}

ordered!([] i8, [] i16, [] i32, [] i64, [] u8, [] u16, [] u32, [] u64, [] usize, [] f32, [] f64);
ordered!([] bool, [] char, [] String, [] Cow<'_, str>, [] Box<str>, [] Uuid);
ordered!(
    [] DateTime, [] OffsetDateTime, [] Date, [] Time,
    [#[cfg(feature = "ulid")]] ulid::Ulid,
    [#[cfg(feature = "chrono")]] chrono::DateTime<chrono::Utc>,
    [#[cfg(feature = "chrono")]] chrono::NaiveDate,
    [#[cfg(feature = "chrono")]] chrono::NaiveTime,
    [#[cfg(feature = "jiff")]] jiff::Timestamp,
    [#[cfg(feature = "jiff")]] jiff::civil::Date,
    [#[cfg(feature = "jiff")]] jiff::civil::Time,
);

impl<T: Ordered> Ordered for Option<T> {}
