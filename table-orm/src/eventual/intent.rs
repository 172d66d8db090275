//! The row that says which rows in other partitions may differ from what their entity says, and which values
//! that are unique over all partitions it has given up. The ticket of a reservation has the same form, with
//! the values that the entity is to have.
//!
//! Invariants:
//! - Each intent has a name of its own: it is random, and used by one transaction only.
//! - An intent is deleted in the version that was settled.

use super::eventual_rows::{EventualKey, EventualRows};
use super::eventual_type::EventualType;
use super::sum_copies::key_of_copy;
use super::tickets_first::Prepared;
use super::unique_value::UniqueValue;
use crate::entity::{DynamicEntity, Total};
use crate::error::{COPY_OF_TOTAL, Result, SettleError};
use crate::key::KeyError;
use crate::model::{
    DateTime, ETag, Edm, MAX_ENTITY_BYTES, MAX_STRING_UNITS, TableName, entity_size, order,
    property_size,
};
use crate::plan::{Connection, Cover, TableClient};
use crate::store::{Action, ErrorCode, Operation, StoreError};
use crate::sync::Random;
use std::sync::Arc;
use time::OffsetDateTime;

/// What the RowKey of every intent begins with.
pub(crate) const START: &str = "DUE:";
/// The property with the type's name.
const ENTITY: &str = "Entity";
/// The first property with the keys.
const DUE: &str = "Due";
/// What comes before a value in place of the name of a row.
const UNIQUE: &str = "unique";

/// The keys of one entity that may be out of step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DueEntry {
    /// The RowKey of the canonical row.
    pub canonical: String,
    /// The `eventual` rows: the name of the template, and the key.
    pub keys: Vec<(String, EventualKey)>,
    /// The values that it may not have any more.
    pub values: Vec<UniqueValue>,
}

impl DueEntry {
    /// The keys that a write of the entity makes due; `None` where no row in another partition changes.
    pub fn of(canonical: &str, old: &EventualRows, new: &EventualRows) -> Option<Self> {
        let keys: Vec<_> = old.due(new).map(|(row, key)| (row.to_owned(), key.clone())).collect();
        let canonical = canonical.to_owned();
        (!keys.is_empty()).then_some(Self { canonical, keys, values: Vec::new() })
    }

    /// The copy of one of the rows of a total in the partition `home`.
    pub fn of_copy(
        table: &TableName,
        home: &str,
        total: &Total,
        shard: u8,
    ) -> Result<Self, KeyError> {
        let keys = vec![(COPY_OF_TOTAL.to_owned(), key_of_copy(table, home, total, shard)?)];
        Ok(Self { canonical: total.row_key(shard)?, keys, values: Vec::new() })
    }

    /// How many keys and values it has.
    pub fn len(&self) -> usize {
        self.keys.len() + self.values.len()
    }

    /// The first values of some entries, that many.
    pub fn first_values(entries: &[Self], mut count: usize) -> Vec<Self> {
        let first = |entry: &Self| {
            let values: Vec<_> = entry.values.iter().take(count).cloned().collect();
            count -= values.len();
            Self::of_values(&entry.canonical, values)
        };
        entries.iter().filter_map(first).collect()
    }

    /// Values alone; `None` where there are none.
    pub fn of_values(canonical: &str, values: Vec<UniqueValue>) -> Option<Self> {
        let canonical = canonical.to_owned();
        (!values.is_empty()).then_some(Self { canonical, keys: Vec::new(), values })
    }
}

/// An intent to be inserted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Intent {
    pub partition_key: String,
    pub row_key: String,
    pub due: Vec<DueEntry>,
}

/// An intent as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pending {
    pub intent: Intent,
    pub etag: ETag,
    /// When the store wrote it, if that was read.
    pub written: Option<DateTime>,
    /// What names its partition in a register, if this process wrote it and has one.
    pub cover: Option<Arc<Cover>>,
    /// The tickets that were made before it was written.
    pub prepared: Option<Box<Prepared>>,
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
        let row_key = name(start, connection);
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

impl Pending {
    /// It is settled: nothing of it is left.
    pub fn end(&self) {
        self.cover.iter().for_each(|cover| cover.end());
    }

    /// Reads an intent that is stored in the table `home`. `None` for the intent of another type.
    ///
    /// # Errors
    /// [`SettleError::Unknown`] when it names what this version does not know.
    pub fn read(
        row: DynamicEntity,
        home: &TableName,
        kind: EventualType,
    ) -> Result<Option<Self>, SettleError> {
        let text = |name: &str| match row.properties.get(name) {
            Some(Edm::String(text)) => Some(text.as_str()),
            _ => None,
        };
        if text(ENTITY) != Some(kind.entity) {
            return Ok(None);
        }
        let json: String = (0..).map_while(|index| text(&property(index))).collect();
        let due = parse(&json, home, kind).map_err(|unknown| SettleError::Unknown {
            partition_key: row.partition_key.clone(),
            row_key: row.row_key.clone(),
            unknown,
        })?;
        let DynamicEntity { partition_key, row_key, timestamp: written, etag, .. } = row;
        // Every store returns the version of a row.
        let Some(etag) = etag else { return Ok(None) };
        Ok(Some(Self {
            intent: Intent { partition_key, row_key, due },
            etag,
            written,
            cover: None,
            prepared: None,
        }))
    }
}

/// Reads the keys of an intent. Fails with what is not known.
///
/// A row in another table than this version writes is not known: in a copy of a table, the intents name rows
/// of the original. Nor is a canonical row that is not of this type: another type of the same name wrote it,
/// and what this type would read there says nothing of its rows.
fn parse(json: &str, home: &TableName, kind: EventualType) -> Result<Vec<DueEntry>, String> {
    type Stored = Vec<(String, Vec<Vec<String>>)>;
    let stored: Stored =
        serde_json::from_str(json).map_err(|_| "keys of another form".to_owned())?;
    let key = |key: Vec<String>| {
        let [row, table, partition_key, row_key] = <[String; 4]>::try_from(key)
            .map_err(|other| format!("{:?}", other.first().map_or("", |what| what)))?;
        let table = (kind.table)(home, &row, &table).ok_or_else(|| {
            format!("the row {row:?} of `{}` in the table `{table}`", kind.entity)
        })?;
        Ok::<_, String>((row, EventualKey { table, partition_key, row_key }))
    };
    let value = |value: Vec<String>| {
        let [_, name, value] =
            <[String; 3]>::try_from(value).map_err(|_| "a value of another form".to_owned())?;
        if kind.guard(&name).is_none() {
            return Err(format!("`unique({name}, across)` of `{}`", kind.entity));
        }
        Ok(UniqueValue { name, value })
    };
    let entry = |(canonical, keys): (String, Vec<Vec<String>>)| {
        if !(kind.is_canonical)(&canonical) {
            return Err(format!("the canonical row {canonical:?} of a type `{}`", kind.entity));
        }
        let is_value = |key: &Vec<String>| key.len() == 3 && key[0] == UNIQUE;
        let (values, keys): (Vec<_>, Vec<_>) = keys.into_iter().partition(is_value);
        let values = values.into_iter().map(value).collect::<Result<_, _>>()?;
        let keys = keys.into_iter().map(key).collect::<Result<_, _>>()?;
        Ok(DueEntry { canonical, keys, values })
    };
    stored.into_iter().map(entry).collect()
}

/// The name of the property with that part of the keys.
fn property(index: usize) -> String {
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

/// A new RowKey that begins so.
pub(crate) fn name(start: &str, connection: &Connection) -> String {
    format!("{start}{}", ulid(connection.clock.now(), &connection.random))
}

/// 26 characters: 48 bits of the time in milliseconds, then 80 random bits, in base 32.
fn ulid(now: DateTime, random: &Random) -> String {
    const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let nanoseconds = OffsetDateTime::from(now).unix_timestamp_nanos();
    let time = (nanoseconds.max(0).unsigned_abs() / 1_000_000) & ((1 << 48) - 1);
    let random = (u128::from(random.next()) << 64 | u128::from(random.next())) & ((1 << 80) - 1);
    let value = time << 80 | random;
    (0..26).rev().map(|digit| char::from(DIGITS[(value >> (5 * digit)) as usize & 31])).collect()
}
