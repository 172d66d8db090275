//! What the service limits for a whole entity: how many properties it has, and its bytes.

use crate::model::{MAX_ENTITY_BYTES, MAX_PROPERTIES, entity_size, order};
use crate::store::{ErrorCode, StoreError};

/// The totals of one entity.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    properties: usize,
    key_units: usize,
    property_bytes: usize,
}

impl Totals {
    /// Those of an entity without properties.
    pub(crate) fn of_keys(partition_key: &str, row_key: &str) -> Self {
        let key_units = order::len(partition_key) + order::len(row_key);
        Self { key_units, ..Self::default() }
    }

    pub(crate) const fn add_key_units(&mut self, units: usize) {
        self.key_units += units;
    }

    /// Counts a property of so many bytes, with its name.
    pub(crate) const fn add(&mut self, property_size: usize) {
        self.properties += 1;
        self.property_bytes += property_size;
    }

    pub(crate) fn check(&self) -> Result<(), StoreError> {
        if self.properties > MAX_PROPERTIES {
            return Err(StoreError::new(
                ErrorCode::TOO_MANY_PROPERTIES,
                format!(
                    "The entity has {} properties; the limit is {MAX_PROPERTIES}.",
                    self.properties
                ),
            ));
        }
        let bytes = entity_size(self.key_units, self.property_bytes);
        if bytes > MAX_ENTITY_BYTES {
            return Err(StoreError::new(
                ErrorCode::ENTITY_TOO_LARGE,
                format!("The entity has {bytes} bytes; the limit is {MAX_ENTITY_BYTES}."),
            ));
        }
        Ok(())
    }
}
