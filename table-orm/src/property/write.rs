//! What a [`PropertiesWriter`] writes of fields that are more than one property, or text of another
//! form.

use super::declared::{Declared, declares};
use super::{Properties, PropertiesWriter, PropertyError, PropertyFault, Series, json};
use serde::Serialize;

impl PropertiesWriter {
    /// Writes any serde value as JSON text in one property.
    ///
    /// # Errors
    /// When it has no JSON text, or over 64 KiB of it.
    pub fn json<T: Serialize>(&mut self, name: &str, value: &T) -> Result<(), PropertyError> {
        let text = json::text(value).map_err(|fault| self.error(name, fault))?;
        self.property(name, &text)
    }

    /// Writes the numbered properties of a series. `name` is the stored name of its field.
    ///
    /// # Errors
    /// When the service could not store one of them.
    pub fn series<T: Series>(&mut self, name: &str, value: &T) -> Result<(), PropertyError> {
        value.write(name, self)
    }

    /// Writes the properties of a flattened field.
    ///
    /// # Errors
    /// When the service could not store one of them.
    pub fn flatten<T: Properties>(&mut self, name: &str, value: &T) -> Result<(), PropertyError> {
        value.write(name, self)
    }

    /// Checks that no open property has the name of a declared one, which a reader would take it
    /// for, be there a value of that or not.
    ///
    /// # Errors
    /// [`PropertyFault::Duplicate`].
    #[doc(hidden)]
    pub fn check_open(&self, declared: &[Declared]) -> Result<(), PropertyError> {
        match self.open_names().find(|name| declares(declared, name)) {
            Some(name) => Err(self.error(name, PropertyFault::Duplicate)),
            None => Ok(()),
        }
    }
}
