//! A row of any shape.

use crate::codec::Members;
use crate::entity::{ReadRow, body};
use crate::model::{DateTime, ETag, Edm, Metadata};
use crate::property::{Properties, PropertiesWriter, PropertyError, RowFault};
use bytes::Bytes;
use std::collections::BTreeMap;

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

    /// The same row with another property.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Edm>) -> Self {
        self.properties.insert(name.into(), value.into());
        self
    }

    /// The row's JSON object.
    pub(crate) fn body(&self) -> Result<Bytes, PropertyError> {
        let mut out = PropertiesWriter::new(Self::NAME);
        out.flatten("", &self.properties)?;
        body(&self.partition_key, &self.row_key, &out)
    }
}

impl ReadRow for DynamicEntity {
    const NAME: &'static str = "DynamicEntity";
    const METADATA: Metadata = Metadata::Minimal;

    fn read_row(_row: usize, mut members: Members<'_, '_>) -> Result<Self, RowFault> {
        type Open = BTreeMap<String, Edm>;
        let mut slots = <Open as Properties>::Slots::default();
        while let Some(name) = members.next_name()? {
            if !slots.read(&name, &mut members)? {
                members.other(&name)?;
            }
        }
        let timestamp = members.timestamp();
        Ok(Self {
            properties: Open::finish(slots, "")?,
            partition_key: members.partition_key().into_owned(),
            row_key: members.row_key().into_owned(),
            etag: timestamp.is_some().then(|| members.etag()),
            timestamp,
        })
    }
}
