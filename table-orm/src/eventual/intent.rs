//! The row that says which rows in other partitions may differ from what their entity says, and which values
//! that are unique over all partitions it has given up. The ticket of a reservation has the same form, with
//! the values that the entity is to have.
//!
//! Invariant: each intent has a name of its own: it is random, and used by one transaction only.

use super::due_entry::DueEntry;
use super::eventual_rows::EventualKey;
use super::eventual_type::EventualType;
use super::new_row_name::new_row_name;
use super::unique_value::UniqueValue;
use crate::entity::DynamicEntity;
use crate::error::Result;
use crate::model::{Edm, MAX_ENTITY_BYTES, MAX_STRING_UNITS, entity_size, order, property_size};
use crate::plan::{Connection, TableClient};
use crate::store::{Action, ErrorCode, Operation, StoreError};

/// What the RowKey of every intent begins with.
pub(crate) const START: &str = "DUE:";
/// The property with the type's name.
pub(super) const ENTITY: &str = "Entity";
/// The first property with the keys.
const DUE: &str = "Due";
/// What comes before a value in place of the name of a row.
pub(super) const UNIQUE: &str = "unique";

/// An intent to be inserted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Intent {
    pub partition_key: String,
    pub row_key: String,
    pub due: Vec<DueEntry>,
}

impl Intent {
    /// An intent with a new name.
    #[cfg(all(test, feature = "embedded"))]
    pub fn new(connection: &Connection, partition_key: &str, due: Vec<DueEntry>) -> Self {
        Self::named(START, connection, partition_key, due)
    }

    /// A row of the same form whose new name begins so.
    pub fn named(
        start: &str,
        connection: &Connection,
        partition_key: &str,
        due: Vec<DueEntry>,
    ) -> Self {
        let row_key = new_row_name(start, connection);
        Self { partition_key: partition_key.to_owned(), row_key, due }
    }

    /// The values, each with the RowKey of its entity.
    pub fn values(&self) -> impl Iterator<Item = (&str, &UniqueValue)> {
        self.due
            .iter()
            .flat_map(|entry| entry.values.iter().map(|value| (entry.canonical.as_str(), value)))
    }

    /// The insert of its row.
    ///
    /// # Errors
    /// [`Error::TooLarge`] when the row would have more than 1 MiB.
    pub fn insert(&self, client: &TableClient, kind: EventualType) -> Result<Operation> {
        let body = self.row(client, kind)?.body()?;
        Ok(Operation { row_key: self.row_key.clone(), action: Action::Insert(body) })
    }

    /// Its row.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn row(&self, client: &TableClient, kind: EventualType) -> Result<DynamicEntity> {
        let mut row = DynamicEntity::new(&self.partition_key, &self.row_key)
            .with(ENTITY, kind.entity.to_owned());
        for (index, part) in split(&self.json()).enumerate() {
            row.properties.insert(property(index), Edm::String(part.to_owned()));
        }
        self.check_size(&row, client)?;
        Ok(row)
    }

    /// The UTF-16 units of its text.
    pub fn units(&self) -> usize {
        order::len(&self.json())
    }

    /// The units that its text can have: those of a row of 1 MiB.
    pub fn units_room(&self, kind: EventualType) -> usize {
        // A property that ends before a surrogate pair has one unit less.
        const PARTS: usize = MAX_ENTITY_BYTES.div_ceil(2 * (MAX_STRING_UNITS - 1));
        let frames: usize = (0..PARTS).map(|index| property_size(&property(index), 4)).sum();
        let entity = property_size(ENTITY, 2 * order::len(kind.entity) + 4);
        let keys = order::len(&self.partition_key) + order::len(&self.row_key);
        MAX_ENTITY_BYTES.saturating_sub(entity_size(keys, entity + frames)) / 2
    }

    fn check_size(&self, row: &DynamicEntity, client: &TableClient) -> Result<()> {
        let text = |value: &Edm| if let Edm::String(text) = value { order::len(text) } else { 0 };
        let sizes = row.properties.iter();
        let properties = sizes.map(|(name, value)| property_size(name, 2 * text(value) + 4)).sum();
        let keys = order::len(&self.partition_key) + order::len(&self.row_key);
        let bytes = entity_size(keys, properties);
        if bytes <= MAX_ENTITY_BYTES {
            return Ok(());
        }
        let rows: usize = self.due.iter().map(DueEntry::len).sum();
        let message = format!(
            "the write changes {rows} rows in other partitions, and the intent that lists their keys \
             would have {bytes} bytes of at most {MAX_ENTITY_BYTES}; write fewer entities in one \
             transaction"
        );
        let cause = StoreError::new(ErrorCode::ENTITY_TOO_LARGE, message);
        Err(client.rejected(&self.partition_key, &self.row_key, None, cause))
    }

    /// `[[canonical RowKey,[[row name, table, PartitionKey, RowKey],..]],..]`; a value is
    /// `["unique", name, value]`.
    fn json(&self) -> String {
        let key = |(row, key): &(String, EventualKey)| {
            let EventualKey { table, partition_key, row_key } = key;
            serde_json::json!([row, table.as_str(), partition_key, row_key])
        };
        let entry = |entry: &DueEntry| {
            let values = entry.values.iter();
            let values = values.map(|value| serde_json::json!([UNIQUE, value.name, value.value]));
            let keys: Vec<_> = entry.keys.iter().map(key).chain(values).collect();
            serde_json::json!([entry.canonical, keys])
        };
        serde_json::Value::Array(self.due.iter().map(entry).collect()).to_string()
    }
}

/// The name of the property with that part of the keys.
pub(super) fn property(index: usize) -> String {
    if index == 0 { DUE.to_owned() } else { format!("{DUE}{index}") }
}

/// Parts of a text that one property each can hold.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut units = 0;
        let fits = |(_, c): &(usize, char)| {
            units += c.len_utf16();
            units > MAX_STRING_UNITS
        };
        let end = rest.char_indices().find(fits).map_or(rest.len(), |(end, _)| end);
        let (part, after) = rest.split_at(end);
        rest = after;
        (!part.is_empty()).then_some(part)
    })
}
