//! How a component's text follows from the value of a field, as data.

use super::{Ascending, Biased, Descending, DescendingPadded, Lower, Padded, Plain};

/// How a component's text follows from the value of its field.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Coding {
    /// The value: `{f}`, `{f:0N}`, `asc(f)`, `biased(f)`.
    Value,
    /// The value from the other end of its type: `desc(f)`.
    Reversed,
    /// The number subtracted from the largest of as many digits: `desc(f)` as `{x:0N}`.
    ReversedDigits,
    /// `lower(f)`.
    Lower,
    /// `shard(f, N)`: N, whether what is hashed has leading zeros, and the text of the shard of a value.
    Shard(u32, bool, fn(&str) -> Option<String>),
    /// `spread(f)`.
    Spread,
    /// A function of the app.
    Computed,
}

/// An encoder of key components, as data.
#[doc(hidden)]
pub trait Encodes {
    #[doc(hidden)]
    const REVERSES: bool = false;
    #[doc(hidden)]
    const LOWERS: bool = false;
    #[doc(hidden)]
    const DIGITS: bool = false;
}

impl Encodes for Plain {}
impl<const N: usize> Encodes for Padded<N> {}
impl Encodes for Ascending {}
impl Encodes for Biased {}
impl Encodes for Descending {
    const REVERSES: bool = true;
}
impl<const N: usize> Encodes for DescendingPadded<N> {
    const REVERSES: bool = true;
    const DIGITS: bool = true;
}
impl Encodes for Lower {
    const LOWERS: bool = true;
}
