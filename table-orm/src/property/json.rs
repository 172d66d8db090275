//! A value stored as JSON text in one `Edm.String` property: `#[table(json)]`.

use super::finite::is_finite;
use super::{PropertiesWriter, Property, PropertyError, PropertyFault, PropertyWriter};
use crate::model::{Edm, EdmType};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;

/// Any serde type as JSON text, at most 64 KiB of it. Rejects NaN and the infinities, which JSON
/// has no text for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T> From<T> for Json<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

/// The value's JSON text.
pub(super) fn text<T: Serialize>(value: &T) -> Result<String, PropertyFault> {
    let text =
        serde_json::to_string(value).map_err(|error| PropertyFault::Json(error.to_string()))?;
    // Only what is written as `null` can be a number that has no text.
    if text.contains("null") && !is_finite(value) {
        return Err(PropertyFault::Json("it holds a NaN or an infinity; replace it".to_owned()));
    }
    Ok(text)
}

impl PropertiesWriter {
    /// Writes any serde value as JSON text in one property.
    ///
    /// # Errors
    /// When the value has no JSON text, or more than 64 KiB of it.
    pub fn json<T: Serialize>(&mut self, name: &str, value: &T) -> Result<(), PropertyError> {
        let text = text(value).map_err(|fault| self.error(name, fault))?;
        self.property(name, &text)
    }
}

impl<T: Serialize + DeserializeOwned> Property for Json<T> {
    const TYPE: Option<EdmType> = Some(EdmType::String);

    fn write(&self, out: PropertyWriter<'_>) -> Result<(), PropertyFault> {
        out.string(&text(&self.0)?)
    }

    fn read<'de, D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(value)?;
        serde_json::from_str(&text).map(Self).map_err(D::Error::custom)
    }

    fn edm(&self) -> Result<Option<Edm>, PropertyFault> {
        Ok(Some(Edm::String(text(&self.0)?)))
    }
}
