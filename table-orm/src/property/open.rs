//! Open properties: those that no field declares. Only annotations state their types.
//!
//! Invariant: a property that is read and written back keeps its type, if the store annotates it.
//! Queries for entities with open properties ask for annotations (`ReadRow::METADATA`).

use super::scalar::{Binary, Double, arbitrary_number};
use super::{
    Declared, Properties, PropertiesWriter, Property, PropertyError, PropertyFault, PropertyWriter,
    RowFault,
};
use crate::codec::Members;
use crate::model::{
    Edm, EdmType, METADATA_PREFIX, RESERVED_PROPERTIES, TYPE_ANNOTATION, is_system_property,
};
use serde::Deserializer;
use serde::de::{Error, MapAccess, Unexpected, Visitor};
use std::collections::BTreeMap;
use std::fmt;

/// Open properties: all that no other field of the entity has.
#[diagnostic::do_not_recommend]
impl Properties for BTreeMap<String, Edm> {
    const PROPERTIES: &'static [Declared] = &[Declared::Open];

    type Slots = OpenSlots;

    fn write(&self, _name: &str, out: &mut PropertiesWriter) -> Result<(), PropertyError> {
        self.iter().try_for_each(|(name, value)| out.open(name, value))
    }

    fn read(
        slots: &mut OpenSlots,
        _name: &str,
        property: &str,
        members: &mut Members<'_, '_>,
    ) -> Result<bool, RowFault> {
        if RESERVED_PROPERTIES.contains(&property) {
            return Ok(false);
        }
        slots.read(property, members)
    }

    fn finish(slots: OpenSlots, _name: &str) -> Result<Self, RowFault> {
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
    /// Reads a property, or the annotation of one; returns `false` for a member that is neither.
    pub(crate) fn read(
        &mut self,
        property: &str,
        members: &mut Members<'_, '_>,
    ) -> Result<bool, RowFault> {
        if let Some(annotated) = property.strip_suffix(TYPE_ANNOTATION) {
            let mut edm = None::<String>;
            members.read(property, &mut edm)?;
            self.types.insert(annotated.to_owned(), edm.unwrap_or_default());
        } else if is_system_property(property)
            || property.contains('@')
            || property.starts_with(METADATA_PREFIX)
        {
            return Ok(false);
        } else {
            let mut value = None::<Unannotated>;
            members.read(property, &mut value)?;
            self.values.extend(value.map(|Unannotated(value)| (property.to_owned(), value)));
        }
        Ok(true)
    }

    /// The value that was read under that name.
    pub(crate) fn value(&self, name: &str) -> Option<&Edm> {
        self.values.get(name)
    }

    fn finish(mut self) -> Result<BTreeMap<String, Edm>, RowFault> {
        for (name, edm) in self.types {
            if let Some(value) = self.values.get_mut(&name) {
                match value.clone().annotated(&edm) {
                    Ok(typed) => *value = typed,
                    Err(reason) => {
                        return Err(RowFault::new(&name, PropertyFault::Unreadable(reason)));
                    }
                }
            }
        }
        Ok(self.values)
    }
}

/// A value read by its JSON form alone: text stays text, whatever its annotation. No field can have
/// this type or `Edm`, because a field is read without its annotation.
struct Unannotated(Edm);

impl Property for Unannotated {
    fn write(&self, out: PropertyWriter<'_>) -> Result<(), PropertyFault> {
        out.edm(&self.0)
    }

    fn read<'de, D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        value.deserialize_any(AnyForm).map(Self)
    }

    fn edm(&self) -> Result<Option<Edm>, PropertyFault> {
        Ok(Some(self.0.clone()))
    }
}

/// Reads a value by its JSON form.
struct AnyForm;

impl<'de> Visitor<'de> for AnyForm {
    type Value = Edm;

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Edm, A::Error> {
        arbitrary_number(map, self)
    }

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, a number, or a truth value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Edm, E> {
        Ok(Edm::Boolean(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Edm, E> {
        Ok(i32::try_from(value).map_or(Edm::Int64(value), Edm::Int32))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Edm, E> {
        let value = i64::try_from(value)
            .map_err(|_| E::invalid_value(Unexpected::Unsigned(value), &self))?;
        self.visit_i64(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Edm, E> {
        Ok(Edm::Double(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Edm, E> {
        Ok(Edm::String(value.to_owned()))
    }
}

impl Edm {
    /// The value of this JSON form with that `@odata.type` annotation.
    pub(super) fn annotated(self, annotation: &str) -> Result<Self, String> {
        let mismatch = |value: &Self| format!("{value} is not an {annotation}");
        let edm = EdmType::from_name(annotation)
            .ok_or_else(|| format!("`{annotation}` is not a type of the service"))?;
        let parsed = match (edm, &self) {
            (EdmType::String, Self::String(_))
            | (EdmType::Int32, Self::Int32(_))
            | (EdmType::Boolean, Self::Boolean(_))
            | (EdmType::Double, Self::Double(_))
            | (EdmType::Int64, Self::Int64(_)) => Some(self.clone()),
            (EdmType::Int64, Self::Int32(value)) => Some(Self::Int64((*value).into())),
            (EdmType::Double, Self::Int32(value)) => Some(Self::Double((*value).into())),
            (EdmType::Double, Self::Int64(value)) => Some(Self::Double(*value as f64)),
            (EdmType::Int64, Self::String(text)) => text.parse().ok().map(Self::Int64),
            (EdmType::Double, Self::String(text)) => {
                Double.visit_str::<serde::de::value::Error>(text).ok().map(Self::Double)
            }
            (EdmType::DateTime, Self::String(text)) => text.parse().ok().map(Self::DateTime),
            (EdmType::Guid, Self::String(text)) => text.parse().ok().map(Self::Guid),
            (EdmType::Binary, Self::String(text)) => {
                Binary.visit_str::<serde::de::value::Error>(text).ok().map(Self::Binary)
            }
            _ => None,
        };
        parsed.ok_or_else(|| mismatch(&self))
    }
}
