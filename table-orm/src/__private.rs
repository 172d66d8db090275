//! What generated code needs: one short path for every name it writes. Not for use by hand.

pub use crate::edm::Edm;
pub use crate::entity::{RowTemplate, TableEntity};
pub use crate::key::{
    Ascending, Biased, Descending, DescendingPadded, Escape, IntoRange, IntoValue, KeyError,
    KeyFault, KeyPart, KeyReader, KeyText, LastRangeOf, Lower, Padded, PartitionKey, Plain,
    PrefixOf, RangeOf, RowKey, Sorted, SortedLast, TextPart, Width,
};
pub use crate::property::{
    Json, Limit, Properties, PropertiesWriter, Property, PropertyError, PropertyFault,
    PropertyWriter,
};
pub use crate::query::{
    Column, Complete, CompleteKey, Field, KeyRange, KeyState, Needs, Open, Query, Row, RowRange,
    Stores, class,
};
pub use crate::row::{FromRow, Members, ReadRow};
pub use core::clone::Clone;
pub use core::default::Default;
pub use core::marker::PhantomData;
pub use core::option::Option::{self, None, Some};
pub use core::result::Result::{self, Err, Ok};
pub use serde::Deserializer;
pub use serde::de::MapAccess;
pub use std::string::String;

use serde::Deserialize;
use serde::de::{Error, Unexpected};
use std::borrow::Cow;

/// The result of writing or reading a key.
pub type KeyResult<T = ()> = Result<T, KeyError>;
/// The result of writing properties.
pub type PropertyResult = Result<(), PropertyError>;

/// Reads an enum's code from a string property.
///
/// # Errors
/// When no variant has that code.
pub fn read_code<'de, T, D: Deserializer<'de>>(
    value: D,
    decode: impl FnOnce(&str) -> Result<T, KeyFault>,
) -> Result<T, D::Error> {
    let code = Cow::<str>::deserialize(value)?;
    decode(&code).map_err(|_| {
        D::Error::invalid_value(Unexpected::Str(&code), &"one of the codes of this enum")
    })
}

/// Finishes the properties of a group as [`Members`] does those of a row.
#[derive(Debug)]
pub struct GroupMembers;

impl GroupMembers {
    /// The value read for a property, or what stands for its absence.
    ///
    /// # Errors
    /// [`PropertyFault::Missing`].
    pub fn finish<T: Property>(
        &self,
        property: &str,
        slot: Option<T>,
    ) -> Result<T, (String, PropertyFault)> {
        slot.or_else(T::absent).ok_or_else(|| (property.to_owned(), PropertyFault::Missing))
    }
}

/// Fails to compile when a key template's longest key has more than 512 UTF-16 units. `known` are
/// those the derive could count; `widths` are of the components it could not.
pub const fn assert_key_fits(known: usize, widths: &[Width]) {
    let mut units = known;
    let mut at = 0;
    while at < widths.len() {
        units += match widths[at] {
            Width::Fixed(units) | Width::UpTo(units) => units,
            // Checked where a value is written.
            Width::Unbounded => 0,
        };
        at += 1;
    }
    assert!(
        units <= crate::key::MAX_KEY_UNITS,
        "this template writes keys of more than 512 UTF-16 units; shorten its components or \
         literals"
    );
}

/// Fails to compile when a component that another follows without a literal between is not of
/// fixed width.
pub const fn assert_fixed_width(width: Width) {
    assert!(
        width.is_fixed(),
        "two components need a literal between them unless the first is of fixed width; write a \
         separator such as `__` between them"
    );
}
