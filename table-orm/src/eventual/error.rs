//! Why an intent stays.

use crate::error::Error;

/// Why the rows of an entity in other partitions are not in step yet. The entity itself is written, and the
/// intent stays in its partition: settling it later is safe.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettleError {
    /// A request failed.
    #[error(
        "the rows in other partitions are not in step yet: {0}; settle the partition again later"
    )]
    Store(#[from] Error),
    /// Other settlers of the same entity were faster each time.
    #[error(
        "the rows in other partitions are not in step yet: other writers of the entity were faster \
         {rounds} times; settle the partition again later"
    )]
    Contended {
        /// How many times.
        rounds: u32,
    },
    /// Another version of the app wrote the intent, or another type of the same name.
    #[error(
        "the intent {row_key:?} of partition {partition_key:?} names {unknown}, which this version of the app \
         does not know; it was left: settle it with the version, or the type, that wrote it"
    )]
    Unknown {
        /// The intent's PartitionKey.
        partition_key: String,
        /// The intent's RowKey.
        row_key: String,
        /// What is not known.
        unknown: String,
    },
}

impl SettleError {
    /// Whether the same process may succeed later.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Store(error) => error.is_unanswered(),
            Self::Contended { .. } => true,
            Self::Unknown { .. } => false,
        }
    }
}
