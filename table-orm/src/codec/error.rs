//! Why a value cannot be stored in a property, or a row cannot be read.

use crate::key::KeyError;
use std::fmt;

/// What is wrong with a property's value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PropertyFault {
    /// A string over 64 KiB.
    #[error("is a string of {0} UTF-16 units; the service allows 32768 (64 KiB)")]
    StringTooLong(usize),
    /// Bytes over 64 KiB.
    #[error("holds {0} bytes; the service allows 65536 (64 KiB)")]
    BinaryTooLong(usize),
    /// Text over the field's `max_len`.
    #[error("is {length} UTF-16 units long; its `max_len` is {max}")]
    MaxLen {
        /// The text's length.
        length: usize,
        /// The field's limit.
        max: usize,
    },
    /// A number over the field's `max`.
    #[error("is {value}; its `max` is {max}")]
    Max {
        /// The value.
        value: String,
        /// The field's limit.
        max: u64,
    },
    /// A value that the field's `max` or `max_len` says nothing about.
    #[error(
        "is no {}, which is what `{limit}` limits; leave `{limit}` out, and check the value where \
         it is made",
        limited_by(limit)
    )]
    WrongLimit {
        /// The limit's attribute.
        limit: &'static str,
    },
    /// An unsigned number above `i64::MAX`.
    #[error("is {0}, which does not fit `Edm.Int64`; store it as text instead")]
    Int64Overflow(u64),
    /// An instant outside the service's years.
    #[error("is {0}, outside the years 1601 to 9999 that the service can store")]
    DateTimeOutOfRange(String),
    /// A series with more values than its property names can number.
    #[error("is a series of {length} values; it can number {max}")]
    SeriesTooLong {
        /// The values given.
        length: usize,
        /// The most it can hold.
        max: usize,
    },
    /// A slot that a series does not have.
    #[error("has no slot {slot}; its slots are 0 to {}", slots.saturating_sub(1))]
    NoSuchSlot {
        /// The slot given.
        slot: usize,
        /// How many there are.
        slots: usize,
    },
    /// A value that `json` could not write.
    #[error("cannot be written as JSON: {0}")]
    Json(String),
    /// A value that could not be compressed.
    #[error("cannot be compressed: {0}")]
    Compression(String),
    /// A dynamic property whose name the service refuses.
    #[error(
        "has a name the service refuses: use at most 255 letters, digits and `_`, not starting \
         with a digit"
    )]
    Name,
    /// A name that another property of the row has, or that is the service's own.
    #[error(
        "stands twice in one row, or is a name of the service's own; rename the field, or one of \
         the flattened groups' fields, or the key of an open property"
    )]
    Duplicate,
    /// More than 252 properties.
    #[error("is one of {0} properties; the service allows 252")]
    TooManyProperties(usize),
    /// Over 1 MiB in all.
    #[error("takes {0} bytes in all; the service allows 1 MiB")]
    EntityTooLarge(usize),
    /// A stored row lacks the property.
    #[error(
        "is missing from the row; give the field `#[table(default)]` or the type `Option` if older \
         rows lack it"
    )]
    Missing,
    /// A stored row lacks a value of a series that later ones follow.
    #[error(
        "is missing, and its series has later values; make the series `[Option<T>; N]` if some may \
         be missing"
    )]
    MissingSlot,
    /// A stored value is not of the field's type.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// A stored key, or a component of it, is not as its template writes it.
    #[error("cannot be read: {:?} {}", .0.value, .0.fault)]
    Key(Box<KeyError>),
}

fn limited_by(limit: &str) -> &'static str {
    if limit == "max" { "integer" } else { "text" }
}

/// A property that cannot be written or read: whose, in which row, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PropertyError {
    /// The entity's type name.
    pub entity: &'static str,
    /// The stored property, or the component of a key that cannot be read; empty for the whole
    /// entity or key.
    pub property: String,
    /// The row's PartitionKey, when a row was read.
    pub partition_key: String,
    /// The row's RowKey, when a row was read.
    pub row_key: String,
    /// What is wrong.
    pub fault: PropertyFault,
}

impl fmt::Display for PropertyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entity, property, partition_key, row_key, fault } = self;
        let is_key = matches!(fault, PropertyFault::Key(_));
        match (property.is_empty(), is_key) {
            (false, false) => write!(f, "property `{property}` of ")?,
            (false, true) => write!(f, "key component `{property}` of ")?,
            (true, false) => {}
            (true, true) => f.write_str("key of ")?,
        }
        write!(f, "`{entity}` ")?;
        if !(partition_key.is_empty() && row_key.is_empty()) {
            write!(f, "in row {partition_key:?} / {row_key:?} ")?;
        }
        write!(f, "{fault}")
    }
}

impl std::error::Error for PropertyError {}

/// A property that cannot be read, and why; which row it is of, the row's reader knows.
#[derive(Debug)]
pub struct RowFault(Box<(String, PropertyFault)>);

impl RowFault {
    /// That `property` cannot be read; an empty name stands for the whole row.
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

    /// What is wrong with it.
    #[must_use]
    pub fn fault(&self) -> &PropertyFault {
        &self.0.1
    }

    /// That the value of `property` is none of its type's.
    #[cold]
    pub(crate) fn unreadable(property: &str, error: &serde_json::Error) -> Self {
        Self::new(property, PropertyFault::Unreadable(reason(error)))
    }

    pub(crate) fn into_parts(self) -> (String, PropertyFault) {
        *self.0
    }
}

/// What a JSON reader says, without the place in a text that its reader does not see.
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
