//! Properties that the service can ask for more or less of.

use super::Property;
use crate::key::{KeyPart, Plain};
use crate::model::DateTime;
use std::borrow::Cow;
use time::{Date, OffsetDateTime, Time};
use uuid::Uuid;

/// A property whose stored form the service orders as its values are: what
/// [`Column::gt`](crate::query::Column::gt) and its like take.
///
/// Numbers, truth values, dates and times, UUIDs and text are; `#[derive(KeyPart)]` implements it for
/// an enum whose codes ascend, and for a newtype of one of these. A decimal number is not, for its
/// text puts `10` before `9`, and has `1.5` and `1.50` for one number; nor are bytes, nor what is stored as JSON.
pub trait Ordered: Property {
    /// Whether what is stored is less than this value: an instant between two of the service's ticks.
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

/// What is stored to 100 ns, as keys hold it.
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
