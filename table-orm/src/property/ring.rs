//! A rolling series: the values of the last periods, each slot with a stamp.
//!
//! A field `load: Ring<f64, 24, Hours>` is stored as `Load00` to `Load23`, and beside each the number of the period
//! that it is of: `Load00At` to `Load23At`. The slot is the number modulo 24.
//!
//! Invariants:
//! - A value and its stamp are written together, so what a slot shows is always of the period that its stamp says.
//! - A value is shown for its period only, never for a later one that has the same slot.

use super::interval::{Every, Interval, Numbered, numbers};
use super::series::SeriesSlots;
use super::slots::{STAMP, Slots, slot, slot_name, stamp_name};
use super::{
    PropertiesWriter, Property, PropertyError, PropertyFault, RowFault, Series, ValueType,
};
use crate::codec::Members;
use crate::model::DateTime;
use std::fmt;
use std::marker::PhantomData;

/// The values of the last `N` periods, for `#[table(series)]`: each new value overwrites the one `N` periods before.
///
/// The periods are those of `P`: [`Hours`](super::Hours), [`Minutes`](super::Minutes), [`Days`](super::Days),
/// [`Every`] for a number of seconds, or [`Numbered`] for numbers of your own. A ring takes two properties for each
/// slot, so `N` is at most 126.
///
/// `N` may grow: stored values keep their periods, and the newest of a slot counts. A ring with a smaller `N` does not
/// read the slots from `N` on. Up to 100 slots have names with two digits, more have three: a change across 100 leaves
/// all stored values unread.
///
/// The derive gives the patch a setter with the suffix `_at`, which writes one slot and its stamp in one request, and
/// reads nothing. Such a write does not know what the slot has. A value that arrives `N` or more periods late would
/// overwrite a newer one: that period then has no value. [`is_late`](Self::is_late) finds such values before
/// they are sent. [`put`](Self::put), with `update`, never overwrites a newer value.
///
/// ```
/// use table_orm::property::{Hours, Ring};
/// let mut load = Ring::<f64, 24, Hours>::default();
/// load.put("2026-11-22T23:10:00Z".parse()?, 40.5);
/// load.put("2026-11-23T01:20:00Z".parse()?, 38.0);
/// let now = "2026-11-23T01:59:59Z".parse()?;
/// let last: Vec<_> = load.last(now, 3).map(|(_, value)| value.copied()).collect();
/// assert_eq!(last, [Some(40.5), None, Some(38.0)]);
/// // A day later, nothing of yesterday is shown as today's.
/// let tomorrow = "2026-11-24T01:00:00Z".parse()?;
/// assert_eq!(load.get(tomorrow), None);
/// # Ok::<(), table_orm::model::DateTimeRangeError>(())
/// ```
pub struct Ring<T, const N: usize, P> {
    /// Each value with its number, in the slot of that number.
    slots: Vec<Option<(i64, T)>>,
    period: PhantomData<fn() -> P>,
}

impl<T, const N: usize, P> Default for Ring<T, N, P> {
    fn default() -> Self {
        const { assert!(N > 0, "a ring has at least one slot") }
        Self { slots: (0..N).map(|_| None).collect(), period: PhantomData }
    }
}

impl<T: Clone, const N: usize, P> Clone for Ring<T, N, P> {
    fn clone(&self) -> Self {
        Self { slots: self.slots.clone(), period: PhantomData }
    }
}

impl<T: PartialEq, const N: usize, P> PartialEq for Ring<T, N, P> {
    fn eq(&self, other: &Self) -> bool {
        self.slots == other.slots
    }
}

impl<T: fmt::Debug, const N: usize, P> fmt::Debug for Ring<T, N, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stored = self.slots.iter().flatten();
        f.debug_map().entries(stored.map(|(number, value)| (number, value))).finish()
    }
}

/// The slot of a period.
fn slot_of<const N: usize>(number: i64) -> usize {
    // A remainder of `N`, which is at most 126.
    usize::try_from(number.rem_euclid(N as i64)).unwrap_or_default()
}

impl<T, const N: usize, P: Interval> Ring<T, N, P> {
    /// Sets the value of the period of `at`, unless the slot has one of a later period. Returns whether it did.
    pub fn put(&mut self, at: P::At, value: T) -> bool {
        self.put_numbered(P::number(at), value)
    }

    fn put_numbered(&mut self, number: i64, value: T) -> bool {
        let slot = &mut self.slots[slot_of::<N>(number)];
        let is_newest = slot.as_ref().is_none_or(|(newest, _)| *newest <= number);
        if is_newest {
            *slot = Some((number, value));
        }
        is_newest
    }

    /// Returns the value of the period of `at`.
    #[must_use]
    pub fn get(&self, at: P::At) -> Option<&T> {
        self.numbered(P::number(at))
    }

    fn numbered(&self, number: i64) -> Option<&T> {
        let stored = self.slots[slot_of::<N>(number)].as_ref();
        stored.filter(|(stamp, _)| *stamp == number).map(|(_, value)| value)
    }

    /// Returns the last `count` periods up to that of `now`, the oldest first: the start of each, and its value. At
    /// most `N` of them.
    pub fn last(
        &self,
        now: P::At,
        count: u32,
    ) -> impl DoubleEndedIterator<Item = (P::At, Option<&T>)> {
        let count = count.min(u32::try_from(N).unwrap_or(u32::MAX));
        let periods = numbers(P::number(now), count);
        periods.filter_map(|number| Some((P::start(number)?, self.numbered(number))))
    }

    /// Returns the start of the newest period that has a value, and the value.
    #[must_use]
    pub fn newest(&self) -> Option<(P::At, &T)> {
        let newest = self.slots.iter().flatten().max_by_key(|(number, _)| *number)?;
        Some((P::start(newest.0)?, &newest.1))
    }

    /// Removes the values of periods after that of `last`, and returns how many there were. Such values were written
    /// by a clock that was ahead. Let `last` be now plus more than your clocks differ by.
    ///
    /// As long as such a value has a slot, [`put`](Self::put) does not overwrite it, and
    /// [`downsample`](Self::downsample) skips the periods of which it may have taken a slot.
    ///
    /// ```
    /// use table_orm::property::{Numbered, Ring};
    /// let mut last = Ring::<f64, 3, Numbered>::default();
    /// last.put(3_000_000, 40.5);
    /// assert!(!last.put(6, 41.0));
    /// assert_eq!(last.remove_after(6), 1);
    /// assert!(last.put(6, 41.0));
    /// ```
    pub fn remove_after(&mut self, last: P::At) -> usize {
        let (last, mut removed) = (P::number(last), 0);
        for slot in &mut self.slots {
            if slot.as_ref().is_some_and(|(number, _)| *number > last) {
                *slot = None;
                removed += 1;
            }
        }
        removed
    }

    /// Returns whether a value of `at` is so late, `N` periods or more, that a write without a read could overwrite
    /// one of the last `N` periods.
    ///
    /// ```
    /// use table_orm::property::{Numbered, Ring};
    /// type Last = Ring<f64, 10, Numbered>;
    /// assert!(!Last::is_late(91, 100));
    /// assert!(Last::is_late(90, 100)); // the slot of 100
    /// ```
    #[must_use]
    pub fn is_late(at: P::At, now: P::At) -> bool {
        P::number(now).saturating_sub(P::number(at)) >= N as i64
    }
}

impl<T, const N: usize> Ring<T, N, Numbered> {
    /// Puts the value after the newest one, and returns its number: 0 in an empty ring. It takes the slot of the
    /// value `N` numbers before.
    ///
    /// Call it in an [`update`](crate::Repo::update), which reads the newest number: so two writers never use one.
    /// Returns `None`, and puts nothing, after `i64::MAX`.
    ///
    /// ```
    /// use table_orm::property::{Numbered, Ring};
    /// let mut last = Ring::<f64, 3, Numbered>::default();
    /// for value in [40.5, 41.0, 39.5, 38.0] {
    ///     last.push(value);
    /// }
    /// assert_eq!(last.newest(), Some((3, &38.0)));
    /// assert_eq!(last.get(0), None);
    /// ```
    pub fn push(&mut self, value: T) -> Option<i64> {
        let next = self.newest().map_or(Some(0), |(newest, _)| newest.checked_add(1))?;
        self.put(next, value).then_some(next)
    }
}

impl<T, const N: usize, const FINE: u32> Ring<T, N, Every<FINE>> {
    /// Puts one value into the coarser ring for the period of `at`. `fold` makes it from all values that this
    /// ring has of that period, the oldest first: an hour from minutes. Returns whether it did. It puts nothing
    /// if there is no value, if the slot has a value of a later period, or if later values may have taken slots
    /// of the period. So a ring of 60 minutes fills an hour until the hour ends. With 90 minutes, values that
    /// are up to 30 minutes late still count.
    ///
    /// Call it in the `update` that puts a value: then one transaction writes both rings. It compiles only if
    /// the coarser period is a multiple of the finer one, and this ring holds a whole coarser period.
    ///
    /// ```
    /// use table_orm::property::{Hours, Minutes, Ring};
    /// let mut minutes = Ring::<f64, 60, Minutes>::default();
    /// let mut hours = Ring::<f64, 24, Hours>::default();
    /// for (at, value) in [("2026-11-23T18:00:00Z", 40.0), ("2026-11-23T18:59:00Z", 44.0)] {
    ///     let at = at.parse()?;
    ///     minutes.put(at, value);
    ///     let mean = |values: &[&f64]| values.iter().copied().sum::<f64>() / values.len() as f64;
    ///     minutes.downsample(at, &mut hours, mean);
    /// }
    /// assert_eq!(hours.get("2026-11-23T18:30:00Z".parse()?), Some(&42.0));
    /// # Ok::<(), table_orm::model::DateTimeRangeError>(())
    /// ```
    pub fn downsample<V, const M: usize, const COARSE: u32>(
        &self,
        at: DateTime,
        into: &mut Ring<V, M, Every<COARSE>>,
        fold: impl FnOnce(&[&T]) -> V,
    ) -> bool {
        const {
            assert!(
                COARSE.is_multiple_of(FINE),
                "a period of the coarser ring is a whole number of periods of the finer one"
            );
            assert!(
                N as u64 * FINE as u64 >= COARSE as u64,
                "the finer ring does not hold all values of a period of the coarser one"
            );
        }
        let ratio = i64::from(COARSE / FINE);
        let coarse = Every::<COARSE>::number(at);
        let first = coarse * ratio;
        let newest = self.slots.iter().flatten().map(|(number, _)| *number).max();
        // A later value may have the slot of one of the period.
        let is_whole = newest.is_some_and(|newest| newest < first + N as i64);
        let values: Vec<_> = (first..first + ratio).filter_map(|one| self.numbered(one)).collect();
        is_whole && !values.is_empty() && into.put_numbered(coarse, fold(&values))
    }
}

/// A ring as a patch writes it.
#[doc(hidden)]
pub trait Rolling: Series {
    /// What a value is of.
    type At;
    /// A value.
    type Value;

    /// The number of the period of that time.
    fn number(at: &Self::At) -> i64;

    /// The slot of the value of that time.
    fn slot(at: &Self::At) -> usize;

    /// Writes that slot and its stamp.
    ///
    /// # Errors
    /// When the service cannot store the value, or it stores nothing.
    fn write_slot(
        at: Self::At,
        value: &Self::Value,
        name: &str,
        out: &mut PropertiesWriter,
    ) -> Result<(), PropertyError>;
}

impl<T: Property, const N: usize, P: Interval> Rolling for Ring<T, N, P> {
    type At = P::At;
    type Value = T;

    fn number(at: &P::At) -> i64 {
        P::number(*at)
    }

    fn slot(at: &P::At) -> usize {
        slot_of::<N>(P::number(*at))
    }

    fn write_slot(
        at: P::At,
        value: &T,
        name: &str,
        out: &mut PropertiesWriter,
    ) -> Result<(), PropertyError> {
        write_numbered::<T, N>(P::number(at), value, name, out)
    }
}

fn write_numbered<T: Property, const N: usize>(
    number: i64,
    value: &T,
    name: &str,
    out: &mut PropertiesWriter,
) -> Result<(), PropertyError> {
    let (slot, digits) = (slot_of::<N>(number), Slots::Fixed(N).digits());
    let (property, before) = (slot_name(name, slot, digits), out.count());
    out.property(&property, value)?;
    // The stored value would stay, and have the stamp of another period.
    if out.count() == before {
        return Err(out.error(&property, PropertyFault::NothingForSlot));
    }
    out.property(&stamp_name(name, slot, digits), &number)
}

/// The slots of a ring that were read so far, and their stamps.
#[derive(Debug)]
pub struct RingSlots<T> {
    values: SeriesSlots<T>,
    stamps: SeriesSlots<i64>,
}

impl<T> Default for RingSlots<T> {
    fn default() -> Self {
        Self { values: SeriesSlots::default(), stamps: SeriesSlots::default() }
    }
}

#[diagnostic::do_not_recommend]
impl<T: Property, const N: usize, P: Interval> Series for Ring<T, N, P> {
    const SLOTS: Slots = Slots::Ring(N, P::SECONDS);
    const TYPE: ValueType = ValueType::of::<T>();

    type Slots = RingSlots<T>;

    fn write(&self, name: &str, out: &mut PropertiesWriter) -> Result<(), PropertyError> {
        for (number, value) in self.slots.iter().flatten() {
            write_numbered::<T, N>(*number, value, name, out)?;
        }
        Ok(())
    }

    fn read(
        slots: &mut Self::Slots,
        name: &str,
        property: &str,
        members: &mut Members<'_, '_>,
    ) -> Result<bool, RowFault> {
        let (stamped, is_stamp) = match property.strip_suffix(STAMP) {
            Some(stamped) => (stamped, true),
            None => (property, false),
        };
        match slot(name, stamped, Self::SLOTS.digits()) {
            Some(index) if index >= N => Ok(false),
            Some(index) if is_stamp => slots.stamps.read(index, property, members).map(|()| true),
            Some(index) => slots.values.read(index, property, members).map(|()| true),
            None => Ok(false),
        }
    }

    fn read_slot(
        slots: &mut Self::Slots,
        index: usize,
        property: &str,
        members: &mut Members<'_, '_>,
    ) -> Result<(), RowFault> {
        slots.values.read(index, property, members)
    }

    fn finish(slots: Self::Slots, name: &str) -> Result<Self, RowFault> {
        let digits = Self::SLOTS.digits();
        let stamps = slots.stamps.into_values().chain(std::iter::repeat(None));
        let (mut ring, mut moved) = (Self::default(), Vec::new());
        for (index, (value, stamp)) in slots.values.into_values().zip(stamps).enumerate() {
            let Some(value) = value else { continue };
            let fault = |fault| RowFault::new(&stamp_name(name, index, digits), fault);
            let number = stamp.ok_or_else(|| fault(PropertyFault::MissingStamp))?;
            if P::start(number).is_none() {
                let text = format!("no period has the number {number}");
                return Err(fault(PropertyFault::Unreadable(text)));
            }
            if slot_of::<N>(number) == index {
                ring.slots[index] = Some((number, value));
            } else {
                moved.push((number, value));
            }
        }
        // Written when the ring had another number of slots. What was written since is in the slot.
        for (number, value) in moved {
            if ring.numbered(number).is_none() {
                ring.put_numbered(number, value);
            }
        }
        Ok(ring)
    }
}
