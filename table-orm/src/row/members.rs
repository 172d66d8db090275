//! The members of a stored row's JSON object, as they are read.

use crate::edm::DateTime;
use crate::entity::ETag;
use crate::key::KeyError;
use crate::property::{Property, PropertyError, PropertyFault};
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// What a row says of itself, and what went wrong in reading it.
#[derive(Debug)]
pub struct RowContext<'de> {
    pub(crate) entity: &'static str,
    pub(crate) partition_key: Cow<'de, str>,
    pub(crate) row_key: Cow<'de, str>,
    pub(crate) timestamp: Cow<'de, str>,
    /// The version as the store states it; empty in rows without metadata.
    pub(crate) stated_etag: Cow<'de, str>,
    /// The JSON reader's error cannot carry a typed one, so it waits here.
    pub(crate) fault: Option<(String, PropertyFault)>,
}

impl RowContext<'_> {
    pub(crate) const fn new(entity: &'static str) -> Self {
        const NONE: Cow<'static, str> = Cow::Borrowed("");
        Self {
            entity,
            partition_key: NONE,
            row_key: NONE,
            timestamp: NONE,
            stated_etag: NONE,
            fault: None,
        }
    }

    /// The row's version: the one stated, or the one that the timestamp tells.
    pub(crate) fn etag(&self) -> ETag {
        if self.stated_etag.is_empty() {
            ETag::from_timestamp(&self.timestamp)
        } else {
            ETag::new(&*self.stated_etag)
        }
    }

    /// The typed error behind the JSON reader's.
    pub(crate) fn error(&mut self, error: &serde_json::Error) -> PropertyError {
        let (property, fault) = self
            .fault
            .take()
            .unwrap_or_else(|| (String::new(), PropertyFault::Unreadable(reason(error))));
        PropertyError {
            entity: self.entity,
            property,
            partition_key: self.partition_key.clone().into_owned(),
            row_key: self.row_key.clone().into_owned(),
            fault,
        }
    }
}

/// The members of one row, in stored order.
#[derive(Debug)]
pub struct Members<'c, 'de, A> {
    map: A,
    context: &'c mut RowContext<'de>,
}

impl<'c, 'de, A: MapAccess<'de>> Members<'c, 'de, A> {
    pub(crate) const fn new(map: A, context: &'c mut RowContext<'de>) -> Self {
        Self { map, context }
    }

    /// The next member's name.
    ///
    /// # Errors
    /// When the row is not JSON.
    pub fn next_name(&mut self) -> Result<Option<Cow<'de, str>>, A::Error> {
        self.map.next_key_seed(Text)
    }

    /// Takes every member that is left, of which only the keys, timestamp and ETag are kept.
    pub(crate) fn skip(&mut self) -> Result<(), A::Error> {
        while let Some(name) = self.next_name()? {
            self.other(&name)?;
        }
        Ok(())
    }

    /// Reads the value of `property` into `slot`; `null` leaves it empty.
    ///
    /// # Errors
    /// When it is not a value of the type.
    pub fn read<T: Property>(
        &mut self,
        property: &str,
        slot: &mut Option<T>,
    ) -> Result<(), A::Error> {
        match self.map.next_value_seed(Slot(PhantomData)) {
            Ok(value) => {
                *slot = value;
                Ok(())
            }
            Err(error) => {
                self.fault(property, PropertyFault::Unreadable(reason(&error)));
                Err(error)
            }
        }
    }

    /// Takes a member that no field has: keeps the keys, timestamp and ETag, ignores the rest.
    ///
    /// # Errors
    /// When the row is not JSON.
    pub fn other(&mut self, name: &str) -> Result<(), A::Error> {
        let slot = match name {
            "PartitionKey" => &mut self.context.partition_key,
            "RowKey" => &mut self.context.row_key,
            "Timestamp" => &mut self.context.timestamp,
            "odata.etag" => &mut self.context.stated_etag,
            _ => return self.map.next_value::<IgnoredAny>().map(drop),
        };
        *slot = self.map.next_value_seed(Text)?;
        Ok(())
    }

    /// The value read for a property, or what stands for its absence.
    ///
    /// # Errors
    /// [`PropertyFault::Missing`].
    pub fn finish<T: Property>(&mut self, property: &str, slot: Option<T>) -> Result<T, A::Error> {
        match slot.or_else(T::absent) {
            Some(value) => Ok(value),
            None => Err(self.fail(property, PropertyFault::Missing)),
        }
    }

    /// The group read for a field.
    ///
    /// # Errors
    /// When one of its properties is missing.
    pub fn group<T>(&mut self, group: Result<T, (String, PropertyFault)>) -> Result<T, A::Error> {
        group.map_err(|(property, fault)| self.fail(&property, fault))
    }

    /// The row's PartitionKey, once it was read.
    #[must_use]
    pub fn partition_key(&self) -> Cow<'de, str> {
        self.context.partition_key.clone()
    }

    /// The row's RowKey, once it was read.
    #[must_use]
    pub fn row_key(&self) -> Cow<'de, str> {
        self.context.row_key.clone()
    }

    /// The row's version, once its timestamp was read.
    #[must_use]
    pub fn etag(&self) -> ETag {
        self.context.etag()
    }

    /// When the row was last written, if the timestamp was read.
    #[must_use]
    pub fn timestamp(&self) -> Option<DateTime> {
        self.context.timestamp.parse().ok()
    }

    /// The same in a type of the caller's.
    #[must_use]
    pub fn timestamp_as<T: TryFrom<DateTime>>(&self) -> Option<T> {
        self.timestamp().and_then(|instant| instant.try_into().ok())
    }

    /// What the row's PartitionKey and RowKey, once they were read, give back.
    ///
    /// # Errors
    /// When they are not keys of the entity.
    pub fn read_keys<T>(
        &mut self,
        read: impl FnOnce(&str, &str) -> Result<T, KeyError>,
    ) -> Result<T, A::Error> {
        read(&self.context.partition_key, &self.context.row_key)
            .map_err(|error| self.fail(error.component, PropertyFault::Key(Box::new(error))))
    }

    /// The error of a property, to be returned.
    pub fn fail(&mut self, property: &str, fault: PropertyFault) -> A::Error {
        let error = A::Error::custom(&fault);
        self.fault(property, fault);
        error
    }

    fn fault(&mut self, property: &str, fault: PropertyFault) {
        self.context.fault = Some((property.to_owned(), fault));
    }
}

/// What a JSON reader says, without the place in a text that its reader does not see.
fn reason(error: &impl fmt::Display) -> String {
    let mut text = error.to_string();
    let is_place = |place: &str| {
        let mut numbers = place.split(" column ");
        numbers.all(|number| number.parse::<usize>().is_ok())
    };
    if let Some(end) = text.rfind(" at line ")
        && is_place(&text[end + " at line ".len()..])
    {
        text.truncate(end);
    }
    text
}

/// Text, borrowed where it has no escapes.
struct Text;

impl<'de> DeserializeSeed<'de> for Text {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<Self::Value, D::Error> {
        value.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Text {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

/// A property's value, or `null`.
struct Slot<T>(PhantomData<T>);

impl<'de, T: Property> DeserializeSeed<'de> for Slot<T> {
    type Value = Option<T>;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<Self::Value, D::Error> {
        value.deserialize_option(self)
    }
}

impl<'de, T: Property> Visitor<'de> for Slot<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a property value")
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<Self::Value, D::Error> {
        T::read(value).map(Some)
    }
}
