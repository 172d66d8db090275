//! The keys and values of one entity that may be out of step.

use super::eventual_rows::{EventualKey, EventualRows};
use super::sum_copies::key_of_copy;
use super::unique_value::UniqueValue;
use crate::entity::Total;
use crate::error::COPY_OF_TOTAL;
use crate::key::KeyError;
use crate::model::TableName;

/// The keys of one entity that may be out of step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DueEntry {
    /// The RowKey of the canonical row.
    pub canonical: String,
    /// The `eventual` rows: the name of the template, and the key.
    pub keys: Vec<(String, EventualKey)>,
    /// The values that it may not have any more.
    pub values: Vec<UniqueValue>,
}

impl DueEntry {
    /// The keys that a write of the entity makes due; `None` where no row in another partition changes.
    pub fn of(canonical: &str, old: &EventualRows, new: &EventualRows) -> Option<Self> {
        let keys: Vec<_> = old.due(new).map(|(row, key)| (row.to_owned(), key.clone())).collect();
        let canonical = canonical.to_owned();
        (!keys.is_empty()).then_some(Self { canonical, keys, values: Vec::new() })
    }

    /// The copy of one of the rows of a total in the partition `home`.
    pub fn of_copy(
        table: &TableName,
        home: &str,
        total: &Total,
        shard: u8,
    ) -> Result<Self, KeyError> {
        let keys = vec![(COPY_OF_TOTAL.to_owned(), key_of_copy(table, home, total, shard)?)];
        Ok(Self { canonical: total.row_key(shard)?, keys, values: Vec::new() })
    }

    /// How many keys and values it has.
    pub fn len(&self) -> usize {
        self.keys.len() + self.values.len()
    }

    /// The first values of some entries, that many.
    pub fn first_values(entries: &[Self], mut count: usize) -> Vec<Self> {
        let first = |entry: &Self| {
            let values: Vec<_> = entry.values.iter().take(count).cloned().collect();
            count -= values.len();
            Self::of_values(&entry.canonical, values)
        };
        entries.iter().filter_map(first).collect()
    }

    /// Values alone; `None` where there are none.
    pub fn of_values(canonical: &str, values: Vec<UniqueValue>) -> Option<Self> {
        let canonical = canonical.to_owned();
        (!values.is_empty()).then_some(Self { canonical, keys: Vec::new(), values })
    }
}
