//! The key of an entity's canonical row.

use crate::entity::EntityRow;
use crate::query::{KeyRange, Span};

/// The keys of a canonical row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CanonicalKey {
    pub partition_key: String,
    pub row_key: String,
}

impl CanonicalKey {
    /// The row of a complete key.
    pub fn of(keys: KeyRange) -> Self {
        let text = |span| if let Span::Exact(text) = span { text } else { String::new() };
        Self { partition_key: text(keys.partition), row_key: text(keys.row) }
    }

    /// The key of `row` in a partition.
    pub fn in_partition(partition_key: &str, row: &EntityRow) -> Self {
        Self { partition_key: partition_key.to_owned(), row_key: row.row_key.clone() }
    }

    /// The keys of a point query for the row.
    pub fn range(&self) -> KeyRange {
        KeyRange {
            partition: Span::Exact(self.partition_key.clone()),
            row: Span::Exact(self.row_key.clone()),
        }
    }
}
