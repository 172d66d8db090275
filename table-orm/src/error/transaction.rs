//! Why several entities cannot be written in one transaction.

/// Entities that one transaction cannot write together. Nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransactionError {
    /// An entity is of another partition.
    #[error(
        "`{entity}` belongs to partition {found:?}, and the transaction to {expected:?}; nothing \
         was sent: use one transaction for each partition"
    )]
    OtherPartition {
        /// The entity's type name.
        entity: &'static str,
        /// The transaction's PartitionKey.
        expected: String,
        /// The entity's PartitionKey.
        found: String,
    },
    /// An entity is stored in another table.
    #[error(
        "`{entity}` is stored in table `{found}`, and the transaction writes `{expected}`; nothing \
         was sent: use one transaction for each table"
    )]
    OtherTable {
        /// The entity's type name.
        entity: &'static str,
        /// The transaction's table.
        expected: &'static str,
        /// The entity's table.
        found: &'static str,
    },
    /// An entity is of a type with one table, and the transaction is in the table of a period.
    #[error(
        "`{entity}` is stored in the one table `{table}`, and the transaction is in the table of a period; \
         nothing was sent: use one transaction for each table"
    )]
    NoPeriod {
        /// The entity's type name.
        entity: &'static str,
        /// Its table.
        table: &'static str,
    },
    /// Two operations write the same row.
    #[error(
        "two operations of the transaction write row {row_key:?} of `{entity}`; nothing was sent: \
         write each row once"
    )]
    SameRow {
        /// The entity's type name.
        entity: &'static str,
        /// The RowKey.
        row_key: String,
    },
    /// There are more operations than a transaction of the store can have: 100 of the service
    /// (service documentation, "Performing entity group transactions"), 99 of
    /// [accounts that grow](crate::accounts::Accounts::growing).
    #[error(
        "the transaction has {found} operations, and the store allows {most}; nothing was sent: use \
         several transactions, or `insert_many` for entities that need not be written together"
    )]
    TooManyOperations {
        /// The number of operations.
        found: usize,
        /// The most that the store takes.
        most: usize,
    },
    /// The write must read first, which a transaction cannot.
    #[error(
        "a transaction cannot write `{0}` without reading its stored rows: its key does not determine them, \
         or it has sums over partitions, or the write is a merge and the type has `expires` or a field with an \
         `alias`; nothing was sent: `load` it, change it, and `save` it"
    )]
    NotBlind(&'static str),
}
