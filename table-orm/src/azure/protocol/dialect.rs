//! The implementations of the service.

/// Which implementation of the service answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// Azure Storage, and Azurite.
    #[default]
    Storage,
    /// Azure Cosmos DB for Table: merge is a tunnelled verb, and ETags cannot be told from
    /// timestamps, so rows always come with minimal metadata.
    Cosmos,
}
