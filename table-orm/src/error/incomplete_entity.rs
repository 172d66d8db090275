//! A patch that cannot insert an entity.

use crate::model::Printable;

/// A key and a patch that leave fields of a new entity without a value. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot insert `{entity}`: {}; nothing was written: insert a whole entity, or make the fields \
     of its keys `key_only` and give the others a `default`",
    reason(missing)
)]
#[non_exhaustive]
pub struct IncompleteEntity {
    /// The entity's type name.
    pub entity: &'static str,
    /// The canonical row's PartitionKey.
    pub partition_key: String,
    /// The canonical row's RowKey.
    pub row_key: String,
    /// A property without a value; empty when the fields that have one make another key.
    pub missing: String,
}

fn reason(missing: &str) -> String {
    if missing.is_empty() {
        "the key and the patch make an entity of another key".to_owned()
    } else {
        let missing = Printable(missing);
        format!("the key and the patch leave property `{missing}` without a value")
    }
}
