//! A row of any shape.

use crate::codec::{Members, UNTYPED};
use crate::entity::{ReadRow, body, read_row};
use crate::model::{DateTime, ETag, Edm, Metadata, PARTITION_KEY, ROW_KEY, TYPE_ANNOTATION};
use crate::property::{Properties, PropertiesWriter, PropertyError, PropertyFault, RowFault};
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// A row with its properties by name, for tools that do not know a table's entities.
///
/// Types are exact where the store annotates them, which it does for all but text, `Int32` and
/// truth values.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DynamicEntity {
    /// The row's PartitionKey.
    pub partition_key: String,
    /// The row's RowKey.
    pub row_key: String,
    /// When it was last written; set by the store.
    pub timestamp: Option<DateTime>,
    /// Its version; set by the store.
    pub etag: Option<ETag>,
    /// Its properties.
    pub properties: BTreeMap<String, Edm>,
}

impl DynamicEntity {
    /// A row without properties.
    #[must_use]
    pub fn new(partition_key: impl Into<String>, row_key: impl Into<String>) -> Self {
        Self { partition_key: partition_key.into(), row_key: row_key.into(), ..Self::default() }
    }

    /// Returns the same row with another property.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Edm>) -> Self {
        self.properties.insert(name.into(), value.into());
        self
    }

    /// Returns the row as one line of JSON: its keys and properties, in the form of the service. Each
    /// value comes back with its exact type. Timestamp and ETag, which the store sets, are left out.
    ///
    /// ```
    /// use table_orm::DynamicEntity;
    ///
    /// # fn main() -> table_orm::Result<()> {
    /// let row = DynamicEntity::new("Boston", "00007").with("Chip", 7_i64);
    /// let json = row.to_json()?;
    /// assert_eq!(
    ///     json,
    ///     r#"{"PartitionKey":"Boston","RowKey":"00007","Chip":"7","Chip@odata.type":"Edm.Int64"}"#
    /// );
    /// assert_eq!(DynamicEntity::from_json(&json)?, row);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the service could not store the row: [`Error::Property`](crate::Error::Property).
    pub fn to_json(&self) -> Result<String, PropertyError> {
        let body = self.body()?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    /// Reads a row from its JSON, as [`to_json`](Self::to_json) writes it and the service returns it.
    ///
    /// # Errors
    /// When the text is not a JSON object, lacks a key, or has a value that does not fit its type:
    /// [`Error::Property`](crate::Error::Property).
    pub fn from_json(json: &str) -> Result<Self, PropertyError> {
        read_row::<KeyedRow>(0, json.as_bytes()).map(|KeyedRow(row)| row)
    }

    /// The row's JSON object.
    pub(crate) fn body(&self) -> Result<Bytes, PropertyError> {
        let mut out = PropertiesWriter::new(Self::NAME);
        out.flatten("", &self.properties)?;
        body(&self.partition_key, &self.row_key, &out)
    }
}

impl ReadRow for DynamicEntity {
    const NAME: &'static str = UNTYPED;
    const METADATA: Metadata = Metadata::Minimal;

    fn read_row(_row: usize, members: Members<'_, '_>) -> Result<Self, RowFault> {
        read(members, |_| ())
    }

    /// The nodes of the map, and what the allocator adds to the text of a name.
    fn extra_bytes(&self) -> usize {
        let properties = self.properties.len();
        // A node has room for 11 entries. Where there are several, splits leave at least 6 in most.
        let nodes = if properties <= 11 { properties.min(1) } else { properties.div_ceil(6) };
        nodes * 11 * size_of::<(String, Edm)>() + properties * size_of::<String>()
    }
}

/// A row that states both of its keys. A key may be empty, so the value does not show that.
struct KeyedRow(DynamicEntity);

impl ReadRow for KeyedRow {
    const NAME: &'static str = DynamicEntity::NAME;

    fn read_row(_row: usize, members: Members<'_, '_>) -> Result<Self, RowFault> {
        let (mut missing, mut unknown) = (vec![ROW_KEY, PARTITION_KEY], None);
        let (mut names, mut repeated) = (BTreeSet::new(), None);
        let row = read(members, |name| {
            missing.retain(|key| *key != name);
            // Else it would be left to chance which of the two values counts.
            if !names.insert(name.to_owned()) {
                repeated = Some(name.to_owned());
            }
            // Else a misspelt one would change the type of a value.
            let is_unknown = name.contains('@') && !name.ends_with(TYPE_ANNOTATION);
            if is_unknown {
                unknown = Some(name.to_owned());
            }
        })?;
        if let Some(name) = repeated {
            return Err(RowFault::new(&name, PropertyFault::Duplicate));
        }
        match (missing.pop(), unknown) {
            (Some(key), _) => Err(RowFault::new(key, PropertyFault::Missing)),
            (None, Some(name)) => {
                let reason = format!("`{TYPE_ANNOTATION}` is the only annotation of a property");
                Err(RowFault::new(&name, PropertyFault::Unreadable(reason)))
            }
            (None, None) => Ok(Self(row)),
        }
    }
}

/// Reads a row, and calls `each` with the names of its members.
fn read(
    mut members: Members<'_, '_>,
    mut each: impl FnMut(&str),
) -> Result<DynamicEntity, RowFault> {
    type Open = BTreeMap<String, Edm>;
    let mut slots = <Open as Properties>::Slots::default();
    while let Some(name) = members.next_name()? {
        each(&name);
        if slots.read(&name, &mut members)? {
            members.note(&name, slots.value(&name));
        } else {
            members.other(&name)?;
        }
    }
    let timestamp = members.timestamp();
    Ok(DynamicEntity {
        properties: Open::finish(slots, "")?,
        partition_key: members.partition_key().into_owned(),
        row_key: members.row_key().into_owned(),
        etag: timestamp.is_some().then(|| members.etag()),
        timestamp,
    })
}
