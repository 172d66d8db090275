//! Why a key cannot hold a value, or a stored key cannot be read.

use crate::model::MAX_KEY_UNITS;
use std::fmt;

/// What is wrong with the value of a key component.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyFault {
    /// The value has a character that the service forbids in keys.
    #[error(
        "holds {0:?}, which the service forbids in keys; change the value; if it is a field's, \
         `#[table(escape = encode)]` can store it"
    )]
    Forbidden(char),
    /// The value contains the separator after it, or runs into it.
    #[error(
        "holds or touches the separator `{0}` that follows it, so that two values could make the \
         same key; change the value, use another separator, or `#[table(escape = encode)]`"
    )]
    Separator(&'static str),
    /// The start of a text contains the separator after it, or runs into it, so keys of other texts begin like it.
    #[error(
        "holds or touches the separator `{0}` that follows it, so that keys of other texts begin like it; ask for a \
         shorter start, or a longer one if it only ends in part of it, or use `#[table(escape = encode)]`"
    )]
    SeparatorStart(&'static str),
    /// The number has more digits than the template. The bounds of a range may have more: they lie
    /// above all values of that width.
    #[error(
        "needs more than the {0} digits of its template; lower the value, or widen `:0N`, and raise the \
             field's `max`"
    )]
    Width(usize),
    /// The service cannot store the instant, or the time of day is a leap second.
    #[error(
        "is outside the years 1601 to 9999 that the service can store, or a time in a leap second, which no key \
         can hold: correct it"
    )]
    OutOfRange,
    /// The whole key is longer than 512 UTF-16 units (1 KiB; service documentation, "Understanding
    /// the Table service data model").
    #[error(
        "makes the key {0} UTF-16 units long, and the service allows {MAX_KEY_UNITS}; shorten a value of the key"
    )]
    TooLong(usize),
    /// The range starts after it ends.
    #[error("is a range that starts after it ends; swap its bounds")]
    InvertedRange,
    /// A range needs this component to sort, and its text does not sort as its values do.
    #[error(
        "does not sort as text, so the range would leave out some of its values; give an unsigned integer a \
         width: `:0N`, write a signed one as `biased(f)`, let the codes of an enum ascend, and give both bounds \
         the same value of a text that is not the last component, and of a `shard` or `spread`"
    )]
    Unsorted,
    /// The range of time has more partitions than one call reads: 60 for each day.
    #[error(
        "is a range of more than {0} days, each of which has 60 partitions; ask for fewer days"
    )]
    LongRange(i64),
    /// The range of time has more periods than one call reads, each of which has a table.
    #[error("is a range of more than {0} periods, each of which has a table; ask for fewer")]
    ManyPeriods(usize),
    /// The RowKey begins as those of helper rows do, which belong to no entity type.
    #[error(
        "begins with `{0}`, as the RowKeys of helper rows do; change the value, or start the \
         template with a literal"
    )]
    Reserved(&'static str),
    /// The change would give another key to an entity with a value that is unique over all partitions.
    #[error(
        "would change the key of an entity, but the guard row of its `unique(.., across)` names the old \
         key; nothing was written: delete the entity and insert it under the new key"
    )]
    HasUniqueValue,
    /// The key does not read back as its template, so no query would find the row.
    #[error(
        "would not be read back, so no query would find its row; correct your `KeyPart`: \
         `decode` must read what `encode` writes, with the length that `WIDTH` states"
    )]
    Undecodable,
    /// The component's type does not write the stored text.
    #[error("is not text that the template writes here; another template or program wrote the row")]
    Malformed,
}

/// A key that cannot be written or read: the entity, the component, the value, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyError {
    /// The entity's type name.
    pub entity: &'static str,
    /// The component: a placeholder of the template; empty for the whole key.
    pub component: &'static str,
    /// The value's text.
    pub value: String,
    /// What is wrong with it.
    pub fault: KeyFault,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entity, component, value, fault } = self;
        if component.is_empty() {
            // A whole key can be long; its start identifies it.
            let start: String = value.chars().take(60).collect();
            let more = if start.len() < value.len() { ".." } else { "" };
            write!(f, "key of `{entity}`: {start:?}{more} {fault}")
        } else {
            write!(f, "key component `{component}` of `{entity}`: {value:?} {fault}")
        }
    }
}

impl std::error::Error for KeyError {}
