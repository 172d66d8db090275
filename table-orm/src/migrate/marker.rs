//! The row that takes the place of an old row for ever.
//!
//! Invariant: a marker is never changed, and only `retire` deletes it.

use crate::entity::DynamicEntity;
use crate::model::{MOVED_TO, TableName};
use crate::plan::CanonicalKey;
use crate::property::PropertyError;
use bytes::Bytes;

/// What a marker says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Marker {
    /// The table of the new rows.
    pub table: String,
    /// Their partition.
    pub partition_key: String,
    /// The RowKey of the parcel in that partition; `None` for an entity that moved within its partition, and for
    /// one that was inserted in its new form.
    pub parcel: Option<String>,
}

impl Marker {
    pub fn new(table: &TableName, partition_key: &str, parcel: Option<&str>) -> Self {
        Self {
            table: table.as_str().to_owned(),
            partition_key: partition_key.to_owned(),
            parcel: parcel.map(str::to_owned),
        }
    }

    /// The marker's JSON object at an old key.
    pub fn body(&self, key: &CanonicalKey) -> Result<Bytes, PropertyError> {
        let Self { table, partition_key, parcel } = self;
        let text = serde_json::json!([table, partition_key, parcel]).to_string();
        DynamicEntity::new(&key.partition_key, &key.row_key).with(MOVED_TO, text).body()
    }

    /// The marker with that text; `None` for a text that no marker has.
    pub fn parse(text: &str) -> Option<Self> {
        let (table, partition_key, parcel) = serde_json::from_str(text).ok()?;
        Some(Self { table, partition_key, parcel })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_marker_is_pinned() {
        let table = TableName::new("orders").unwrap();
        let key = CanonicalKey { partition_key: "north".to_owned(), row_key: "ORD:1".to_owned() };
        for (parcel, text) in [
            (
                None,
                r#"{"PartitionKey":"north","RowKey":"ORD:1","Moved_To":"[\"orders\",\"n\\\"o\",null]"}"#,
            ),
            (
                Some("MOV:x"),
                r#"{"PartitionKey":"north","RowKey":"ORD:1","Moved_To":"[\"orders\",\"n\\\"o\",\"MOV:x\"]"}"#,
            ),
        ] {
            let marker = Marker::new(&table, "n\"o", parcel);
            assert_eq!(marker.body(&key).unwrap(), text);
            let row = DynamicEntity::from_json(text).unwrap();
            let Some(crate::model::Edm::String(said)) = row.properties.get(MOVED_TO) else {
                panic!()
            };
            assert_eq!(Marker::parse(said), Some(marker));
        }
        assert_eq!(Marker::parse("[\"orders\"]"), None);
    }
}
