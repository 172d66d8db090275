//! Properties to be set in a stored entity.

use crate::entity::{TableEntity, body};
use crate::error::{Error, Result};
use crate::key::IntoValue;
use crate::property::{PropertiesWriter, Property, PropertyError, PropertyFault, series_slot};
use bytes::Bytes;
use serde::Serialize;
use std::collections::BTreeMap;
use std::marker::PhantomData;

/// Properties to be set in a stored entity `E`, by name.
///
/// The derive gives each entity a patch type of its own around this, such as `RegistrationPatch`,
/// with a setter for each field that no key is made of. A property set twice has the later value.
#[must_use = "nothing is sent until it is given to `merge`"]
pub struct Patch<E> {
    properties: BTreeMap<String, PropertiesWriter>,
    /// The first value that no property can store.
    fault: Option<PropertyError>,
    entity: PhantomData<fn() -> E>,
}

/// A patch of entity `E`: what [`Repo::merge`](crate::Repo::merge) takes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a patch of `{E}`",
    label = "not a patch of this entity",
    note = "start from the patch type that the derive gives the entity: `EntityPatch::default()`, \
            then set properties; fields of a key are changed with `load` and `save`, or `update`"
)]
pub trait EntityPatch<E> {
    /// The properties to be set.
    fn into_patch(self) -> Patch<E>;
}

impl<E> Default for Patch<E> {
    fn default() -> Self {
        Self { properties: BTreeMap::new(), fault: None, entity: PhantomData }
    }
}

impl<E> Clone for Patch<E> {
    fn clone(&self) -> Self {
        let Self { properties, fault, entity } = self;
        Self { properties: properties.clone(), fault: fault.clone(), entity: *entity }
    }
}

impl<E> std::fmt::Debug for Patch<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let json = self.properties.values().flat_map(PropertiesWriter::members).copied().collect();
        let json = String::from_utf8(json).unwrap_or_default();
        f.debug_tuple("Patch").field(&json.trim_start_matches(',')).finish()
    }
}

/// The setters of generated code.
#[doc(hidden)]
impl<E: TableEntity> Patch<E> {
    pub fn set_json<T: Serialize>(self, name: &str, value: impl IntoValue<T>) -> Self {
        let value = value.into_value();
        self.write(name, |out| out.json(name, &value))
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

    /// A property, by what writes it.
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
    /// The properties as a row's JSON object.
    pub(super) fn body(&self, partition_key: &str, row_key: &str) -> Result<Bytes> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone().into());
        }
        let mut all = PropertiesWriter::new(E::NAME);
        self.properties.values().for_each(|one| all.append(one));
        body(partition_key, row_key, &all).map_err(Error::from)
    }
}
