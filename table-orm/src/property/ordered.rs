//! Properties that a filter can compare with `gt`, `ge`, `lt` and `le`.

use super::Property;
use crate::key::{KeyPart, Plain};
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
pub trait Ordered: Property {
    /// Whether the stored value is rounded down: an instant between two of the service's ticks.
    fn is_rounded(&self) -> bool {
        false
    }
}

macro_rules! ordered {
    ($($type:ty),*) => {$(
        impl Ordered for $type {}
    )*};
}

ordered!(i8, i16, i32, i64, u8, u16, u32, u64, usize, f32, f64, bool, char);
ordered!(String, Cow<'_, str>, Box<str>, Uuid, DateTime, Date);

#[cfg(feature = "ulid")]
impl Ordered for ulid::Ulid {}
#[cfg(feature = "chrono")]
impl Ordered for chrono::NaiveDate {}
#[cfg(feature = "jiff")]
impl Ordered for jiff::civil::Date {}

/// Types that are stored to 100 ns, as in keys.
macro_rules! rounded {
    ($([$($cfg:tt)*] $type:ty),* $(,)?) => {$(
        $($cfg)*
        impl Ordered for $type {
            fn is_rounded(&self) -> bool {
                KeyPart::<Plain>::is_rounded(self)
            }
        }
    )*};
}

rounded!(
    [] OffsetDateTime,
    [] Time,
    [#[cfg(feature = "chrono")]] chrono::DateTime<chrono::Utc>,
    [#[cfg(feature = "chrono")]] chrono::NaiveTime,
    [#[cfg(feature = "jiff")]] jiff::Timestamp,
    [#[cfg(feature = "jiff")]] jiff::civil::Time,
);

impl<T: Ordered> Ordered for Option<T> {
    fn is_rounded(&self) -> bool {
        self.as_ref().is_some_and(Ordered::is_rounded)
    }
}
