//! Keys: how values become the text of a PartitionKey or RowKey, and are read back from it.
//!
//! A key template such as `BIB:{bib:05}__{name}` is a sequence of literals and components. The
//! field's type and its encoder choose the [`KeyPart`] implementation that writes a component's
//! text: [`Plain`], [`Padded`], [`Ascending`], [`Descending`], [`DescendingPadded`], [`Biased`] or
//! [`Lower`].
//!
//! Invariants:
//! - Different values of a component never store the same text. Exceptions: instants and times of
//!   day within one tick of 100 ns, [`Lower`], and computed components.
//! - A stored key splits back into the values it was made of, with the same exceptions.
//! - Where a range is offered ([`Sorted`], [`SortedLast`]), the order of the text in UTF-16 units
//!   is the order of the values.

mod alphabet;
mod argument;
mod ascending_as_plain;
mod boolean;
mod character;
mod chars;
mod civil;
#[cfg(any(feature = "chrono", feature = "jiff"))]
mod civil_as_time;
mod codes;
mod coding;
mod determines;
mod encoders;
mod error;
mod instant;
mod number;
mod overlap;
mod part;
mod reader;
mod shape;
mod shard;
mod spread;
mod template;
#[cfg(test)]
mod tests;
mod text;
mod text_template;
mod unique_id;
mod writer;

pub use argument::{IntoRange, IntoValue, LastRangeOf, PrefixOf, RangeOf};
#[cfg(any(feature = "azure", feature = "embedded"))]
pub(crate) use chars::check_key;
pub(crate) use chars::forbidden_in;
pub use chars::is_forbidden;
pub use codes::Coded;
#[doc(hidden)]
pub use coding::Encodes;
pub use encoders::{Ascending, Biased, Descending, DescendingPadded, Lower, Padded, Plain};
pub use error::{KeyError, KeyFault};
pub use part::{KeyPart, PrefixFree, Sorted, SortedLast, TextPart};
pub use reader::KeyReader;
#[doc(hidden)]
pub use reader::StoredKeys;
pub use shape::{Shape, Width};
pub use shard::Shard;
#[doc(hidden)]
pub use shard::Sharded;
#[doc(hidden)]
pub use spread::Instant;
pub use spread::{IntoBounded, Spread};
pub use template::{KeyTemplate, TemplatePart};
pub use writer::{Escape, KeyText};

pub(crate) use determines::same;
pub(crate) use shard::fnv;
pub(crate) use text_template::{TextShape, TextTemplate, TextTemplateFault};
