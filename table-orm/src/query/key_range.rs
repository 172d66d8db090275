//! The keys that a query reads.

use super::filter::Filter;
use super::query_class::QueryClass;
use super::span::{Span, both};
use crate::model::{PARTITION_KEY, ROW_KEY};

/// The keys that a query reads: a range of partitions, and a range of rows in each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRange {
    /// The PartitionKeys.
    pub partition: Span,
    /// The RowKeys.
    pub row: Span,
}

impl KeyRange {
    /// Every row of the table.
    pub const ALL: Self = Self { partition: Span::All, row: Span::All };

    /// The class of a query of these keys.
    #[must_use]
    pub const fn class(&self) -> QueryClass {
        match (&self.partition, &self.row) {
            (Span::Exact(_), Span::Exact(_)) => QueryClass::Point,
            (Span::Exact(_), Span::Between(..)) => QueryClass::RowRange,
            (Span::Exact(_), Span::All) => QueryClass::Partition,
            (Span::Between(..), _) => QueryClass::PartitionRange,
            (Span::All, _) => QueryClass::TableScan,
        }
    }

    /// The range as a condition on PartitionKey and RowKey; `None` for every row.
    #[must_use]
    pub fn filter(&self) -> Option<Filter> {
        both(self.partition.filter(PARTITION_KEY), self.row.filter(ROW_KEY))
    }
}
