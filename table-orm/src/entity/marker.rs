//! The row that takes the place of an old row for ever.
//!
//! Invariant: a marker is never changed, and only `retire` deletes it.

use crate::codec::members_by_name;
use crate::model::{MOVED_TO, TableName};

/// What a marker says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marker {
    /// The table of the new rows.
    pub table: String,
    /// Their partition.
    pub partition_key: String,
    /// The RowKey of the parcel in that partition; `None` for an entity that moved within its partition, and for
    /// one that was inserted in its new form.
    pub parcel: Option<String>,
    /// The RowKey of the new canonical row, where whoever reads the marker has to follow it: guards of unique values name
    /// the old key. `None` for an entity that was inserted in its new form: the old key never was its key.
    pub row_key: Option<String>,
}

/// Whether a row is a marker.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Marked {
    No,
    To(Marker),
    /// It is one that this version does not write.
    Unknown,
}

impl Marker {
    pub fn new(table: &TableName, partition_key: &str, parcel: Option<&str>) -> Self {
        Self {
            table: table.as_str().to_owned(),
            partition_key: partition_key.to_owned(),
            parcel: parcel.map(str::to_owned),
            row_key: None,
        }
    }

    /// The text of its only property.
    pub fn text(&self) -> String {
        let Self { table, partition_key, parcel, row_key } = self;
        let text = match row_key {
            Some(row_key) => serde_json::json!([table, partition_key, parcel, row_key]),
            None => serde_json::json!([table, partition_key, parcel]),
        };
        text.to_string()
    }

    /// The marker with that text; `None` for a text that no marker has.
    pub fn parse(text: &str) -> Option<Self> {
        let of = |(table, partition_key, parcel, row_key)| Self {
            table,
            partition_key,
            parcel,
            row_key,
        };
        let long = serde_json::from_str::<(_, _, _, String)>(text);
        let long = long.map(|(table, partition_key, parcel, row_key)| {
            of((table, partition_key, parcel, Some(row_key)))
        });
        let short = || {
            serde_json::from_str(text).map(|(table, key, parcel)| of((table, key, parcel, None)))
        };
        long.or_else(|_| short()).ok()
    }

    /// Reads it from a row of whatever type.
    pub fn of_row(row: &[u8]) -> Marked {
        let Ok(members) = members_by_name(row) else { return Marked::Unknown };
        let Some(text) = members.get(MOVED_TO) else { return Marked::No };
        let text = serde_json::from_str::<String>(text).ok();
        text.and_then(|text| Self::parse(&text)).map_or(Marked::Unknown, Marked::To)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::DynamicEntity;

    #[test]
    fn the_text_of_a_marker_is_pinned() {
        let table = TableName::new("orders").unwrap();
        for (parcel, row_key, text) in [
            (
                None,
                None,
                r#"{"PartitionKey":"north","RowKey":"ORD:1","Moved_To":"[\"orders\",\"n\\\"o\",null]"}"#,
            ),
            (
                Some("MOV:x"),
                None,
                r#"{"PartitionKey":"north","RowKey":"ORD:1","Moved_To":"[\"orders\",\"n\\\"o\",\"MOV:x\"]"}"#,
            ),
            (
                Some("MOV:x"),
                Some("ORD:2"),
                r#"{"PartitionKey":"north","RowKey":"ORD:1","Moved_To":"[\"orders\",\"n\\\"o\",\"MOV:x\",\"ORD:2\"]"}"#,
            ),
            (
                None,
                Some("ORD:2"),
                r#"{"PartitionKey":"north","RowKey":"ORD:1","Moved_To":"[\"orders\",\"n\\\"o\",null,\"ORD:2\"]"}"#,
            ),
        ] {
            let marker = Marker {
                row_key: row_key.map(str::to_owned),
                ..Marker::new(&table, "n\"o", parcel)
            };
            let row = DynamicEntity::new("north", "ORD:1").with(MOVED_TO, marker.text());
            assert_eq!(row.body().unwrap(), text);
            assert_eq!(Marker::of_row(text.as_bytes()), Marked::To(marker));
        }
    }

    #[test]
    fn other_rows_are_no_markers_and_other_marks_are_not_known() {
        assert_eq!(Marker::parse("[\"orders\"]"), None);
        assert_eq!(Marker::parse("[\"orders\",\"n\",null,null]"), None);
        assert_eq!(Marker::of_row(br#"{"PartitionKey":"n","RowKey":"r"}"#), Marked::No);
        let other = br#"{"PartitionKey":"n","RowKey":"r","Moved_To":"elsewhere"}"#;
        assert_eq!(Marker::of_row(other), Marked::Unknown);
    }
}
