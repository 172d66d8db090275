//! The properties that a type declares, with those of the groups it flattens: compared with the open properties
//! that are written beside them, and listed in a schema.

use super::slots::{CHUNKS, Slots, is_slot};
use super::{Limit, PropertiesWriter, Property, PropertyError, PropertyFault};
use crate::model::{EdmType, Metadata, RESERVED_PROPERTIES};

/// The values that a property can have, as far as its type says.
#[derive(Debug, Clone, Copy)]
pub struct ValueType {
    /// The EDM type of every stored value, where all have one.
    pub edm: Option<EdmType>,
    /// All texts that it can store, where these are codes; else empty.
    pub codes: &'static [&'static str],
}

impl ValueType {
    /// Any value.
    pub const ANY: Self = Self { edm: None, codes: &[] };

    /// The values of a property's type.
    #[must_use]
    pub const fn of<T: Property>() -> Self {
        Self { edm: T::TYPE, codes: T::CODES }
    }
}

/// The properties of one field.
#[derive(Debug, Clone, Copy)]
pub enum Declared {
    /// One of that name.
    One(&'static str, ValueType, Option<Limit>),
    /// Numbered ones.
    Series(&'static str, Slots, ValueType),
    /// One value in numbered properties, with its length under the name.
    Chunked(&'static str, EdmType),
    /// Those of a flattened struct.
    Group(&'static str, &'static [Self]),
    /// Any that no other field has. Only annotations state their types.
    Open,
}

impl Declared {
    /// Returns the same property, whose field has a limit.
    #[must_use]
    pub const fn limit(self, limit: Limit) -> Self {
        match self {
            Self::One(name, values, _) => Self::One(name, values, Some(limit)),
            other => other,
        }
    }
}

/// Whether one of these declares that property, whether or not it has a value.
pub(crate) fn declares(declared: &[Declared], property: &str) -> bool {
    declared.iter().any(|declared| match declared {
        Declared::One(name, ..) => *name == property,
        Declared::Series(series, slots, _) => is_slot(property, series, *slots),
        Declared::Chunked(name, _) => *name == property || is_slot(property, name, CHUNKS),
        Declared::Group(_, group) => declares(group, property),
        Declared::Open => false,
    })
}

impl PropertiesWriter {
    /// Checks that no open property has the name of a declared one, or of one that table-orm marks
    /// rows with: a reader would take it for that one.
    ///
    /// # Errors
    /// When an open property has such a name: [`PropertyFault::Duplicate`].
    #[doc(hidden)]
    pub fn check_open(&self, declared: &[Declared]) -> Result<(), PropertyError> {
        let taken = |name: &&str| declares(declared, name) || RESERVED_PROPERTIES.contains(name);
        match self.open_names().find(taken) {
            Some(name) => Err(self.error(name, PropertyFault::Duplicate)),
            None => Ok(()),
        }
    }
}

/// Whether that property is a chunk of a value. A merge of a shorter value leaves chunks that nobody
/// reads.
pub(crate) fn is_chunk(declared: &[Declared], property: &str) -> bool {
    declared.iter().any(|declared| match declared {
        Declared::Chunked(name, _) => is_slot(property, name, CHUNKS),
        Declared::Group(_, group) => is_chunk(group, property),
        _ => false,
    })
}

/// The metadata that a query must ask for, so that values of these properties keep their types.
pub const fn metadata(declared: &[Declared]) -> Metadata {
    let mut at = 0;
    while at < declared.len() {
        let metadata = match declared[at] {
            Declared::Open => Metadata::Minimal,
            Declared::Group(_, group) => metadata(group),
            Declared::One(..) | Declared::Series(..) | Declared::Chunked(..) => Metadata::None,
        };
        if matches!(metadata, Metadata::Minimal) {
            return metadata;
        }
        at += 1;
    }
    Metadata::None
}
