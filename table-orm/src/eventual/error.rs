//! Why an intent stays.

use super::sum_copies;
use crate::error::Error;
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

impl SettleError {
    /// Returns whether the same process may succeed later.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        match self {
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
    pub(super) fn is_of_one(&self) -> bool {
        match self {
            Self::Store(error) => !error.is_unanswered(),
            Self::Row { source, .. } => !source.is_unanswered(),
            Self::Contended { .. } => false,
            Self::Unknown { .. } => true,
        }
    }
}

fn what(row: &str) -> String {
    if row == sum_copies::ROW {
        "the copy of a total".to_owned()
    } else {
        format!("the row `{row}`")
    }
}
