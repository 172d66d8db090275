//! A limit that a field declares.

/// A limit that a field declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// `max_len`: the most UTF-16 units of a text.
    MaxLen(usize),
    /// `max`: the largest number.
    Max(u64),
}
