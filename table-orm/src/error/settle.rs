//! Why an intent stays.

use super::{Error, ErrorKind};
use crate::model::TableName;

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
    /// A row in another partition or table cannot be written. It holds up only the entity's rows in the same
    /// table.
    #[error(
        "{} of `{entity}` in table `{table}`, partition {partition_key:?}, is not in step yet: {source}; \
         settle the partition of the entity again later",
        what(row)
    )]
    Row {
        /// The entity's type name.
        entity: &'static str,
        /// The name of the row's template, such as `by_day`; `SUM:` for the copy of a total.
        row: String,
        /// Its table.
        table: TableName,
        /// Its PartitionKey.
        partition_key: String,
        /// The error of the request.
        source: Box<Error>,
    },
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

/// An intent that stays, or a partition that was not looked through.
#[derive(Debug, thiserror::Error)]
#[error("cannot settle {}partition {partition_key:?}: {error}", place(row_key))]
#[non_exhaustive]
pub struct SettleFailure {
    /// The intent's PartitionKey.
    pub partition_key: String,
    /// The intent's RowKey; empty for the whole partition. The register then still names it.
    pub row_key: String,
    /// Why it stays.
    #[source]
    pub error: SettleError,
}

fn place(row_key: &str) -> String {
    if row_key.is_empty() { String::new() } else { format!("{row_key:?} in ") }
}

impl SettleFailure {
    pub(crate) const fn new(partition_key: String, row_key: String, error: SettleError) -> Self {
        Self { partition_key, row_key, error }
    }
}

impl SettleError {
    pub(super) const fn kind(&self) -> ErrorKind {
        match self {
            Self::Store(error) => error.kind(),
            Self::Row { source, .. } => source.kind(),
            Self::Contended { .. } => ErrorKind::Unavailable,
            Self::Unknown { .. } => ErrorKind::ServerError,
        }
    }

    /// Returns whether the same process may succeed later.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Store(Error::Settle(failure)) => failure.error.is_transient(),
            Self::Store(error) => error.is_unanswered(),
            // Somebody may create the table.
            Self::Row { source, .. } => {
                source.is_unanswered() || matches!(**source, Error::TableNotFound(_))
            }
            Self::Contended { .. } => true,
            Self::Unknown { .. } => false,
        }
    }

    /// Whether some of what was to be settled together may be settled without the rest.
    pub(crate) fn is_of_one(&self) -> bool {
        match self {
            Self::Store(error) => !error.is_unanswered(),
            Self::Row { source, .. } => !source.is_unanswered(),
            Self::Contended { .. } => false,
            Self::Unknown { .. } => true,
        }
    }
}

/// What stands for the name of the row in intents of a copy of a total. No row of an entity has it.
pub(crate) const COPY_OF_TOTAL: &str = "SUM:";

fn what(row: &str) -> String {
    if row == COPY_OF_TOTAL { "the copy of a total".to_owned() } else { format!("the row `{row}`") }
}
