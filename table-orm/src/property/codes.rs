//! Enums whose variants have codes, stored as text.

use super::{Property, PropertyFault, PropertyWriter};
use crate::key::Coded;
use crate::model::{Edm, EdmType};
use serde::de::{Deserialize, Deserializer, Error, Unexpected};
use std::borrow::Cow;

#[diagnostic::do_not_recommend]
impl<T: Coded> Property for T {
    const TYPE: Option<EdmType> = Some(EdmType::String);
    const CODES: &'static [&'static str] = T::CODES;

    fn write(&self, out: PropertyWriter<'_>) -> Result<(), PropertyFault> {
        out.string(self.code())
    }

    fn read<'de, D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        let code = Cow::<str>::deserialize(value)?;
        T::of_code(&code).ok_or_else(|| {
            D::Error::invalid_value(Unexpected::Str(&code), &"one of the codes of this enum")
        })
    }

    fn edm(&self) -> Result<Option<Edm>, PropertyFault> {
        Ok(Some(self.code().into()))
    }
}
