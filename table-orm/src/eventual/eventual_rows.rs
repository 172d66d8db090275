//! Rows in other partitions, by their keys.

use crate::entity::{
    EventualRow, EventualTemplate, InvalidEntity, TableEntity, eventual_at, eventual_rows_from,
};
use crate::model::TableName;
use bytes::Bytes;
use std::collections::BTreeMap;

/// The key of a row in another partition or table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EventualKey {
    pub table: TableName,
    pub partition_key: String,
    pub row_key: String,
}

/// A row in another partition or table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EventualContent {
    /// The name of its template.
    pub row: &'static str,
    /// Its JSON object.
    pub body: Bytes,
}

/// The rows that one canonical row calls for: no rows where there is no canonical row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct EventualRows(pub BTreeMap<EventualKey, EventualContent>);

impl EventualRows {
    /// The `eventual` rows of an entity in the table `home`.
    pub fn of<E: TableEntity>(home: &TableName, entity: &E) -> Result<Self, InvalidEntity> {
        let rows = eventual_rows_from(home, entity)?;
        Ok(Self::by_key(home, rows, eventual_at::<E>))
    }

    /// Those rows, whose templates have these numbers.
    fn by_key(
        home: &TableName,
        rows: Vec<EventualRow>,
        template_at: fn(usize) -> Option<&'static EventualTemplate>,
    ) -> Self {
        let row = |row: EventualRow| {
            let EventualRow { index, partition_key, row_key, body, .. } = row;
            let template = template_at(index)?;
            let key = EventualKey { table: template.table_of(home), partition_key, row_key };
            Some((key, EventualContent { row: template.row.name, body }))
        };
        Self(rows.into_iter().filter_map(row).collect())
    }

    /// The body of the row with that key.
    pub fn body(&self, key: &EventualKey) -> Option<&Bytes> {
        self.0.get(key).map(|content| &content.body)
    }

    /// The keys that a change to `new` makes due: those of rows that come, go or get another content, each
    /// with the name of its template.
    pub fn due<'r>(
        &'r self,
        new: &'r Self,
    ) -> impl Iterator<Item = (&'static str, &'r EventualKey)> {
        let changed = |(key, content): &(&'r EventualKey, &'r EventualContent)| {
            self.body(key) != Some(&content.body)
        };
        let gone = self.0.iter().filter(|(key, _)| !new.0.contains_key(key));
        new.0.iter().filter(changed).chain(gone).map(|(key, content)| (content.row, key))
    }
}
