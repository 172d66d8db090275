//! A value stored as JSON text in one `Edm.String` property: `#[table(json)]`.

use super::finite::is_finite;
use super::{Property, PropertyFault, PropertyWriter};
use crate::model::Edm;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;

/// Any serde type as JSON text, at most 64 KiB of it. JSON has no NaN and no infinities: they are
/// refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Json<T>(pub T);

/// The value's JSON text.
pub(super) fn text<T: Serialize>(value: &T) -> Result<String, PropertyFault> {
    let text =
        serde_json::to_string(value).map_err(|error| PropertyFault::Json(error.to_string()))?;
    // Only what is written as `null` can be a number that has no text.
    if text.contains("null") && !is_finite(value) {
        return Err(PropertyFault::Json("it holds a NaN or an infinity".to_owned()));
    }
    Ok(text)
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
