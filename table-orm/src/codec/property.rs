//! The contract of a value that one property can store.

use super::{PropertyFault, PropertyWriter};
use crate::model::Edm;
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
/// Which type stores what, and what each reads of rows that other programs wrote, is in the guide's
/// chapter "Adopting a table". A type of your own stores itself through one that is a
/// property already:
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
    note = "store it as text with `#[table(json)]`, as a group with `#[table(flatten)]` or \
            `#[table(series)]`, keep it in the keys alone with `#[table(key_only)]`, \
            leave it out with `#[table(skip)]`, or implement `Property`"
)]
pub trait Property: Sized {
    /// Writes the value under the writer's name, or nothing when there is no value.
    ///
    /// # Errors
    /// When the service could not store the value.
    fn write(&self, out: PropertyWriter<'_>) -> Result<(), PropertyFault>;

    /// Reads the stored JSON value, which is never `null`.
    ///
    /// # Errors
    /// When it is not a value of this type.
    fn read<'de, D: Deserializer<'de>>(value: D) -> Result<Self, D::Error>;

    /// The value that stands for a property the row does not have, if there is one.
    #[must_use]
    fn absent() -> Option<Self> {
        None
    }

    /// The value with its EDM type, as a filter compares it; `None` when nothing would be stored.
    ///
    /// # Errors
    /// When the service could not store the value.
    fn edm(&self) -> Result<Option<Edm>, PropertyFault>;
}
