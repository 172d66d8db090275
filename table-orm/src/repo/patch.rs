//! The properties to set in a stored entity.

use crate::entity::{TableEntity, body, check_references, mark};
use crate::key::IntoValue;
use crate::property::{
    Chunked, PropertiesWriter, Property, PropertyError, PropertyFault, Rolling, series_slot,
};
use bytes::Bytes;
use serde::Serialize;
use std::collections::BTreeMap;
use std::marker::PhantomData;

/// The properties to set in a stored entity `E`, by name.
///
/// The derive wraps it in a patch type for each entity, such as `RegistrationPatch`, with a setter for
/// each field that is not part of a key. If a property is set twice, the later value counts; of two values for one
/// slot of a ring, that of the later period.
#[must_use = "nothing is sent until it is given to `merge`"]
pub struct Patch<E> {
    properties: BTreeMap<String, PropertiesWriter>,
    /// The number of the period of each slot of a ring that it sets.
    periods: BTreeMap<String, i64>,
    /// The first value that no property can store.
    fault: Option<PropertyError>,
    entity: PhantomData<fn() -> E>,
}

/// A patch of entity `E`: what [`Repo::merge`](crate::Repo::merge) takes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a patch of `{E}`",
    label = "not a patch of this entity",
    note = "start with the patch type that the derive generates for the entity: \
            `EntityPatch::default()`, then set properties; to change fields of a key, use `update`, \
            or `load` and `save`"
)]
/// A patch of the entity `E`, as [`Repo::merge`](crate::Repo::merge) takes it.
pub trait EntityPatch<E> {
    /// Returns the properties to set.
    fn into_patch(self) -> Patch<E>;
}

/// `Default`, `Clone` and `Debug` of a generated patch type. The derive passes the type's parameters, the
/// type, its bounds and its name.
#[doc(hidden)]
#[macro_export]
macro_rules! __patch {
    ([$($params:tt)*] $patch:ty, [$($bounds:tt)*], $name:literal) => {
        impl $($params)* ::core::default::Default for $patch $($bounds)* {
            fn default() -> Self {
                Self(::core::default::Default::default())
            }
        }
        $crate::__private::wrapper!([$($params)*] $patch, [$($bounds)*], $name);
    };
}

impl<E> Default for Patch<E> {
    fn default() -> Self {
        let (properties, periods) = (BTreeMap::new(), BTreeMap::new());
        Self { properties, periods, fault: None, entity: PhantomData }
    }
}

impl<E> Clone for Patch<E> {
    fn clone(&self) -> Self {
        let Self { properties, periods, fault, entity } = self;
        let (properties, periods) = (properties.clone(), periods.clone());
        Self { properties, periods, fault: fault.clone(), entity: *entity }
    }
}

impl<E> std::fmt::Debug for Patch<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let json = self.properties.values().flat_map(PropertiesWriter::members).copied().collect();
        let json = String::from_utf8(json).unwrap_or_default();
        f.debug_tuple("Patch").field(&json.trim_start_matches(',')).finish()
    }
}

/// The setters that generated code calls.
#[doc(hidden)]
impl<E: TableEntity> Patch<E> {
    pub fn set_json<T: Serialize>(self, name: &str, value: impl IntoValue<T>) -> Self {
        let value = value.into_value();
        self.write(name, |out| out.json(name, &value))
    }

    pub fn set_chunked<T: Chunked>(self, name: &str, value: impl IntoValue<T>) -> Self {
        let value = value.into_value();
        self.write(name, |out| value.write(name, out))
    }

    pub fn set_chunked_json<T: Serialize>(self, name: &str, value: impl IntoValue<T>) -> Self {
        let value = value.into_value();
        self.write(name, |out| out.chunked_json(name, &value))
    }

    pub fn set_slot<T: Property>(
        self,
        name: &str,
        slot: usize,
        slots: usize,
        value: impl IntoValue<T>,
    ) -> Self {
        let value = value.into_value();
        let property = series_slot(name, slot, slots);
        self.write(&property, |out| {
            if slot < slots {
                out.property(&property, &value)
            } else {
                Err(out.error(name, PropertyFault::NoSuchSlot { slot, slots }))
            }
        })
    }

    pub fn set_ring<R: Rolling>(
        mut self,
        name: &str,
        at: R::At,
        value: impl IntoValue<R::Value>,
    ) -> Self {
        let value = value.into_value();
        let (slot, number) = (series_slot(name, R::slot(&at), R::SLOTS.most()), R::number(&at));
        // A slot shows one period: the latest, whichever value was set first.
        if self.periods.get(&slot).is_some_and(|newest| *newest > number) {
            return self;
        }
        self.periods.insert(slot.clone(), number);
        self.write(&slot, |out| R::write_slot(at, &value, name, out))
    }

    /// Sets a property by the function that writes it.
    pub(crate) fn write(
        mut self,
        name: &str,
        write: impl FnOnce(&mut PropertiesWriter) -> Result<(), PropertyError>,
    ) -> Self {
        let mut out = PropertiesWriter::new(E::NAME);
        match write(&mut out) {
            Ok(()) => {
                self.properties.insert(name.to_owned(), out);
            }
            Err(fault) => self.fault = self.fault.or(Some(fault)),
        }
        self
    }
}

impl<E: TableEntity> Patch<E> {
    /// Returns the properties as the JSON object of a row.
    pub(crate) fn body(&self, partition_key: &str, row_key: &str) -> Result<Bytes, PropertyError> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let mut all = PropertiesWriter::new(E::NAME);
        self.properties.values().for_each(|one| all.append(one));
        check_references::<E>(&all)?;
        mark::<E>(&mut all)?;
        body(partition_key, row_key, &all)
    }
}
