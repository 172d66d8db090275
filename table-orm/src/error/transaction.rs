//! Why several entities cannot be written in one transaction.

/// Why a unit was refused before anything was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransactionError {
    /// An entity of another partition.
    #[error(
        "`{entity}` belongs to partition {found:?}, the unit to {expected:?}; use a unit for each \
         partition"
    )]
    OtherPartition {
        /// The entity's type name.
        entity: &'static str,
        /// The unit's PartitionKey.
        expected: String,
        /// The entity's PartitionKey.
        found: String,
    },
    /// An entity of another table.
    #[error(
        "`{entity}` is stored in table `{found}`, the unit's entities in `{expected}`; one \
         transaction writes one table"
    )]
    OtherTable {
        /// The entity's type name.
        entity: &'static str,
        /// The unit's table.
        expected: &'static str,
        /// The entity's table.
        found: &'static str,
    },
    /// A row that another operation of the unit writes already.
    #[error(
        "row {row_key:?} of `{entity}` stands in the unit twice; one transaction writes a row once"
    )]
    SameRow {
        /// The entity's type name.
        entity: &'static str,
        /// The RowKey.
        row_key: String,
    },
    /// More than 100 operations.
    #[error(
        "the unit has {0} operations; one transaction takes 100: use several units, or \
         `insert_many` where entities need not be written together"
    )]
    TooManyOperations(usize),
    /// A write that would have to read first, which a transaction cannot.
    #[error(
        "a unit cannot write `{0}` without a look at its stored rows, which its key does not tell; \
         `load` it, change it, and `save` it"
    )]
    NotBlind(&'static str),
}
