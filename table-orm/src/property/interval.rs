//! The intervals of a series: periods of time, by number.
//!
//! Invariant: each instant is in one period, and later periods have larger numbers.

use crate::model::{DateTime, TICKS_PER_SECOND};

/// How instants, or what a series is ordered by, become consecutive numbers: [`Every`] counts periods of a number
/// of seconds, [`Numbered`] has numbers of your own.
///
/// Implement it for periods of your own, such as months. Larger values of [`At`](Self::At) must not have smaller
/// numbers.
pub trait Interval {
    /// What a value is of: an instant, or a number.
    type At: Copy;
    /// The length of every period, in seconds; 0 where it is not the same or not known. The
    /// [schema lock](crate::schema_lock) compares it.
    const SECONDS: u32 = 0;

    /// The number of the period that it is in.
    fn number(at: Self::At) -> i64;

    /// The start of the period with that number, or the first instant in it that can be stored; `None` if there is no
    /// such period.
    fn start(number: i64) -> Option<Self::At>;

    /// The row and the slot of a value in a series that goes on in the next row when a row of `SLOTS` slots is full.
    /// `None` before 1970, and for numbers of rows over `u32::MAX`.
    ///
    /// ```
    /// use table_orm::property::{Hours, Interval, SlotPlace};
    /// // One row for each day, one slot for each hour.
    /// let at = "2026-11-23T18:30:00Z".parse()?;
    /// assert_eq!(Hours::place::<24>(at), Some(SlotPlace { row: 20_780, slot: 18 }));
    /// # Ok::<(), table_orm::model::DateTimeRangeError>(())
    /// ```
    #[must_use]
    fn place<const SLOTS: usize>(at: Self::At) -> Option<SlotPlace> {
        SlotPlace::of::<SLOTS>(Self::number(at))
    }

    /// The places of the last `count` periods up to that of `now`, the oldest first: what rows to read, and the
    /// slots in them. Leaves out periods that have no [`place`](Self::place).
    ///
    /// ```
    /// use table_orm::property::{Hours, Interval};
    /// let now = "2026-11-23T01:30:00Z".parse()?;
    /// let places = Hours::last_places::<24>(now, 3);
    /// let places: Vec<_> = places.iter().map(|place| (place.row, place.slot)).collect();
    /// assert_eq!(places, [(20_779, 23), (20_780, 0), (20_780, 1)]);
    /// # Ok::<(), table_orm::model::DateTimeRangeError>(())
    /// ```
    #[must_use]
    fn last_places<const SLOTS: usize>(now: Self::At, count: u32) -> Vec<SlotPlace> {
        numbers(Self::number(now), count).filter_map(SlotPlace::of::<SLOTS>).collect()
    }
}

/// The last `count` numbers up to `newest`, the smallest first.
pub(super) fn numbers(newest: i64, count: u32) -> impl DoubleEndedIterator<Item = i64> {
    (0..i64::from(count)).rev().filter_map(move |back| newest.checked_sub(back))
}

/// Where a value of a series over several rows is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotPlace {
    /// The number of the row, for its key.
    pub row: u32,
    /// The slot in the row.
    pub slot: usize,
}

impl SlotPlace {
    fn of<const SLOTS: usize>(number: i64) -> Option<Self> {
        const { assert!(SLOTS > 0, "a row of a series has at least one slot") }
        let number = usize::try_from(number).ok()?;
        Some(Self { row: u32::try_from(number / SLOTS).ok()?, slot: number % SLOTS })
    }
}

/// Periods of that many seconds, counted from 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Every<const SECONDS: u32> {}

/// Periods of a minute.
pub type Minutes = Every<60>;
/// Periods of an hour.
pub type Hours = Every<3600>;
/// Periods of a day, in UTC.
pub type Days = Every<86_400>;

impl<const SECONDS: u32> Every<SECONDS> {
    const TICKS: i64 = {
        assert!(SECONDS > 0, "a period has at least one second");
        SECONDS as i64 * TICKS_PER_SECOND
    };
}

impl<const SECONDS: u32> Interval for Every<SECONDS> {
    type At = DateTime;
    const SECONDS: u32 = SECONDS;

    fn number(at: DateTime) -> i64 {
        at.unix_ticks().div_euclid(Self::TICKS)
    }

    fn start(number: i64) -> Option<DateTime> {
        let first = DateTime::MIN;
        if number == Self::number(first) {
            return Some(first);
        }
        number.checked_mul(Self::TICKS).and_then(DateTime::from_unix_ticks)
    }
}

/// Values with consecutive numbers of their own, such as those of a [`Sequence`](crate::repo::Sequence).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbered {}

impl Interval for Numbered {
    type At = i64;

    fn number(at: i64) -> i64 {
        at
    }

    fn start(number: i64) -> Option<i64> {
        Some(number)
    }
}
