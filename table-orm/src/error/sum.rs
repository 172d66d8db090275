//! Why a total cannot be kept or read.

/// A total that cannot be kept or read. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SumError {
    /// The total would be outside the range of `Int64`.
    #[error(
        "the total in row {row_key:?} of partition {partition_key:?} would not fit `Edm.Int64`; \
         nothing was written: add up smaller numbers, or, for the total of one partition, raise the `shards` of the sum"
    )]
    Overflow {
        /// The partition.
        partition_key: String,
        /// The row of the total.
        row_key: String,
    },
    /// The type has no sum of that name.
    #[error(
        "the sum {name:?} is not among those of `{entity}`, so no write keeps its totals; nothing was read: add it to \
         the list that `#[table(sums = ..)]` names, and run `repair_sums` in each partition with stored entities"
    )]
    Undeclared {
        /// The name of the sum.
        name: &'static str,
        /// The entity's type name.
        entity: &'static str,
    },
    /// The totals of the sum have no copies, so there is no sum over partitions.
    #[error(
        "the sum {name:?} has no copies over partitions; nothing was read: declare it with `over_partitions()`, and \
         run `backfill_table`, which makes the copies for stored entities"
    )]
    OfOnePartition {
        /// The name of the sum.
        name: &'static str,
    },
}
