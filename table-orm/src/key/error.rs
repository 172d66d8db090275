//! Why a value cannot stand in a key, or a key cannot be read.

use std::fmt;

/// What is wrong with a component's value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyFault {
    /// A character the service refuses.
    #[error(
        "holds {0:?}, which the service forbids in keys; change the value, or store it with \
         `#[table(escape = encode)]`"
    )]
    Forbidden(char),
    /// The separator behind the component would be found too early.
    #[error(
        "holds or touches the separator `{0}` that follows it, so that two values could store the \
         same key; change the value, use another separator, or `#[table(escape = encode)]`"
    )]
    Separator(&'static str),
    /// More digits than the template gives. The ends of a range may have more: they lie above all
    /// values of that width.
    #[error("needs more than the {0} digits of its template; widen the `:0N` or lower the value")]
    Width(usize),
    /// An instant the service cannot store.
    #[error("lies outside the years 1601 to 9999 that the service can store")]
    OutOfRange,
    /// The whole key is too long.
    #[error("makes the key {0} UTF-16 units long; the service allows 512")]
    TooLong(usize),
    /// A range whose start lies behind its end.
    #[error("is a range whose start lies behind its end; swap the two")]
    InvertedRange,
    /// Stored text that the component's type could not have written.
    #[error("is not text that the template writes here; the row was not written from it")]
    Malformed,
}

/// A key that cannot be written or read: which entity, which component, which value, and why.
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
            // A whole key can be long; its start tells which one it is.
            let start: String = value.chars().take(60).collect();
            let more = if start.len() < value.len() { ".." } else { "" };
            write!(f, "key of `{entity}`: {start:?}{more} {fault}")
        } else {
            write!(f, "key component `{component}` of `{entity}`: {value:?} {fault}")
        }
    }
}

impl std::error::Error for KeyError {}
