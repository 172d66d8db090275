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

/// A class of queries that a union can be read by: they read all rows of some range, of any type.
pub trait Scope: Class {
    /// Whether the range is the whole partition.
    const IS_PARTITION: bool;
}

impl Scope for Partition {
    const IS_PARTITION: bool = true;
}

impl Scope for Below {
    const IS_PARTITION: bool = false;
}

/// A row and all rows whose keys continue its key.
#[derive(Debug, Clone, Copy)]
pub enum Below {}

impl Class for Below {
    const CLASS: QueryClass = QueryClass::RowRange;
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
