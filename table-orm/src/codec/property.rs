//! The contract of a value that one property can store, and how a row's writer writes one.

use super::{Limit, PropertiesWriter, PropertyError, PropertyFault, PropertyWriter};
use crate::model::{Edm, EdmType};
use serde::Deserializer;

/// A type that one property can store.
///
/// ```
/// use table_orm::model::Edm;
/// use table_orm::property::Property;
/// assert_eq!(7_u8.edm(), Ok(Some(Edm::Int32(7))));
/// assert_eq!(7_u32.edm(), Ok(Some(Edm::Int64(7))));
/// ```
///
/// The guide's chapter "Property types" lists what each type stores, and what it reads
/// from rows of other programs. A type of your own stores itself through one that is a property
/// already:
///
/// ```
/// use table_orm::model::Edm;
/// use table_orm::property::{Property, PropertyFault, PropertyWriter};
/// struct Celsius(f64);
///
/// impl Property for Celsius {
///     fn write(&self, out: PropertyWriter<'_>) -> Result<(), PropertyFault> {
///         self.0.write(out)
///     }
///     fn read<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
///         f64::read(value).map(Self)
///     }
///     fn edm(&self) -> Result<Option<Edm>, PropertyFault> {
///         self.0.edm()
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored as a property",
    label = "not a property type",
    note = "store an enum or a newtype as its key: `#[derive(KeyPart)]`; store a `Ring`, `Vec` or array of \
            values with `#[table(series)]`; store another type as text with `#[table(json)]` or as a group with \
            `#[table(flatten)]`, keep it only in keys with `#[table(key_only)]`, leave it out with \
            `#[table(skip)]`, or implement `Property`"
)]
pub trait Property: Sized {
    /// The EDM type of every stored value, where all have one. `is_present` and `is_absent` of a
    /// [`Column`](crate::query::Column) need it.
    const TYPE: Option<EdmType> = None;
    /// All texts that a value can be stored as, where these are codes, as of an enum with `KeyPart`; else empty.
    const CODES: &'static [&'static str] = &[];

    /// Writes the value under the writer's name, or nothing when there is no value.
    ///
    /// # Errors
    /// When the service cannot store the value.
    fn write(&self, out: PropertyWriter<'_>) -> Result<(), PropertyFault>;

    /// Reads the stored JSON value, which is never `null`.
    ///
    /// # Errors
    /// When it is not a value of this type.
    fn read<'de, D: Deserializer<'de>>(value: D) -> Result<Self, D::Error>;

    /// The value of a property that the row does not have, if the type has one.
    #[must_use]
    fn absent() -> Option<Self> {
        None
    }

    /// The value with its EDM type, as a filter compares it; `None` when nothing would be stored.
    ///
    /// # Errors
    /// When the service cannot store the value.
    fn edm(&self) -> Result<Option<Edm>, PropertyFault>;
}

impl PropertiesWriter {
    /// Writes one property.
    ///
    /// # Errors
    /// When the service cannot store the value.
    pub fn property<T: Property>(&mut self, name: &str, value: &T) -> Result<(), PropertyError> {
        self.property_by(name, |out| value.write(out))
    }

    /// Writes one property by the function that writes its value.
    pub(crate) fn property_by(
        &mut self,
        name: &str,
        write: impl FnOnce(PropertyWriter<'_>) -> Result<(), PropertyFault>,
    ) -> Result<(), PropertyError> {
        write(PropertyWriter { name, out: self }).map_err(|fault| self.error(name, fault))
    }

    /// Writes one property, and checks its field's limit.
    ///
    /// # Errors
    /// When the value is over the limit: [`PropertyFault::MaxLen`] or [`PropertyFault::Max`]. Else when
    /// the service cannot store it: another fault.
    pub fn limited<T: Property>(
        &mut self,
        name: &str,
        value: &T,
        limit: Limit,
    ) -> Result<(), PropertyError> {
        self.limit = Some(limit);
        let written = self.property(name, value);
        self.limit = None;
        written
    }

    /// Checks the limit of a field that is stored only in keys.
    ///
    /// # Errors
    /// When the value is over the limit: [`PropertyFault::MaxLen`] or [`PropertyFault::Max`].
    pub fn check_limit<T: Property>(
        &self,
        name: &str,
        value: &T,
        limit: Limit,
    ) -> Result<(), PropertyError> {
        Self::new(self.entity()).limited(name, value, limit)
    }
}
