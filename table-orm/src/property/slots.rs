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
}

impl Slots {
    /// The most values.
    pub(crate) const fn most(self) -> usize {
        match self {
            Self::Fixed(slots) | Self::UpTo(slots) => slots,
        }
    }

    /// The digits that number the slots: at least two.
    pub(super) const fn digits(self) -> usize {
        digits(self.most())
    }
}

const fn digits(slots: usize) -> usize {
    if slots > 100 { 3 } else { 2 }
}

/// The name of a slot's property.
pub(super) fn slot_name(name: &str, index: usize, digits: usize) -> String {
    format!("{name}{index:0digits$}")
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

/// Whether `name` is the property of a slot of the series `series`.
pub(super) const fn is_slot(name: &str, series: &str, slots: Slots) -> bool {
    if name.len() != series.len() + slots.digits() || !starts_with(name, series) {
        return false;
    }
    let name = name.as_bytes();
    let (mut number, mut at) = (0, series.len());
    while at < name.len() {
        if !name[at].is_ascii_digit() {
            return false;
        }
        number = number * 10 + (name[at] - b'0') as usize;
        at += 1;
    }
    number < slots.most()
}
