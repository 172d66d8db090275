//! A value that is unique over all partitions.

use crate::entity::{GuardTemplate, TableEntity, across_keys};
use crate::key::KeyError;

/// A value that is unique over all partitions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct UniqueValue {
    /// The name of the `unique(.., across)`.
    pub name: String,
    /// Its text in keys.
    pub value: String,
}

impl UniqueValue {
    /// The value whose guard has that PartitionKey.
    pub fn of_key(guard: &GuardTemplate, key: &str) -> Self {
        let value = key.strip_prefix(guard.start).unwrap_or_default().to_owned();
        Self { name: guard.name.to_owned(), value }
    }

    /// The PartitionKey of its guard.
    pub fn partition_key(&self) -> String {
        format!("UNQ:{}:{}", self.name, self.value)
    }
}

/// The values of an entity that are unique over all partitions.
pub(crate) fn unique_values<E: TableEntity>(entity: &E) -> Result<Vec<UniqueValue>, KeyError> {
    across_keys(entity).map(values_of)
}

/// The values of guards with these PartitionKeys.
fn values_of(guards: Vec<(&'static GuardTemplate, String)>) -> Vec<UniqueValue> {
    guards.into_iter().map(|(guard, key)| UniqueValue::of_key(guard, &key)).collect()
}
