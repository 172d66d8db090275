//! A data series: many values of one kind in numbered properties of one entity.
//!
//! A field `splits: [Option<f64>; 9]` is stored as `Splits00` to `Splits08`, a `Vec` in three
//! digits from `Splits000`. One request reads or writes the whole series; a row for each value
//! would cost one request each.

use super::ValueType;
use super::slots::{CHUNKS, Slots, slot, slot_name, stamp_name};
use super::{PropertiesWriter, Property, PropertyError, PropertyFault, RowFault};
use crate::codec::Members;
use crate::model::MAX_PROPERTIES;
use std::borrow::Cow;

/// A group of properties numbered from 0: `[Option<T>; N]`, whose empty slots are not stored,
/// `Vec<T>`, which has no empty slots, or a [`Ring`](super::Ring), whose slots are used again.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a series",
    label = "not a series",
    note = "a series is `[Option<T>; N]`, `Vec<T>` or a `Ring`"
)]
pub trait Series: Sized {
    /// How many values it has.
    #[doc(hidden)]
    const SLOTS: Slots;

    /// The values that its properties can have.
    #[doc(hidden)]
    const TYPE: ValueType = ValueType::ANY;

    /// The values of the series that were read so far.
    type Slots: Default;

    /// No values.
    #[must_use]
    fn empty() -> Self::Slots {
        Self::Slots::default()
    }

    /// Writes every property of the series. `name` is the stored name of the field that holds it.
    ///
    /// # Errors
    /// When the service cannot store one of them.
    fn write(&self, name: &str, out: &mut PropertiesWriter) -> Result<(), PropertyError>;

    /// Reads the value of `property` if it belongs to the series, and returns whether it does.
    ///
    /// # Errors
    /// When the value does not match the series' type.
    fn read(
        slots: &mut Self::Slots,
        name: &str,
        property: &str,
        members: &mut Members<'_, '_>,
    ) -> Result<bool, RowFault>;

    /// Reads the value of that slot.
    #[doc(hidden)]
    fn read_slot(
        slots: &mut Self::Slots,
        index: usize,
        property: &str,
        members: &mut Members<'_, '_>,
    ) -> Result<(), RowFault>;

    /// The series of the values that were read.
    ///
    /// # Errors
    /// When a value is missing: [`RowFault`].
    fn finish(slots: Self::Slots, name: &str) -> Result<Self, RowFault>;
}

impl PropertiesWriter {
    /// Writes the numbered properties of a series. `name` is the stored name of its field.
    ///
    /// # Errors
    /// When the service cannot store one of them.
    pub fn series<T: Series>(&mut self, name: &str, value: &T) -> Result<(), PropertyError> {
        value.write(name, self)
    }
}

/// The slots of a series that were read so far.
#[derive(Debug)]
pub struct SeriesSlots<T>(Vec<Option<T>>);

impl<T> Default for SeriesSlots<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> SeriesSlots<T> {
    /// The values of the slots up to the last one that was read.
    pub(super) fn into_values(self) -> std::vec::IntoIter<Option<T>> {
        self.0.into_iter()
    }
}

impl<T: Property> SeriesSlots<T> {
    pub(super) fn read(
        &mut self,
        index: usize,
        property: &str,
        members: &mut Members<'_, '_>,
    ) -> Result<(), RowFault> {
        if self.0.len() <= index {
            self.0.resize_with(index + 1, || None);
        }
        members.read(property, &mut self.0[index])
    }
}

#[diagnostic::do_not_recommend]
impl<T: Property, const N: usize> Series for [Option<T>; N] {
    const SLOTS: Slots = Slots::Fixed(N);
    const TYPE: ValueType = ValueType::of::<T>();

    type Slots = SeriesSlots<T>;

    fn write(&self, name: &str, out: &mut PropertiesWriter) -> Result<(), PropertyError> {
        for (index, value) in self.iter().enumerate() {
            if let Some(value) = value {
                out.property(&slot_name(name, index, Self::SLOTS.digits()), value)?;
            }
        }
        Ok(())
    }

    fn read(
        slots: &mut Self::Slots,
        name: &str,
        property: &str,
        members: &mut Members<'_, '_>,
    ) -> Result<bool, RowFault> {
        match slot(name, property, Self::SLOTS.digits()) {
            Some(index) if index < N => slots.read(index, property, members).map(|()| true),
            _ => Ok(false),
        }
    }

    fn read_slot(
        slots: &mut Self::Slots,
        index: usize,
        property: &str,
        members: &mut Members<'_, '_>,
    ) -> Result<(), RowFault> {
        slots.read(index, property, members)
    }

    fn finish(slots: Self::Slots, _name: &str) -> Result<Self, RowFault> {
        let mut values = slots.0.into_iter();
        Ok(std::array::from_fn(|_| values.next().flatten()))
    }
}

/// The digits that number the values of a `Vec`.
const VEC_DIGITS: usize = Slots::UpTo(MAX_PROPERTIES).digits();

#[diagnostic::do_not_recommend]
impl<T: Property> Series for Vec<T> {
    const SLOTS: Slots = Slots::UpTo(MAX_PROPERTIES);
    const TYPE: ValueType = ValueType::of::<T>();

    type Slots = SeriesSlots<T>;

    fn write(&self, name: &str, out: &mut PropertiesWriter) -> Result<(), PropertyError> {
        if self.len() > MAX_PROPERTIES {
            let fault = PropertyFault::SeriesTooLong { length: self.len(), max: MAX_PROPERTIES };
            return Err(out.error(name, fault));
        }
        for (index, value) in self.iter().enumerate() {
            let (slot, before) = (slot_name(name, index, VEC_DIGITS), out.count());
            out.property(&slot, value)?;
            // A value that writes nothing, such as `None`, would leave a gap that cannot be read.
            if out.count() == before {
                return Err(out.error(&slot, PropertyFault::MissingSlot));
            }
        }
        Ok(())
    }

    fn read(
        slots: &mut Self::Slots,
        name: &str,
        property: &str,
        members: &mut Members<'_, '_>,
    ) -> Result<bool, RowFault> {
        match slot(name, property, VEC_DIGITS) {
            Some(index) if index < MAX_PROPERTIES => {
                slots.read(index, property, members).map(|()| true)
            }
            _ => Ok(false),
        }
    }

    fn read_slot(
        slots: &mut Self::Slots,
        index: usize,
        property: &str,
        members: &mut Members<'_, '_>,
    ) -> Result<(), RowFault> {
        slots.read(index, property, members)
    }

    fn finish(slots: Self::Slots, name: &str) -> Result<Self, RowFault> {
        let missing =
            |index| RowFault::new(&slot_name(name, index, VEC_DIGITS), PropertyFault::MissingSlot);
        slots
            .0
            .into_iter()
            .enumerate()
            .map(|(index, value)| value.ok_or_else(|| missing(index)))
            .collect()
    }
}

/// Some slots of a series `S`, each of which may be empty: `[Option<T>; N]` for a series of `T`.
#[doc(hidden)]
pub trait SlotsOf<S>: Series {}

impl<T: Property, const N: usize, const M: usize> SlotsOf<[Option<T>; M]> for [Option<T>; N] {}
impl<T: Property, const N: usize> SlotsOf<Vec<T>> for [Option<T>; N] {}

/// The slots of an entity's series that a field of a projection holds.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct ProjectedSeries {
    property: &'static str,
    /// Whether the row has a property without a number, too: the length of a chunked value.
    length: bool,
    slots: Slots,
    from: usize,
    to: usize,
}

impl ProjectedSeries {
    /// All slots of a series.
    #[must_use]
    pub const fn whole<T: Series>(property: &'static str) -> Self {
        Self { property, length: false, slots: T::SLOTS, from: 0, to: T::SLOTS.most() }
    }

    /// The slots `from..to` of the series `S`, in a field of type `T`.
    #[track_caller]
    #[must_use]
    pub const fn part<S: Series, T: SlotsOf<S>>(
        property: &'static str,
        from: usize,
        to: usize,
    ) -> Self {
        assert!(
            from < to,
            "the range of slots is empty; write `slots(a..b)` with `a` less than `b`"
        );
        assert!(to <= S::SLOTS.most(), "the series has no such slots; its slots start at 0");
        assert!(
            T::SLOTS.most() == to - from,
            "the field and the range differ in their number of slots; make the field `[Option<T>; \
             N]`, with the number of slots in the range"
        );
        Self { property, length: false, slots: S::SLOTS, from, to }
    }

    /// All chunks of a value, and its length.
    #[must_use]
    pub const fn chunked(property: &'static str) -> Self {
        Self { property, length: true, slots: CHUNKS, from: 0, to: CHUNKS.most() }
    }

    /// The name of the stored series.
    #[must_use]
    pub const fn property(self) -> &'static str {
        self.property
    }

    fn names(self) -> impl Iterator<Item = String> {
        let length = self.length.then(|| self.property.to_owned());
        let digits = self.slots.digits();
        let slots = (self.from..self.to).flat_map(move |slot| {
            let stamp = self.slots.has_stamps();
            let stamp = stamp.then(|| stamp_name(self.property, slot, digits));
            std::iter::once(slot_name(self.property, slot, digits)).chain(stamp)
        });
        length.into_iter().chain(slots)
    }

    /// The properties to ask for, beside these; `None` for all when they are more than a row can have.
    #[must_use]
    pub fn select(
        others: Option<&'static [&'static str]>,
        series: &[Self],
    ) -> Option<Vec<Cow<'static, str>>> {
        let mut names: Vec<_> = others?.iter().copied().map(Cow::Borrowed).collect();
        names.extend(series.iter().flat_map(|series| series.names()).map(Cow::Owned));
        Some(names).filter(|names| names.len() <= MAX_PROPERTIES)
    }

    /// Reads the value of `property` if it is one of these slots, and returns whether it is.
    ///
    /// # Errors
    /// When the value does not match the series' type.
    pub fn read<T: Series>(
        self,
        slots: &mut T::Slots,
        property: &str,
        members: &mut Members<'_, '_>,
    ) -> Result<bool, RowFault> {
        if self.slots.has_stamps() {
            // A ring is projected whole.
            return T::read(slots, self.property, property, members);
        }
        match slot(self.property, property, self.slots.digits()) {
            Some(index) if (self.from..self.to).contains(&index) => {
                T::read_slot(slots, index - self.from, property, members).map(|()| true)
            }
            _ => Ok(false),
        }
    }
}
