//! Why a property cannot store a value, or a stored row cannot be read.

use crate::key::KeyError;
use crate::model::{MAX_BINARY_BYTES, MAX_NAME_CHARS, MAX_PROPERTIES, MAX_STRING_UNITS, Printable};
use std::fmt;

/// What is wrong with a property's value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PropertyFault {
    /// The string is over 64 KiB.
    #[error(
        "is a string of {0} UTF-16 units; the service allows {MAX_STRING_UNITS} (64 KiB): {LARGE_VALUE_HELP}"
    )]
    StringTooLong(usize),
    /// The bytes are over 64 KiB.
    #[error("holds {0} bytes; the service allows {MAX_BINARY_BYTES} (64 KiB): {LARGE_VALUE_HELP}")]
    BinaryTooLong(usize),
    /// The text is over the field's `max_len`.
    #[error("is {length} UTF-16 units long; its `max_len` is {max}")]
    MaxLen {
        /// The text's length.
        length: usize,
        /// The field's limit.
        max: usize,
    },
    /// The number is over the field's `max`.
    #[error("is {value}; its `max` is {max}")]
    Max {
        /// The value.
        value: String,
        /// The field's limit.
        max: u64,
    },
    /// The field's `max` or `max_len` does not apply to its type.
    #[error(
        "is not {}, and `{limit}` limits nothing else; remove `{limit}`, and check the value where \
         it is made",
        limited_by(limit)
    )]
    WrongLimit {
        /// The limit's attribute.
        limit: &'static str,
    },
    /// The unsigned number is above `i64::MAX`.
    #[error("is {0}, which does not fit `Edm.Int64`; store it as text instead")]
    Int64Overflow(u64),
    /// The instant is outside the years that the service can store, or the time of day is in a leap second.
    #[error(
        "is {0}, which is outside the years 1601 to 9999 that the service can store, or a time in a leap second, which \
         no property can hold"
    )]
    DateTimeOutOfRange(String),
    /// A filter compares the property with a number that is not finite.
    #[error(
        "is compared with {0}, which no filter can express; `gt(f64::MAX)` finds infinity, \
         `lt(f64::MIN)` finds minus infinity, and NaN can only be found after reading"
    )]
    NotFinite(String),
    /// The series has more values than its property names can number.
    #[error(
        "is a series of {length} values, and it can have {max}; store the others in another entity"
    )]
    SeriesTooLong {
        /// The number of values.
        length: usize,
        /// The most values.
        max: usize,
    },
    /// The series does not have the slot.
    #[error("has no slot {slot}; its slots are 0 to {}", slots.saturating_sub(1))]
    NoSuchSlot {
        /// The slot given.
        slot: usize,
        /// How many there are.
        slots: usize,
    },
    /// The value has no JSON text.
    #[error("cannot be written as JSON: {0}")]
    Json(String),
    /// The value cannot be compressed.
    #[error("cannot be compressed: {0}")]
    Compression(String),
    /// No property can have the name.
    #[error(
        "has a name that the service rejects; use at most {MAX_NAME_CHARS} letters, digits and `_`, and start \
         with a letter or `_`"
    )]
    Name,
    /// Another property of the row has the name, or the service reserves it.
    #[error(
        "would be in the row twice, or has a name that the service or table-orm reserves; rename the field, a \
         field of a flattened group, or the key of an open property"
    )]
    Duplicate,
    /// The row has more than 252 properties.
    #[error(
        "is one of {0} properties; the service allows {MAX_PROPERTIES}: store several fields in one property with \
         `#[table(json)]`, or split the entity"
    )]
    TooManyProperties(usize),
    /// The row is over 1 MiB.
    #[error("takes {0} bytes in all; the service allows 1 MiB: {LARGE_ENTITY_HELP}")]
    EntityTooLarge(usize),
    /// The stored row lacks the property.
    #[error(
        "is missing from the row; give the field `#[table(default)]` or the type `Option` if older \
         rows lack it, or `#[table(alias = \"..\")]` if they store it under another name"
    )]
    Missing,
    /// The stored row lacks a value of a series that has later values.
    #[error(
        "is missing, and its series has later values; make the series `[Option<T>; N]` if values \
         may be missing"
    )]
    MissingSlot,
    /// A value of more than 64 KiB was not uploaded.
    #[error(
        "holds {0} bytes in memory, but a value of more than 64 KiB needs rows of its own: send it with \
         `Repo::upload`, and store the value that `finish` returns"
    )]
    NotUploaded(usize),
    /// The field of a large value has no `overflow`, so nothing would keep the rows of its bytes.
    #[error(
        "is a large value in rows of its own, and its field has no `#[table(overflow)]`; add it"
    )]
    NotOverflowing,
    /// The stored row lacks a chunk of a value.
    #[error(
        "is missing, and its row states a longer value; another program changed the row: write the \
         value again"
    )]
    MissingChunk,
    /// The stored row has a value in a slot of a ring, and no stamp that says which period it is of.
    #[error(
        "is missing, so the period of the value beside it is unknown: write both properties of the ring"
    )]
    MissingStamp,
    /// A value for a slot of a ring stores nothing.
    #[error("is an empty value, and a merge cannot empty the slot of a ring; leave the value out")]
    NothingForSlot,
    /// The stored value is not of the field's type.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// The stored key, or a component of it, is not what its template writes.
    #[error("cannot be read: {:?} {}", .0.value, .0.fault)]
    Key(Box<KeyError>),
}

/// The name of rows of any shape. They have no fields and no type to change, so errors advise nothing about these.
pub(crate) const UNTYPED: &str = "DynamicEntity";

/// What to do about a value of more than 64 KiB.
pub(crate) const LARGE_VALUE_HELP: &str = "mark its field `#[table(chunked)]`, make it `Large` with `#[table(overflow)]`, compress it with \
     `Zstd`, split it into several fields or rows, or keep it in a blob and store its name";

/// What to do about an entity of more than 1 MiB.
pub(crate) const LARGE_ENTITY_HELP: &str = "compress large fields with `Zstd`, make them `Large` with `#[table(overflow)]`, split it into several entities with a number in their keys, \
     or keep large values in a blob and store its name";

impl PropertyFault {
    /// What is wrong, without advice about fields.
    fn without_advice(&self) -> String {
        match self {
            Self::StringTooLong(units) => format!(
                "is a string of {units} UTF-16 units; the service allows {MAX_STRING_UNITS} (64 KiB)"
            ),
            Self::BinaryTooLong(bytes) => {
                format!("holds {bytes} bytes; the service allows {MAX_BINARY_BYTES} (64 KiB)")
            }
            Self::EntityTooLarge(bytes) => {
                format!("takes {bytes} bytes in all; the service allows 1 MiB")
            }
            Self::TooManyProperties(count) => {
                format!("is one of {count} properties; the service allows {MAX_PROPERTIES}")
            }
            Self::Duplicate => {
                "is in the row twice, or has a name that the service or table-orm reserves; leave it out, or rename it"
                    .to_owned()
            }
            Self::Missing => "is missing".to_owned(),
            fault => fault.to_string(),
        }
    }
}

fn limited_by(limit: &str) -> &'static str {
    if limit == "max" { "an integer" } else { "text" }
}

/// A property that cannot be written or read: its entity and row, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PropertyError {
    /// The entity's type name.
    pub entity: &'static str,
    /// The stored property, or the key component that cannot be read; empty for the whole entity or
    /// key.
    pub property: String,
    /// The row's PartitionKey, when a row was read.
    pub partition_key: String,
    /// The row's RowKey, when a row was read.
    pub row_key: String,
    /// What is wrong.
    pub fault: PropertyFault,
}

impl PropertyError {
    /// Returns whether a stored row cannot be read. Else no row can store a value.
    #[must_use]
    pub const fn is_of_stored_row(&self) -> bool {
        !(self.partition_key.is_empty() && self.row_key.is_empty())
    }
}

impl fmt::Display for PropertyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entity, property, partition_key, row_key, fault } = self;
        let is_key = matches!(fault, PropertyFault::Key(_));
        let is_unnamed = property.is_empty() && !matches!(fault, PropertyFault::Name);
        match (is_unnamed, is_key) {
            (false, false) => write!(f, "property `{}` of ", Printable(property))?,
            (false, true) => write!(f, "key component `{property}` of ")?,
            (true, false) => {}
            (true, true) => f.write_str("key of ")?,
        }
        let is_untyped = *entity == UNTYPED;
        match (is_untyped, self.is_of_stored_row()) {
            (true, true) => write!(f, "row {partition_key:?} / {row_key:?} ")?,
            (true, false) => f.write_str("the row ")?,
            (false, true) => write!(f, "`{entity}` in row {partition_key:?} / {row_key:?} ")?,
            (false, false) => write!(f, "`{entity}` ")?,
        }
        if is_untyped {
            return write!(f, "{}", Printable(fault.without_advice()));
        }
        write!(f, "{}", Printable(fault))
    }
}

impl std::error::Error for PropertyError {}

/// A property that cannot be read, and the reason. The row's reader adds the row's keys.
#[derive(Debug)]
pub struct RowFault(Box<(String, PropertyFault)>);

impl RowFault {
    /// The error of reading `property`; empty for the whole row.
    #[cold]
    #[must_use]
    pub fn new(property: &str, fault: PropertyFault) -> Self {
        Self(Box::new((property.to_owned(), fault)))
    }

    /// The property; empty for the whole row.
    #[must_use]
    pub fn property(&self) -> &str {
        &self.0.0
    }

    /// Returns what is wrong with it.
    #[must_use]
    pub fn fault(&self) -> &PropertyFault {
        &self.0.1
    }

    /// The error of a value of `property` that is not of its type.
    #[cold]
    pub(crate) fn unreadable(property: &str, error: &serde_json::Error) -> Self {
        Self::new(property, PropertyFault::Unreadable(reason(error)))
    }

    pub(crate) fn into_parts(self) -> (String, PropertyFault) {
        *self.0
    }
}

/// The message of a JSON error, without the position: the caller does not see the text.
fn reason(error: &serde_json::Error) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::MAX_ENTITY_BYTES;

    #[test]
    fn texts_state_the_limits_of_the_model() {
        const KIB: usize = 1024;
        assert_eq!((MAX_STRING_UNITS * 2, MAX_BINARY_BYTES), (64 * KIB, 64 * KIB));
        assert_eq!(MAX_ENTITY_BYTES, KIB * KIB);
        for (fault, limit) in [
            (PropertyFault::StringTooLong(40_000), "allows 32768 (64 KiB)"),
            (PropertyFault::BinaryTooLong(70_000), "allows 65536 (64 KiB)"),
            (PropertyFault::NotUploaded(70_000), "of more than 64 KiB"),
            (PropertyFault::Name, "at most 255 letters"),
            (PropertyFault::TooManyProperties(253), "allows 252"),
            (PropertyFault::EntityTooLarge(2_000_000), "allows 1 MiB"),
        ] {
            assert!(fault.to_string().contains(limit), "{fault}");
        }
    }
}
