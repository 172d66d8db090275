//! A value stored as JSON text in one `Edm.String` property: `#[table(json)]`.

use super::{Property, PropertyFault, PropertyWriter};
use crate::edm::Edm;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;

/// Any serde type as JSON text, at most 64 KiB of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Json<T>(pub T);

/// The value's JSON text.
pub(super) fn text<T: Serialize>(value: &T) -> Result<String, PropertyFault> {
    serde_json::to_string(value).map_err(|error| PropertyFault::Json(error.to_string()))
}

impl<T: Serialize + DeserializeOwned> Property for Json<T> {
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
