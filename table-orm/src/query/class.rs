//! The class of a query, as a type: what a call may cost is known where it compiles.

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

/// The class of point queries alone.
#[diagnostic::on_unimplemented(
    message = "a complete key is needed here, but this is a `{Self}` query",
    label = "components are missing",
    note = "a point query needs every component of the row; use `list` or `load` for a range"
)]
pub trait IsPoint: Class {}

impl IsPoint for Point {}
