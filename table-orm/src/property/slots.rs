//! How a series numbers its properties: `Splits00` to `Splits08`, or `Splits000` onwards.

use crate::model::{MAX_BINARY_BYTES, MAX_ENTITY_BYTES, starts_with};

/// The chunks of a value: as many as an entity has room for.
pub(super) const CHUNKS: Slots = Slots::UpTo(MAX_ENTITY_BYTES / MAX_BINARY_BYTES + 1);

/// How many values a series has.
#[derive(Debug, Clone, Copy)]
pub enum Slots {
    /// Exactly that many; each may be empty.
    Fixed(usize),
    /// At most that many.
    UpTo(usize),
    /// Exactly that many; each may be empty, and has a stamp beside it: the number of a period, whose length is the
    /// second value, in [seconds](super::Interval::SECONDS).
    Ring(usize, u32),
}

impl Slots {
    /// The most values.
    pub(crate) const fn most(self) -> usize {
        match self {
            Self::Fixed(slots) | Self::UpTo(slots) | Self::Ring(slots, _) => slots,
        }
    }

    /// Whether each slot has a stamp beside it.
    pub(crate) const fn has_stamps(self) -> bool {
        matches!(self, Self::Ring(..))
    }

    /// The length of the periods that stamps count, in seconds, if it is known.
    pub(crate) const fn period(self) -> Option<u32> {
        match self {
            Self::Ring(_, seconds) if seconds > 0 => Some(seconds),
            _ => None,
        }
    }

    /// The digits that number the slots: at least two.
    pub(super) const fn digits(self) -> usize {
        digits(self.most())
    }
}

/// Whether slots of a series have other names once it has another number of slots.
pub(crate) const fn renames_slots(before: u64, after: u64) -> bool {
    (before > MOST_OF_TWO_DIGITS) != (after > MOST_OF_TWO_DIGITS)
}

/// A series of more slots numbers them with three digits.
const MOST_OF_TWO_DIGITS: u64 = 100;

const fn digits(slots: usize) -> usize {
    if slots as u64 > MOST_OF_TWO_DIGITS { 3 } else { 2 }
}

/// The name of a slot's property.
pub(super) fn slot_name(name: &str, index: usize, digits: usize) -> String {
    format!("{name}{index:0digits$}")
}

/// What the name of a stamp ends in.
pub(super) const STAMP: &str = "At";

/// The name of the property that says which period the value of a slot is of.
pub(super) fn stamp_name(name: &str, index: usize, digits: usize) -> String {
    format!("{}{STAMP}", slot_name(name, index, digits))
}

/// The names of all numbered properties of a series of `slots` values or of a chunked value, and of stamps.
pub(crate) fn series_names(name: &str, slots: usize, stamps: bool) -> impl Iterator<Item = String> {
    let digits = digits(slots);
    (0..slots).flat_map(move |slot| {
        let stamp = stamps.then(|| stamp_name(name, slot, digits));
        std::iter::once(slot_name(name, slot, digits)).chain(stamp)
    })
}

/// The name of a slot's property in a series of `slots` values.
pub(crate) fn series_slot(name: &str, slot: usize, slots: usize) -> String {
    slot_name(name, slot, digits(slots))
}

/// The slot whose property has that name.
pub(super) fn slot(name: &str, property: &str, digits: usize) -> Option<usize> {
    let number = property.strip_prefix(name)?;
    let numbered = number.len() == digits && number.bytes().all(|byte| byte.is_ascii_digit());
    if numbered { number.parse().ok() } else { None }
}

/// Whether `name` is the property of a slot of the series `series`, or its stamp.
pub(super) const fn is_slot(name: &str, series: &str, slots: Slots) -> bool {
    let numbered = series.len() + slots.digits();
    let stamped = slots.has_stamps() && ends_in_stamp(name) && name.len() == numbered + STAMP.len();
    if name.len() != numbered && !stamped || !starts_with(name, series) {
        return false;
    }
    let name = name.as_bytes();
    let (mut number, mut at) = (0, series.len());
    while at < series.len() + slots.digits() {
        if !name[at].is_ascii_digit() {
            return false;
        }
        number = number * 10 + (name[at] - b'0') as usize;
        at += 1;
    }
    number < slots.most()
}

const fn ends_in_stamp(name: &str) -> bool {
    matches!(name.as_bytes(), [.., b'A', b't'])
}
