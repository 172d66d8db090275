//! An event as a JSON message for other programs.

use super::event::Event;
use serde::Serialize;
use serde_json::value::RawValue;

/// The version of the messages' form. A later one may add members, and keeps those of this one.
pub const MESSAGE_VERSION: u32 = 1;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Message<'e> {
    version: u32,
    table: &'e str,
    partition_key: &'e str,
    number: u64,
    entity: &'e str,
    change: &'static str,
    row_key: &'e str,
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_from: Option<&'e str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<&'e RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<&'e RawValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<&'static str>,
}

impl Event {
    /// The event as one JSON object, in one line.
    ///
    /// | Member | What it is |
    /// |---|---|
    /// | `version` | [`MESSAGE_VERSION`] |
    /// | `table`, `partitionKey`, `number` | identify the event, and order those of a partition |
    /// | `entity` | the name of the type |
    /// | `change` | `inserted`, `updated`, `moved` or `deleted` |
    /// | `rowKey` | the RowKey of the canonical row |
    /// | `movedFrom` | its RowKey before the write, of an entity that was moved |
    /// | `time` | when the write took effect, by the service's clock |
    /// | `before`, `after` | the canonical row, in the service's JSON form, where the type asks for it |
    /// | `leftOut` | which of these two is left out because it is too long |
    ///
    /// Members without a value are absent.
    #[must_use]
    pub fn to_json(&self) -> String {
        let left_out = [("before", self.before_left_out), ("after", self.after_left_out)];
        let message = Message {
            version: MESSAGE_VERSION,
            table: self.table.as_str(),
            partition_key: &self.partition_key,
            number: self.number,
            entity: &self.entity,
            change: self.change.name(),
            row_key: &self.row_key,
            moved_from: self.moved_from.as_deref(),
            time: self.time.map(|time| time.to_string()),
            before: raw(self.before_json()),
            after: raw(self.after_json()),
            left_out: left_out.into_iter().filter(|(_, is)| *is).map(|(name, _)| name).collect(),
        };
        // Text and numbers always become JSON.
        serde_json::to_string(&message).unwrap_or_default()
    }
}

/// A row as it is. Rows of events are JSON.
fn raw(row: Option<&str>) -> Option<&RawValue> {
    serde_json::from_str(row?).ok()
}
