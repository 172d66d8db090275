//! How much a row says about its properties' types.

/// How much a row says about its properties' types.
///
/// A store may always send more than was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Metadata {
    /// Nothing: the reader knows the types. The least bytes.
    #[default]
    None,
    /// An `@odata.type` annotation on every property whose JSON form does not tell its type, and
    /// the row's ETag.
    Minimal,
}
