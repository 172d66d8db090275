//! What settling needs to know of an entity type.

use super::eventual_rows::EventualRows;
use super::sum_copies::copy_of;
use super::unique_value::{UniqueValue, unique_values};
use crate::entity::{GuardTemplate, Loaded, TableEntity, is_canonical_or_total};
use crate::error::{COPY_OF_TOTAL, Result};
use crate::model::{Metadata, TableName};
use crate::store::StoredRow;

/// An entity type with rows in other partitions, or with values that are unique over all of them. To this, the
/// row of a total that has a copy is a canonical row, too: the copy follows it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventualType {
    /// Its name.
    pub entity: &'static str,
    /// Another name that its intents may have: the type was renamed.
    pub former: Option<&'static str>,
    /// The annotations that its canonical rows are read with.
    pub metadata: Metadata,
    /// Whether a RowKey can be that of one of its canonical rows.
    pub is_canonical: fn(&str) -> bool,
    /// The table of its `eventual` rows of that name, of entities in the given table, as this version spells it;
    /// `None` where the rows are unknown, or in another table than an intent says.
    pub table: fn(&TableName, &str, &str) -> Option<TableName>,
    /// The `eventual` rows that a canonical row in that table calls for: no rows for a row of another type.
    pub rows: fn(&TableName, StoredRow) -> Result<EventualRows>,
    /// Its guard rows.
    pub guards: &'static [GuardTemplate],
    /// The values of a canonical row that are unique over all partitions: `None` for a row of another type.
    pub values: fn(StoredRow) -> Result<Option<Vec<UniqueValue>>>,
}

impl EventualType {
    /// What settling needs to know of `E`.
    pub const fn of<E: TableEntity>() -> Self {
        Self {
            entity: E::NAME,
            former: None,
            metadata: E::METADATA,
            is_canonical: is_canonical_or_total::<E>,
            table: |home, name, said| {
                let table = if name == COPY_OF_TOTAL {
                    Some(home.clone())
                } else {
                    let template = E::EVENTUAL.iter().find(|template| template.row.name == name);
                    template.map(|template| template.table_of(home))
                };
                // The names of tables have no case.
                table.filter(|table| table.as_str().eq_ignore_ascii_case(said))
            },
            rows: |home, row| {
                if let Some(copy) = copy_of::<E>(home, &row.body)? {
                    return Ok(copy);
                }
                match Loaded::<E>::read(row.body, row.header)? {
                    Some(entity) => Ok(EventualRows::of::<E>(home, &entity)?),
                    None => Ok(EventualRows::default()),
                }
            },
            guards: E::GUARDS,
            values: |row| match Loaded::<E>::read(row.body, row.header)? {
                Some(entity) => Ok(Some(unique_values::<E>(&entity)?)),
                None => Ok(None),
            },
        }
    }

    /// The guard of a `unique(.., across)` of that name.
    pub fn guard(&self, name: &str) -> Option<&'static GuardTemplate> {
        self.guards.iter().find(|guard| guard.across && guard.name == name)
    }

    /// The value of a guard, by its name and its PartitionKey.
    pub fn value(&self, name: &str, key: &str) -> UniqueValue {
        match self.guard(name) {
            Some(guard) => UniqueValue::of_key(guard, key),
            None => UniqueValue { name: name.to_owned(), value: key.to_owned() },
        }
    }

    /// Whether it has values that are unique over all partitions.
    pub fn has_values(&self) -> bool {
        self.guards.iter().any(|guard| guard.across)
    }
}
