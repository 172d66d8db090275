//! The text of `$filter`.
//!
//! [`parse`] reads it into a [`Filter`]; `split_keys` takes out of that what bounds the keys, so
//! that a store seeks instead of scanning.
//!
//! Invariants: text of any length and nesting is read in time linear in its length and on a bounded
//! stack. What [`Filter`] displays is read back as that filter.

mod keys;
mod lexer;
mod parser;

pub(crate) use keys::split_keys;
pub use parser::parse;
#[cfg(test)]
mod tests;

use table_orm::query::Filter;

/// Why the text is not a filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FilterError {
    /// The text breaks the syntax.
    #[error("at position {at}, {expected} is expected")]
    Syntax {
        /// Where, in bytes from its start.
        at: usize,
        /// What could follow there.
        expected: &'static str,
    },
    /// A literal has no value of its type.
    #[error("the literal at position {0} is not valid")]
    Literal(usize),
    /// The filter calls a function, which the service does not implement.
    #[error("functions are not implemented")]
    Function,
    /// Parentheses and `not` are nested deeper than 100 levels.
    #[error("the filter is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// There are more comparisons than the service allows.
    #[error("the filter has more than {MAX_TERMS} comparisons")]
    TooLong,
}

/// The deepest nesting of parentheses and `not`.
const MAX_DEPTH: usize = 100;
/// The most comparisons that are read. A query may have fewer; this limit bounds the depth of the
/// tree, which a chain of `and` deepens by one each.
const MAX_TERMS: usize = 250;

/// Whether the filter is on this property only.
pub(crate) fn only_on(filter: &Filter, name: &str) -> bool {
    match filter {
        Filter::Compare { property, .. } => property == name,
        Filter::And(left, right) | Filter::Or(left, right) => {
            only_on(left, name) && only_on(right, name)
        }
        Filter::Not(inner) => only_on(inner, name),
    }
}
