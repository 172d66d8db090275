//! How many bytes of storage a row takes, by Microsoft's published formula.

use crate::entity::DynamicEntity;
use crate::model::{entity_size, order, property_size};

/// The bytes of storage of a row: 4, two for each UTF-16 unit of its keys, and for each property 8, two for each
/// unit of its name, and its value.
pub(super) fn stored_bytes(row: &DynamicEntity) -> u64 {
    let keys = order::len(&row.partition_key) + order::len(&row.row_key);
    let properties = row.properties.iter().map(|(name, value)| property_size(name, value.size()));
    entity_size(keys, properties.sum()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_takes_the_bytes_of_the_published_example() {
        // 4, two keys of 8 and 10 characters, an Int32 `Age`, and a text `City` of 6.
        let row =
            DynamicEntity::new("Race2011", "BIB:000001").with("Age", 55).with("City", "Boston");
        assert_eq!(stored_bytes(&row), 4 + 36 + (8 + 6 + 4) + (8 + 8 + 12 + 4));
    }
}
