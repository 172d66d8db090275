//! The class of a query, which decides its cost.

use std::fmt;

/// The service's five kinds of query, from the cheapest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QueryClass {
    /// One row by its complete key.
    Point,
    /// A range of RowKeys in one partition.
    RowRange,
    /// All rows of one partition.
    Partition,
    /// A range of partitions: reads every row of all of them.
    PartitionRange,
    /// Every row of the table.
    TableScan,
}

impl fmt::Display for QueryClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Point => "point query",
            Self::RowRange => "row range query",
            Self::Partition => "partition query",
            Self::PartitionRange => "partition range scan",
            Self::TableScan => "table scan",
        })
    }
}
