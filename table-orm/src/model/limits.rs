//! The service's limits, each with its source.

use super::order;

/// The most UTF-16 units of a PartitionKey or RowKey: 1 KiB (service documentation,
/// "Understanding the Table service data model").
pub const MAX_KEY_UNITS: usize = 512;
/// The most properties of an entity besides its keys and timestamp (same page).
pub const MAX_PROPERTIES: usize = 252;
/// The most UTF-16 units of a string property: 64 KiB (service documentation, "Understanding the
/// Table service data model").
pub const MAX_STRING_UNITS: usize = 32 * 1024;
/// The most bytes of a binary property: 64 KiB (same page).
pub const MAX_BINARY_BYTES: usize = 64 * 1024;
/// The most bytes of an entity: 1 MiB, as the service counts them (same page).
pub const MAX_ENTITY_BYTES: usize = 1024 * 1024;
/// The most UTF-16 units of a property name (same page).
pub const MAX_NAME_CHARS: usize = 255;
/// The most rows one page can hold (service documentation, "Query timeout and pagination").
pub const MAX_PAGE_ROWS: u16 = 1000;
/// The most operations of one entity group transaction (service documentation, "Performing entity
/// group transactions").
pub const MAX_TRANSACTION_OPERATIONS: usize = 100;
/// The most bytes of one entity group transaction: 4 MiB (same page).
pub const MAX_TRANSACTION_BYTES: usize = 4 * 1024 * 1024;
/// The most comparisons one `$filter` may hold, key comparisons included (service documentation,
/// "Querying tables and entities").
pub const MAX_COMPARISONS: usize = 15;

/// What a property adds to the size of its entity, in bytes (service documentation).
pub(crate) fn property_size(name: &str, value: usize) -> usize {
    8 + 2 * order::len(name) + value
}

/// The size of an entity in bytes, by the UTF-16 units of its keys and the sizes of its properties.
pub(crate) const fn entity_size(key_units: usize, properties: usize) -> usize {
    4 + 2 * key_units + properties
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Most of these texts are printed by the compiler, so they are literals.
    #[test]
    fn literal_texts_state_the_limits() {
        let texts = [
            include_str!("../key/template.rs"),
            include_str!("../property/check_declared.rs"),
            include_str!("../stress/error.rs"),
        ];
        let [key, properties, transaction] = texts;
        assert!(key.contains(&format!("keys of more than {MAX_KEY_UNITS} UTF-16 units")));
        assert!(properties.contains(&format!("more than {MAX_PROPERTIES} properties")));
        assert!(
            transaction.contains(&format!("the {} MiB of a request", MAX_TRANSACTION_BYTES >> 20))
        );
    }
}
