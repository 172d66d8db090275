//! The implementations of the service, whose answers differ.

/// The implementation of the service that answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// Azure Storage, and Azurite.
    #[default]
    Storage,
    /// Azure Cosmos DB for Table. It takes a merge as a POST with the verb in a header. Its ETags
    /// cannot be derived from timestamps, so rows always have minimal metadata.
    Cosmos,
}
