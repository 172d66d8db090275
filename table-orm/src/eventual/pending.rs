//! An intent that is stored, until it is settled.
//!
//! Invariant: an intent is deleted in the version that was settled.

use super::due_entry::DueEntry;
use super::eventual_rows::EventualKey;
use super::eventual_type::EventualType;
use super::intent::{ENTITY, Intent, UNIQUE, property};
use super::tickets_first::Prepared;
use super::unique_value::UniqueValue;
use crate::entity::DynamicEntity;
use crate::error::SettleError;
use crate::model::{DateTime, ETag, Edm, TableName};
use crate::plan::Cover;
use std::sync::Arc;

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

impl Pending {
    /// It is settled: nothing of it is left.
    pub fn end(&self) {
        self.cover.iter().for_each(|cover| cover.end());
    }

    /// The type's name that an intent has, and the RowKey of the first canonical row that it names.
    pub fn subject(row: &DynamicEntity) -> Option<(&str, String)> {
        let (Some(Edm::String(entity)), Some(_)) =
            (row.properties.get(ENTITY), row.properties.get(&property(0)))
        else {
            return None;
        };
        let json = text_of(row);
        let due: Stored = serde_json::from_str(&json).ok()?;
        Some((entity, due.into_iter().next()?.0))
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
        let is_name =
            |name| Some(kind.entity) == name || kind.former.is_some() && kind.former == name;
        if !is_name(text(ENTITY)) {
            return Ok(None);
        }
        let due = parse(&text_of(&row), home, kind).map_err(|unknown| SettleError::Unknown {
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

/// Each canonical RowKey, with what is due of its entity.
type Stored = Vec<(String, Vec<Vec<String>>)>;

/// The text of an intent, which may be in several properties.
fn text_of(row: &DynamicEntity) -> String {
    let text = |index| match row.properties.get(&property(index)) {
        Some(Edm::String(text)) => Some(text.as_str()),
        _ => None,
    };
    (0..).map_while(text).collect()
}

/// Reads the keys of an intent. Fails with what is not known.
///
/// A row in another table than this version writes is not known: in a copy of a table, the intents name rows
/// of the original. Nor is a canonical row that is not of this type: another type of the same name wrote it,
/// and what this type would read there says nothing of its rows.
fn parse(json: &str, home: &TableName, kind: EventualType) -> Result<Vec<DueEntry>, String> {
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
