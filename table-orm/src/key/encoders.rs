//! The ways to write a type as a key component. Each is a type without values, which a [`KeyPart`](super::KeyPart) names.

/// The type's own text: digits without padding, text as it is, `true`, ISO dates, enum codes.
#[derive(Debug, Clone, Copy)]
pub enum Plain {}
/// An unsigned number in exactly `N` digits: `{bib:05}`.
#[derive(Debug, Clone, Copy)]
pub enum Padded<const N: usize> {}
/// Smallest or oldest first, in the full width of the type: `asc(f)`.
#[derive(Debug, Clone, Copy)]
pub enum Ascending {}
/// Largest or newest first, in the full width of the type: `desc(f)`.
#[derive(Debug, Clone, Copy)]
pub enum Descending {}
/// Largest first in exactly `N` digits: `desc(f)` used as `{x:0N}`.
#[derive(Debug, Clone, Copy)]
pub enum DescendingPadded<const N: usize> {}
/// A signed number, moved up so that the smallest is 0: `biased(f)`.
#[derive(Debug, Clone, Copy)]
pub enum Biased {}
/// Text in lower case: `lower(f)`. The value cannot be read back.
#[derive(Debug, Clone, Copy)]
pub enum Lower {}
