//! Several properties in one field.

use super::{Declared, PropertiesWriter, PropertyError, RowFault};
use crate::codec::Members;

/// A group of properties for `#[table(flatten)]`: a struct with `#[derive(Properties)]`, or a map.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a group of properties",
    label = "cannot be flattened",
    note = "flatten a struct with `#[derive(Properties)]`, or a `BTreeMap<String, Edm>` that takes \
            the properties no other field has; an array or a `Vec` is a `#[table(series)]`"
)]
pub trait Properties: Sized {
    /// The properties that the type declares: checked together with those of the entity that it is
    /// flattened into.
    #[doc(hidden)]
    const PROPERTIES: &'static [Declared] = &[];

    /// The values of the group that were read so far.
    type Slots: Default;

    /// No values.
    #[must_use]
    fn empty() -> Self::Slots {
        Self::Slots::default()
    }

    /// Writes every property of the group. `name` is the stored name of the field that holds it.
    ///
    /// # Errors
    /// When the service cannot store one of them.
    fn write(&self, name: &str, out: &mut PropertiesWriter) -> Result<(), PropertyError>;

    /// Reads the value of `property` if it belongs to the group, and returns whether it does.
    ///
    /// # Errors
    /// When the value does not match its property's type.
    fn read(
        slots: &mut Self::Slots,
        name: &str,
        property: &str,
        members: &mut Members<'_, '_>,
    ) -> Result<bool, RowFault>;

    /// The group of the values that were read.
    ///
    /// # Errors
    /// When a property is missing or wrong: [`RowFault`].
    fn finish(slots: Self::Slots, name: &str) -> Result<Self, RowFault>;
}

impl PropertiesWriter {
    /// Writes the properties of a flattened field.
    ///
    /// # Errors
    /// When the service cannot store one of them.
    pub fn flatten<T: Properties>(&mut self, name: &str, value: &T) -> Result<(), PropertyError> {
        value.write(name, self)
    }
}

#[diagnostic::do_not_recommend]
impl<T: Properties> Properties for Option<T> {
    const PROPERTIES: &'static [Declared] = T::PROPERTIES;

    type Slots = (T::Slots, bool);

    fn write(&self, name: &str, out: &mut PropertiesWriter) -> Result<(), PropertyError> {
        self.as_ref().map_or(Ok(()), |group| group.write(name, out))
    }

    fn read(
        (slots, any): &mut Self::Slots,
        name: &str,
        property: &str,
        members: &mut Members<'_, '_>,
    ) -> Result<bool, RowFault> {
        let taken = T::read(slots, name, property, members)?;
        *any |= taken;
        Ok(taken)
    }

    fn finish((slots, any): Self::Slots, name: &str) -> Result<Self, RowFault> {
        if any { T::finish(slots, name).map(Some) } else { Ok(None) }
    }
}
