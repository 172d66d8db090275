//! Keys: how values become the text of a PartitionKey or RowKey, and come back from it.
//!
//! A key template such as `BIB:{bib:05}__{name}` is a row of literals and components. Each
//! component's text is written by a [`KeyPart`] implementation chosen by the field's type and its
//! encoder: [`Plain`], [`Padded`], [`Ascending`], [`Descending`], [`DescendingPadded`], [`Biased`]
//! or [`Lower`].
//!
//! Invariants: different values of a component never store the same text (instants and times of day
//! are equal within a tick of 100 ns; [`Lower`] and computed components may join values); a stored key
//! splits back into the values it was made of, but for those; where a range
//! is offered ([`Sorted`], [`SortedLast`]), text order in UTF-16 units is value order.

mod argument;
mod chars;
#[cfg(any(feature = "chrono", feature = "jiff"))]
mod civil;
mod error;
mod instant;
mod number;
mod part;
mod reader;
mod shard;
#[cfg(test)]
mod tests;
mod text;
mod writer;

pub use argument::{IntoRange, IntoValue, LastRangeOf, PrefixOf, RangeOf};
#[cfg(any(feature = "azure", feature = "embedded"))]
pub(crate) use chars::check_key;
pub(crate) use chars::forbidden_in;
pub use chars::is_forbidden;
pub use error::{KeyError, KeyFault};
pub use part::{
    Ascending, Biased, Descending, DescendingPadded, KeyPart, Lower, Padded, Plain, Sorted,
    SortedLast, TextPart, Width,
};
pub use reader::KeyReader;
#[doc(hidden)]
pub use reader::StoredKeys;
pub use shard::Shard;
#[doc(hidden)]
pub use shard::Sharded;
pub use writer::{Escape, KeyText};

pub(crate) use shard::fnv;
