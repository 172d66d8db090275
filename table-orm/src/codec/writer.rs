//! Writes the properties of a row as JSON members.
//!
//! Invariant: the bytes are a sequence of JSON members, each with a comma in front, so that they
//! can follow the keys of any row of the entity.

use super::json_text::{number, write_string};
use super::limit::Limit;
use super::property_name::is_property_name;
use super::seen_names::SeenNames;
use super::{PropertyError, PropertyFault};
use crate::model::{
    DateTime, Edm, EdmType, MAX_BINARY_BYTES, MAX_ENTITY_BYTES, MAX_PROPERTIES, MAX_STRING_UNITS,
    SYSTEM_PROPERTIES, TYPE_ANNOTATION, entity_size, order, property_size,
};
use base64::Engine as _;
use std::ops::Range;
use uuid::Uuid;

/// Up to this many names, comparing each pair is faster than sorting.
const FEW_NAMES: usize = 32;

/// The properties of one row, as JSON members.
#[derive(Debug, Clone)]
pub struct PropertiesWriter {
    entity: &'static str,
    json: Vec<u8>,
    /// Bytes as the service counts an entity's size.
    size: usize,
    /// Where the names are in `json`.
    names: Vec<Range<usize>>,
    /// Which of them are names of open properties.
    open: Vec<usize>,
    /// These names and the service's own.
    seen: SeenNames,
    /// The limit of the property being written.
    pub(super) limit: Option<Limit>,
    /// Which of them refer to rows of their own.
    references: Vec<usize>,
}

impl PropertiesWriter {
    /// An empty writer for an entity of that type.
    #[must_use]
    pub fn new(entity: &'static str) -> Self {
        let mut seen = SeenNames::default();
        SYSTEM_PROPERTIES.iter().for_each(|name| seen.add(name.as_bytes()));
        Self {
            entity,
            json: Vec::with_capacity(512),
            size: 0,
            names: Vec::with_capacity(16),
            open: Vec::new(),
            references: Vec::new(),
            seen,
            limit: None,
        }
    }

    /// Writes one property that no field declares.
    pub(crate) fn open(&mut self, name: &str, value: &Edm) -> Result<(), PropertyError> {
        self.open.push(self.names.len());
        let out = PropertyWriter { name, out: self };
        out.edm(value).map_err(|fault| self.error(name, fault))
    }

    /// The error of one property of the entity.
    #[must_use]
    pub fn error(&self, name: &str, fault: PropertyFault) -> PropertyError {
        PropertyError {
            entity: self.entity,
            property: name.to_owned(),
            partition_key: String::new(),
            row_key: String::new(),
            fault,
        }
    }

    /// Appends the properties of another writer.
    pub(crate) fn append(&mut self, other: &Self) {
        let start = self.json.len();
        self.json.extend_from_slice(&other.json);
        self.size += other.size;
        other.names().for_each(|name| self.seen.add(name));
        self.references.extend(other.references.iter().map(|name| name + self.names.len()));
        let names = other.names.iter();
        self.names.extend(names.map(|name| name.start + start..name.end + start));
    }

    /// The entity's type name.
    pub(super) const fn entity(&self) -> &'static str {
        self.entity
    }

    /// The names of the open properties.
    pub(crate) fn open_names(&self) -> impl Iterator<Item = &str> {
        self.open.iter().map(|&index| self.name(index))
    }

    /// The names of properties that refer to rows of their own.
    pub(crate) fn references(&self) -> impl Iterator<Item = &str> {
        self.references.iter().map(|&index| self.name(index))
    }

    /// The members, each with a comma in front.
    pub(crate) fn members(&self) -> &[u8] {
        &self.json
    }

    /// How many properties were written.
    pub(crate) fn count(&self) -> usize {
        self.names.len()
    }

    /// Checks the limits of a whole entity whose two keys have `key_units` UTF-16 units.
    pub(crate) fn check(&self, key_units: usize) -> Result<(), PropertyError> {
        let count = self.names.len();
        if count > MAX_PROPERTIES {
            let last = self.name(MAX_PROPERTIES);
            return Err(self.error(last, PropertyFault::TooManyProperties(count)));
        }
        self.check_names()?;
        let size = entity_size(key_units, self.size);
        if size > MAX_ENTITY_BYTES {
            return Err(self.error("", PropertyFault::EntityTooLarge(size)));
        }
        Ok(())
    }
}

impl PropertiesWriter {
    fn name(&self, index: usize) -> &str {
        self.names().nth(index).and_then(|name| str::from_utf8(name).ok()).unwrap_or_default()
    }

    fn names(&self) -> impl Iterator<Item = &[u8]> + Clone {
        self.names.iter().filter_map(|range| self.json.get(range.clone()))
    }

    /// Checks that no two properties have one name, and that no name is the service's own. The
    /// derive checks the fields of an entity; names from flattened groups and maps are known only
    /// here.
    fn check_names(&self) -> Result<(), PropertyError> {
        if !self.seen.may_repeat {
            return Ok(());
        }
        let (names, system) = (self.names(), SYSTEM_PROPERTIES.map(str::as_bytes));
        let twice = if self.names.len() <= FEW_NAMES {
            let before = |index, name| names.clone().take(index).any(|earlier| earlier == name);
            let mut found = names.clone().enumerate();
            found
                .find(|&(index, name)| system.contains(&name) || before(index, name))
                .map(|(_, name)| name)
        } else {
            let mut sorted: Vec<_> = system.into_iter().chain(names).collect();
            sorted.sort_unstable();
            sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
        };
        match twice {
            Some(name) => {
                let name = str::from_utf8(name).unwrap_or_default();
                Err(self.error(name, PropertyFault::Duplicate))
            }
            None => Ok(()),
        }
    }
}

/// Writes one property: it has a name, and a method for each EDM type.
#[derive(Debug)]
pub struct PropertyWriter<'a> {
    pub(super) name: &'a str,
    pub(super) out: &'a mut PropertiesWriter,
}

impl PropertyWriter<'_> {
    /// Writes an `Edm.String`.
    ///
    /// # Errors
    /// When the text is over 64 KiB: [`PropertyFault::StringTooLong`].
    pub fn string(self, value: &str) -> Result<(), PropertyFault> {
        // UTF-8 never takes fewer bytes than UTF-16 takes units.
        let units = if value.len() > MAX_STRING_UNITS || !value.is_ascii() {
            order::len(value)
        } else {
            value.len()
        };
        if units > MAX_STRING_UNITS {
            return Err(PropertyFault::StringTooLong(units));
        }
        match self.out.limit {
            Some(Limit::MaxLen(max)) if units > max => {
                return Err(PropertyFault::MaxLen { length: units, max });
            }
            Some(Limit::MaxLen(_)) => {}
            _ => self.check_unlimited()?,
        }
        self.member(2 * units + 4, |json| write_string(json, value))
    }

    /// Writes an `Edm.String` that refers to rows of their own.
    pub(crate) fn reference(self, text: &str) -> Result<(), PropertyFault> {
        self.out.references.push(self.out.names.len());
        self.string(text)
    }

    /// Writes an `Edm.Int32`.
    ///
    /// # Errors
    /// When no property can have the name: [`PropertyFault::Name`].
    pub fn int32(self, value: i32) -> Result<(), PropertyFault> {
        self.check_max(value.into())?;
        self.member(4, |json| number(json, value))
    }

    /// Writes an `Edm.Int64`.
    ///
    /// # Errors
    /// When no property can have the name: [`PropertyFault::Name`].
    pub fn int64(self, value: i64) -> Result<(), PropertyFault> {
        self.check_max(value)?;
        self.annotated(EdmType::Int64, 8, |json| {
            json.push(b'"');
            number(json, value);
            json.push(b'"');
        })
    }

    /// Writes an `Edm.Double`.
    ///
    /// # Errors
    /// When no property can have the name: [`PropertyFault::Name`].
    pub fn double(self, value: f64) -> Result<(), PropertyFault> {
        self.check_unlimited()?;
        self.annotated(EdmType::Double, 8, |json| {
            if value.is_nan() {
                json.extend_from_slice(b"\"NaN\"");
            } else if value.is_infinite() {
                json.extend_from_slice(if value > 0.0 {
                    b"\"Infinity\""
                } else {
                    b"\"-Infinity\""
                });
            } else {
                number(json, value);
            }
        })
    }

    /// Writes an `Edm.Boolean`.
    ///
    /// # Errors
    /// When no property can have the name: [`PropertyFault::Name`].
    pub fn boolean(self, value: bool) -> Result<(), PropertyFault> {
        self.check_unlimited()?;
        self.member(1, |json| json.extend_from_slice(if value { b"true" } else { b"false" }))
    }

    /// Writes an `Edm.DateTime`.
    ///
    /// # Errors
    /// When no property can have the name: [`PropertyFault::Name`].
    pub fn date_time(self, value: DateTime) -> Result<(), PropertyFault> {
        self.check_unlimited()?;
        self.annotated(EdmType::DateTime, 8, |json| {
            json.push(b'"');
            json.extend_from_slice(&value.text());
            json.push(b'"');
        })
    }

    /// Writes an `Edm.Guid`.
    ///
    /// # Errors
    /// When no property can have the name: [`PropertyFault::Name`].
    pub fn guid(self, value: Uuid) -> Result<(), PropertyFault> {
        self.check_unlimited()?;
        self.annotated(EdmType::Guid, 16, |json| {
            json.push(b'"');
            let mut text = Uuid::encode_buffer();
            json.extend_from_slice(value.hyphenated().encode_lower(&mut text).as_bytes());
            json.push(b'"');
        })
    }

    /// Writes an `Edm.Binary`.
    ///
    /// # Errors
    /// When there are more than 64 KiB: [`PropertyFault::BinaryTooLong`].
    pub fn binary(self, value: &[u8]) -> Result<(), PropertyFault> {
        self.check_unlimited()?;
        if value.len() > MAX_BINARY_BYTES {
            return Err(PropertyFault::BinaryTooLong(value.len()));
        }
        self.annotated(EdmType::Binary, value.len() + 4, |json| {
            json.push(b'"');
            let text = base64::engine::general_purpose::STANDARD.encode(value);
            json.extend_from_slice(text.as_bytes());
            json.push(b'"');
        })
    }

    /// Writes a value of any type.
    pub(crate) fn edm(self, value: &Edm) -> Result<(), PropertyFault> {
        match value {
            Edm::String(value) => self.string(value),
            Edm::Int32(value) => self.int32(*value),
            Edm::Int64(value) => self.int64(*value),
            Edm::Double(value) => self.double(*value),
            Edm::Boolean(value) => self.boolean(*value),
            Edm::DateTime(value) => self.date_time(*value),
            Edm::Guid(value) => self.guid(*value),
            Edm::Binary(value) => self.binary(value),
        }
    }

    fn check_max(&self, value: i64) -> Result<(), PropertyFault> {
        match (self.out.limit, u64::try_from(value)) {
            (Some(Limit::Max(max)), Ok(given)) if given > max => {
                Err(PropertyFault::Max { value: value.to_string(), max })
            }
            (Some(Limit::Max(_)), _) => Ok(()),
            _ => self.check_unlimited(),
        }
    }

    /// Refuses a limit that does not apply to the value's type.
    const fn check_unlimited(&self) -> Result<(), PropertyFault> {
        match self.out.limit {
            None => Ok(()),
            Some(Limit::Max(_)) => Err(PropertyFault::WrongLimit { limit: "max" }),
            Some(Limit::MaxLen(_)) => Err(PropertyFault::WrongLimit { limit: "max_len" }),
        }
    }

    fn member(self, size: usize, value: impl FnOnce(&mut Vec<u8>)) -> Result<(), PropertyFault> {
        let Self { name, out } = self;
        if !is_property_name(name) {
            return Err(PropertyFault::Name);
        }
        out.size += property_size(name, size);
        out.json.extend_from_slice(b",\"");
        out.seen.add(name.as_bytes());
        out.names.push(out.json.len()..out.json.len() + name.len());
        out.json.extend_from_slice(name.as_bytes());
        out.json.extend_from_slice(b"\":");
        value(&mut out.json);
        Ok(())
    }

    fn annotated(
        self,
        edm: EdmType,
        size: usize,
        value: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), PropertyFault> {
        let name = self.name;
        self.member(size, |json| {
            value(json);
            json.extend_from_slice(b",\"");
            json.extend_from_slice(name.as_bytes());
            json.extend_from_slice(TYPE_ANNOTATION.as_bytes());
            json.extend_from_slice(b"\":\"");
            json.extend_from_slice(edm.name().as_bytes());
            json.push(b'"');
        })
    }
}
