//! The row of a pointer: where it is, and what it says.

use crate::entity::DynamicEntity;
use crate::key::fnv;
use crate::model::{Edm, TableName};
use crate::plan::WorkPlace;
use crate::property::PropertyError;
use bytes::Bytes;

/// The PartitionKeys of a register: `00` to `15`.
pub(super) const PARTITIONS: u64 = 16;

const KIND: &str = "Kind";
const TABLE: &str = "Table";
const PARTITION: &str = "Partition";

/// The PartitionKey of the pointers to a partition. It spreads them; who reads them reads all.
pub(super) fn partition_key(place: &WorkPlace) -> String {
    let hash = fnv(place.partition_key.as_bytes());
    // The lowest bits alone depend on the lowest bits of the bytes.
    let mixed = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    numbered(mixed % PARTITIONS)
}

/// One of the PartitionKeys.
pub(super) fn numbered(number: u64) -> String {
    format!("{number:02}")
}

/// The JSON object of a pointer to a partition of the table `home`.
pub(super) fn body(
    place: &WorkPlace,
    home: &TableName,
    name: &str,
) -> Result<Bytes, PropertyError> {
    DynamicEntity::new(partition_key(place), name)
        .with(KIND, place.kind.clone())
        .with(TABLE, home.as_str().to_owned())
        .with(PARTITION, place.partition_key.clone())
        .body()
}

/// The partition of the table `home` that a row names; `None` for another table's.
pub(super) fn place(row: &DynamicEntity, home: &TableName) -> Option<WorkPlace> {
    let text = |name: &str| match row.properties.get(name) {
        Some(Edm::String(text)) => Some(text.clone()),
        _ => None,
    };
    // The names of tables have no case.
    let is_of_home = text(TABLE)?.eq_ignore_ascii_case(home.as_str());
    let place = WorkPlace { kind: text(KIND)?, partition_key: text(PARTITION)? };
    is_of_home.then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn place_of(partition_key: String) -> WorkPlace {
        WorkPlace { kind: "Order".to_owned(), partition_key }
    }

    #[test]
    fn pointers_spread_over_all_partitions_of_the_register() {
        let mut counts = BTreeMap::new();
        for number in 0..1600 {
            *counts.entry(partition_key(&place_of(format!("customer-{number}")))).or_insert(0) += 1;
        }
        let keys: Vec<_> = counts.keys().cloned().collect();
        assert_eq!(keys, (0..PARTITIONS).map(numbered).collect::<Vec<_>>());
        assert!(counts.values().all(|count| (60..160).contains(count)), "{counts:?}");
    }

    /// Pointers of stored registers are where they are.
    #[test]
    fn the_partition_of_a_pointer_is_the_same_in_every_version() {
        let keys = ["", "acme", "init", "é", "customer-17"];
        let keys = keys.map(|key| partition_key(&place_of(key.to_owned())));
        assert_eq!(keys, ["04", "09", "04", "14", "02"]);
    }
}
