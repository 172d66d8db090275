//! Properties: how a field's value is written into a row's JSON object, and read back.
//!
//! [`Property`] is one value under one name; a field of many is a flattened group
//! ([`Properties`]) or a numbered [`Series`].
//!
//! Invariants: every value is written with its exact EDM type, annotated where JSON alone would
//! lose it; reading back what was written gives the same value (instants at 100 ns); a value the
//! service would refuse is a typed error before anything is sent.

mod declared;
mod error;
mod finite;
mod group;
mod json;
mod marks;
mod open;
mod ordered;
mod scalar;
mod series;
#[cfg(test)]
mod tests;
mod writer;
#[cfg(feature = "zstd")]
mod zstd;

#[cfg(feature = "zstd")]
pub use self::zstd::{MAX_UNCOMPRESSED_BYTES, Zstd};
#[doc(hidden)]
pub use declared::{Declared, Slots, assert_properties, metadata};
pub use error::{PropertyError, PropertyFault, RowFault};
pub use group::Properties;
pub use json::Json;
pub use ordered::Ordered;
pub use series::{Series, SeriesSlots};
pub use writer::{Limit, PropertiesWriter, PropertyWriter};

pub(crate) use series::series_slot;
#[cfg(any(feature = "azure", fuzzing, test))]
pub(crate) use writer::is_property_name;
pub(crate) use writer::write_string;

use crate::edm::Edm;
use crate::key::order;
use serde::Deserializer;

/// The most properties of an entity besides its keys and timestamp (service documentation).
pub const MAX_PROPERTIES: usize = 252;
/// The most UTF-16 units of a string property: 64 KiB.
pub const MAX_STRING_UNITS: usize = 32 * 1024;
/// The most bytes of a binary property: 64 KiB.
pub const MAX_BINARY_BYTES: usize = 64 * 1024;
/// The most bytes of an entity: 1 MiB, as the service counts them.
pub const MAX_ENTITY_BYTES: usize = 1024 * 1024;
/// The most UTF-16 units of a property name.
pub const MAX_NAME_CHARS: usize = 255;

/// What a property adds to the size of its entity, in bytes (service documentation).
pub(crate) fn property_size(name: &str, value: usize) -> usize {
    8 + 2 * order::len(name) + value
}

/// The size of an entity in bytes, by the UTF-16 units of its keys and the sizes of its properties.
pub(crate) const fn entity_size(key_units: usize, properties: usize) -> usize {
    4 + 2 * key_units + properties
}

/// A type that one property can store.
///
/// ```
/// use table_orm::edm::Edm;
/// use table_orm::property::Property;
/// assert_eq!(7_u8.edm(), Ok(Some(Edm::Int32(7))));
/// assert_eq!(7_u32.edm(), Ok(Some(Edm::Int64(7))));
/// ```
///
/// The guide's chapter [Property types](crate::guide::reference::property_types) says which type stores
/// what, and what each reads of rows that other programs wrote. A type of your own stores itself through
/// one that is a property already:
///
/// ```
/// use table_orm::edm::Edm;
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
