//! The class of a query as a type, so that the compiler knows what a call may cost.

use super::QueryClass;

/// A query class as a type.
pub trait Class {
    /// The same as a value.
    const CLASS: QueryClass;
}

macro_rules! classes {
    ($($(#[$doc:meta])* $name:ident),*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub enum $name {}

        impl Class for $name {
            const CLASS: QueryClass = QueryClass::$name;
        }
    )*};
}

classes! {
    /// One row by its complete key.
    Point,
    /// A range of RowKeys in one partition.
    RowRange,
    /// All rows of one partition.
    Partition,
    /// A range of partitions.
    PartitionRange,
    /// Every row of the table.
    TableScan
}
