//! Several properties in one field.

use super::{Declared, PropertiesWriter, PropertyError, PropertyFault};
use crate::edm::Edm;
use crate::row::Members;
use serde::de::MapAccess;
use std::collections::BTreeMap;

/// A group of properties: a struct with `#[derive(Properties)]` or a map for `#[table(flatten)]`,
/// an array or `Vec` for `#[table(series)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a group of properties",
    label = "cannot be flattened",
    note = "flatten a struct with `#[derive(Properties)]`, or a `BTreeMap<String, Edm>` that takes \
            the properties no other field has"
)]
pub trait Properties: Sized {
    /// The properties, as far as the type tells: checked together with those of the entity that it
    /// is flattened into.
    #[doc(hidden)]
    const PROPERTIES: &'static [Declared] = &[];

    /// What has been read of the group so far.
    type Slots: Default;

    /// What has been read of the group at first: nothing.
    #[must_use]
    fn empty() -> Self::Slots {
        Self::Slots::default()
    }

    /// Writes every property of the group. `name` is the stored name of the field that holds it.
    ///
    /// # Errors
    /// When the service could not store one of them.
    fn write(&self, name: &str, out: &mut PropertiesWriter) -> Result<(), PropertyError>;

    /// Reads the value of `property` if it belongs to the group, and says whether it did.
    ///
    /// # Errors
    /// When the value is not one of this group's.
    fn read<'de, A: MapAccess<'de>>(
        slots: &mut Self::Slots,
        name: &str,
        property: &str,
        members: &mut Members<'_, 'de, A>,
    ) -> Result<bool, A::Error>;

    /// The group, from what was read.
    ///
    /// # Errors
    /// The property that is missing or wrong.
    fn finish(slots: Self::Slots, name: &str) -> Result<Self, (String, PropertyFault)>;
}

/// Open properties: every one that no other field of the entity has.
#[diagnostic::do_not_recommend]
impl Properties for BTreeMap<String, Edm> {
    type Slots = OpenSlots;

    fn write(&self, _name: &str, out: &mut PropertiesWriter) -> Result<(), PropertyError> {
        self.iter().try_for_each(|(name, value)| out.open(name, value))
    }

    fn read<'de, A: MapAccess<'de>>(
        slots: &mut OpenSlots,
        _name: &str,
        property: &str,
        members: &mut Members<'_, 'de, A>,
    ) -> Result<bool, A::Error> {
        if let Some(annotated) = property.strip_suffix("@odata.type") {
            let mut edm = None::<String>;
            members.read(property, &mut edm)?;
            slots.types.insert(annotated.to_owned(), edm.unwrap_or_default());
        } else if matches!(property, "PartitionKey" | "RowKey" | "Timestamp")
            || property.contains('@')
            || property.starts_with("odata.")
        {
            return Ok(false);
        } else {
            let mut value = None::<Edm>;
            members.read(property, &mut value)?;
            slots.values.extend(value.map(|value| (property.to_owned(), value)));
        }
        Ok(true)
    }

    fn finish(slots: OpenSlots, _name: &str) -> Result<Self, (String, PropertyFault)> {
        slots.finish()
    }
}

/// Values and their annotations, which may come in either order.
#[derive(Debug, Default)]
pub struct OpenSlots {
    values: BTreeMap<String, Edm>,
    types: BTreeMap<String, String>,
}

impl OpenSlots {
    fn finish(mut self) -> Result<BTreeMap<String, Edm>, (String, PropertyFault)> {
        for (name, edm) in self.types {
            if let Some(value) = self.values.get_mut(&name) {
                match value.clone().annotated(&edm) {
                    Ok(typed) => *value = typed,
                    Err(reason) => return Err((name, PropertyFault::Unreadable(reason))),
                }
            }
        }
        Ok(self.values)
    }
}

#[diagnostic::do_not_recommend]
impl<T: Properties> Properties for Option<T> {
    const PROPERTIES: &'static [Declared] = T::PROPERTIES;

    type Slots = (T::Slots, bool);

    fn write(&self, name: &str, out: &mut PropertiesWriter) -> Result<(), PropertyError> {
        self.as_ref().map_or(Ok(()), |group| group.write(name, out))
    }

    fn read<'de, A: MapAccess<'de>>(
        (slots, any): &mut Self::Slots,
        name: &str,
        property: &str,
        members: &mut Members<'_, 'de, A>,
    ) -> Result<bool, A::Error> {
        let taken = T::read(slots, name, property, members)?;
        *any |= taken;
        Ok(taken)
    }

    fn finish((slots, any): Self::Slots, name: &str) -> Result<Self, (String, PropertyFault)> {
        if any { T::finish(slots, name).map(Some) } else { Ok(None) }
    }
}
