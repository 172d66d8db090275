//! How much type information a row carries.

/// How much type information a row carries.
///
/// A store may always send more than a query asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Metadata {
    /// None: the reader knows the types. This takes the fewest bytes.
    #[default]
    None,
    /// An `@odata.type` annotation on every property whose JSON form does not show its type, and
    /// the row's ETag.
    Minimal,
}
