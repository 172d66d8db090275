//! A value of a property with its type. `Display` writes the literal of a `$filter` expression.

use super::{DateTime, order};
use std::cmp::Ordering;
use std::fmt;
use uuid::Uuid;

/// The type of a stored property, by its name on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EdmType {
    /// `Edm.String`: at most 64 KiB, which is 32 Ki UTF-16 units.
    String,
    /// `Edm.Int32`.
    Int32,
    /// `Edm.Int64`; a decimal string on the wire.
    Int64,
    /// `Edm.Double`: IEEE 754, with NaN and both infinities.
    Double,
    /// `Edm.Boolean`.
    Boolean,
    /// `Edm.DateTime`: UTC, 100 ns, years 1601 to 9999.
    DateTime,
    /// `Edm.Guid`.
    Guid,
    /// `Edm.Binary`: at most 64 KiB; base64 on the wire.
    Binary,
}

impl EdmType {
    /// The name used in `@odata.type` annotations, such as `Edm.Int64`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::String => "Edm.String",
            Self::Int32 => "Edm.Int32",
            Self::Int64 => "Edm.Int64",
            Self::Double => "Edm.Double",
            Self::Boolean => "Edm.Boolean",
            Self::DateTime => "Edm.DateTime",
            Self::Guid => "Edm.Guid",
            Self::Binary => "Edm.Binary",
        }
    }

    /// The type of that name; `None` when the service has no such type.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [
            Self::String,
            Self::Int32,
            Self::Int64,
            Self::Double,
            Self::Boolean,
            Self::DateTime,
            Self::Guid,
            Self::Binary,
        ]
        .into_iter()
        .find(|edm| edm.name() == name)
    }

    /// The bytes that the service counts for a value (service documentation, "Understanding the Table
    /// service data model"). `length` is that of text in UTF-16 units, or of binary in bytes.
    pub(crate) const fn size(self, length: usize) -> usize {
        match self {
            Self::String => 4 + 2 * length,
            Self::Binary => 4 + length,
            Self::Int32 => 4,
            Self::Int64 | Self::Double | Self::DateTime => 8,
            Self::Boolean => 1,
            Self::Guid => 16,
        }
    }
}

impl fmt::Display for EdmType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A property value with its EDM type.
///
/// Fields of entities have Rust types instead. A map holds the properties of any type that no other
/// field has: `#[table(flatten)] rest: BTreeMap<String, Edm>`.
///
/// `Display` writes the literal that a `$filter` expression needs, already escaped:
///
/// ```
/// use table_orm::model::Edm;
/// assert_eq!(Edm::from("O'Brien").to_string(), "'O''Brien'");
/// assert_eq!(Edm::from(5_i64).to_string(), "5L");
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Edm {
    /// Text.
    String(String),
    /// A 32-bit integer.
    Int32(i32),
    /// A 64-bit integer.
    Int64(i64),
    /// A floating-point number.
    Double(f64),
    /// A truth value.
    Boolean(bool),
    /// An instant.
    DateTime(DateTime),
    /// A GUID.
    Guid(Uuid),
    /// Bytes.
    Binary(Vec<u8>),
}

impl Edm {
    /// The type of this value.
    #[must_use]
    pub const fn edm_type(&self) -> EdmType {
        match self {
            Self::String(_) => EdmType::String,
            Self::Int32(_) => EdmType::Int32,
            Self::Int64(_) => EdmType::Int64,
            Self::Double(_) => EdmType::Double,
            Self::Boolean(_) => EdmType::Boolean,
            Self::DateTime(_) => EdmType::DateTime,
            Self::Guid(_) => EdmType::Guid,
            Self::Binary(_) => EdmType::Binary,
        }
    }

    /// The bytes that the service counts for the value.
    pub(crate) fn size(&self) -> usize {
        let length = match self {
            Self::String(text) => order::len(text),
            Self::Binary(bytes) => bytes.len(),
            _ => 0,
        };
        self.edm_type().size(length)
    }

    /// The order of two values of one type in the service; `None` when the types differ or a number is
    /// NaN.
    pub(crate) fn order(&self, other: &Self) -> Option<Ordering> {
        Some(match (self, other) {
            (Self::String(left), Self::String(right)) => order::compare(left, right),
            (Self::Int32(left), Self::Int32(right)) => left.cmp(right),
            (Self::Int64(left), Self::Int64(right)) => left.cmp(right),
            (Self::Double(left), Self::Double(right)) => left.partial_cmp(right)?,
            (Self::Boolean(left), Self::Boolean(right)) => left.cmp(right),
            (Self::DateTime(left), Self::DateTime(right)) => left.cmp(right),
            (Self::Guid(left), Self::Guid(right)) => left.cmp(right),
            (Self::Binary(left), Self::Binary(right)) => left.cmp(right),
            _ => return None,
        })
    }
}

impl fmt::Display for Edm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::String(text) => write!(f, "'{}'", text.replace('\'', "''")),
            Self::Int32(value) => write!(f, "{value}"),
            Self::Int64(value) => write!(f, "{value}L"),
            Self::Double(value) => double(*value, f),
            Self::Boolean(value) => write!(f, "{value}"),
            Self::DateTime(value) => write!(f, "datetime'{value}'"),
            Self::Guid(value) => write!(f, "guid'{value}'"),
            Self::Binary(bytes) => {
                f.write_str("X'")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                f.write_str("'")
            }
        }
    }
}

/// Writes a number with all its digits and a decimal point, and zero without a sign: Azurite reads no
/// exponent, and a whole number is an integer to every server. What is not finite is written as OData
/// does, which not every server reads.
fn double(value: f64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if value.is_nan() {
        f.write_str("NaN")
    } else if value.is_infinite() {
        f.write_str(if value > 0.0 { "INF" } else { "-INF" })
    } else {
        let point = if value.fract() == 0.0 { ".0" } else { "" };
        write!(f, "{}{point}", value + 0.0)
    }
}

macro_rules! from {
    ($($source:ty => $variant:ident),* $(,)?) => {$(
        impl From<$source> for Edm {
            fn from(value: $source) -> Self {
                Self::$variant(value.into())
            }
        }
    )*};
}

from! {
    &str => String,
    String => String,
    i32 => Int32,
    i64 => Int64,
    f64 => Double,
    bool => Boolean,
    DateTime => DateTime,
    Uuid => Guid,
    Vec<u8> => Binary,
}
