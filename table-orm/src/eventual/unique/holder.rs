//! The entity that a guard names, wherever it is now.
//!
//! An entity whose key changed ([`migrate`](crate::migrate)) left a marker under its old key, which its guards go on naming.
//!
//! Invariant: an entity that left is read where its marker says: in its parcel, and then under its new key. No entity comes
//! back to its old key, and no parcel that is gone comes back. So what this returns was true when the last row was read.

use super::guard::{Guard, Guards, Home};
use crate::codec::{members_by_name, write_object};
use crate::entity::{Marked, Marker};
use crate::error::{Error, Result};
use crate::eventual::unique_value::UniqueValue;
use crate::model::{MOVED_ETAG, MOVED_FROM, ROW_KEY, TableName};
use crate::plan::{CanonicalKey, OtherForm, TableClient};
use crate::query::RowQuery;
use crate::store::StoredRow;
use futures_core::future::BoxFuture;
use std::borrow::Cow;

/// An entity that has a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Holder {
    /// Its canonical row.
    pub home: Home,
    /// Whether it is still in its parcel, on the way there.
    pub is_moving: bool,
    /// Where it is not known whether it has the value: the marker of an entity that left for a form which this client does
    /// not know.
    pub unknown: Option<String>,
}

impl Holder {
    const fn unknown(home: Home, marker: String) -> Self {
        Self { home, is_moving: false, unknown: Some(marker) }
    }
}

/// What is stored under the key that a guard names.
enum Stored {
    Nothing,
    Moved(Marker),
    /// A row, which may be of another type.
    Row(StoredRow),
    /// A marker that does not say where the entity is, and its text as far as it can be read.
    Unknown(String),
}

impl Guards {
    /// Reads the entity that a guard names. Returns it if it has the value. What this client cannot read counts as an entity
    /// that has it: a row of another type, which may share the guard, and one that left for a form that is not known.
    pub fn holder<'f>(
        &'f self,
        named: &'f Home,
        value: &'f UniqueValue,
    ) -> BoxFuture<'f, Result<Option<Holder>>> {
        Box::pin(async move {
            let (home, row, is_moving, marker) = match self.stored(named).await? {
                Stored::Nothing => return Ok(None),
                Stored::Unknown(text) => return Ok(Some(Holder::unknown(named.clone(), text))),
                Stored::Row(row) => (named.clone(), row, false, None),
                Stored::Moved(marker) => {
                    let text = marker.text();
                    let Some((home, parcel)) = target(marker) else { return Ok(None) };
                    if !self.knows(&home.table) {
                        return Ok(Some(Holder::unknown(home, text)));
                    }
                    let parcel = match parcel {
                        Some(row_key) => self.parcel(&home, row_key).await?,
                        None => None,
                    };
                    match parcel {
                        Some(row) => (home, row, true, Some(text)),
                        None => match self.read(&home, &home.key).await? {
                            Some(row) => (home, row, false, Some(text)),
                            None => return Ok(None),
                        },
                    }
                }
            };
            let has_value = match self.other_form_at(&home) {
                Some(form) => {
                    let key = value.partition_key();
                    (form.guard_keys)(row)?.map(|keys| keys.contains(&key))
                }
                None => (self.kind.values)(row)?.map(|values| values.contains(value)),
            };
            Ok(match has_value {
                Some(has_value) => has_value.then_some(Holder { home, is_moving, unknown: None }),
                None => Some(Holder { home, is_moving, unknown: marker }),
            })
        })
    }

    /// Reads whether an entity has the value.
    pub async fn has(&self, entity: &Home, value: &UniqueValue) -> Result<bool> {
        Ok(self.holder(entity, value).await?.is_some())
    }

    /// Whether a guard is of that entity: it names its key, or one that it left.
    pub async fn is_of(&self, guard: &Guard, entity: &Home) -> Result<bool> {
        Ok(guard.names(entity) || self.left(&guard.home).await?.is_some_and(|home| home.is(entity)))
    }

    /// Whether a guard may be of that entity: it names its key, or one that it left. The marker there may be gone.
    pub(super) async fn may_be_of(&self, guard: &Guard, entity: &Home) -> Result<bool> {
        if guard.names(entity) {
            return Ok(true);
        }
        Ok(match self.stored(&guard.home).await? {
            Stored::Nothing => true,
            Stored::Moved(marker) => target(marker).is_some_and(|(home, _)| home.is(entity)),
            Stored::Row(_) | Stored::Unknown(_) => false,
        })
    }

    /// The key to which an entity left that one; `None` where none left it.
    pub fn left<'f>(&'f self, home: &'f Home) -> BoxFuture<'f, Result<Option<Home>>> {
        Box::pin(async move {
            Ok(match self.stored(home).await? {
                Stored::Moved(marker) => target(marker).map(|(home, _)| home),
                Stored::Nothing | Stored::Row(_) | Stored::Unknown(_) => None,
            })
        })
    }

    async fn stored(&self, home: &Home) -> Result<Stored> {
        let Some(row) = self.read(home, &home.key).await? else { return Ok(Stored::Nothing) };
        Ok(match Marker::of_row(&row.body) {
            Marked::No => Stored::Row(row),
            Marked::Unknown => Stored::Unknown(String::new()),
            Marked::To(marker) => {
                // Of an entity that was moved by a client that did not know of the type's values.
                let lacks_row_key = marker.parcel.is_some() && marker.row_key.is_none();
                if lacks_row_key || TableName::new(&marker.table).is_err() {
                    Stored::Unknown(marker.text())
                } else {
                    Stored::Moved(marker)
                }
            }
        })
    }

    /// The parcel of an entity, as the canonical row that it will have.
    async fn parcel(&self, home: &Home, row_key: String) -> Result<Option<StoredRow>> {
        let place = CanonicalKey { row_key, ..home.key.clone() };
        let Some(row) = self.read(home, &place).await? else { return Ok(None) };
        let row_key = serde_json::Value::from(home.key.row_key.as_str()).to_string();
        // One that cannot be read fails as the row of an entity does.
        let Ok(mut members) = members_by_name(&row.body) else { return Ok(Some(row)) };
        members.remove(MOVED_FROM);
        members.remove(MOVED_ETAG);
        members.insert(Cow::Borrowed(ROW_KEY), &row_key);
        let body = write_object(&members).into();
        Ok(Some(StoredRow { body, ..row }))
    }

    /// Reads a row as one of the form to which that home belongs.
    async fn read(&self, home: &Home, key: &CanonicalKey) -> Result<Option<StoredRow>> {
        let client = self.home.in_table(&home.table);
        let metadata = self.other_form_at(home).map_or(self.kind.metadata, |form| form.metadata);
        match client.row(&RowQuery { metadata, ..client.point(key) }).await {
            // The table that entities left may be deleted before the last guard that names one of its keys.
            Err(Error::TableNotFound(_)) if !self.home.table.is(&home.table) => Ok(None),
            row => row,
        }
    }

    /// The client of a home's entities.
    pub(super) fn client_at(&self, home: &Home) -> TableClient {
        match self.other_form_at(home) {
            Some(form) => form.client.clone(),
            // Another table of the type: its entities expire, too.
            None => TableClient { table: home.table.clone(), ..self.home.clone() },
        }
    }

    /// Whether an entity with that home is in the form that its clients do not have.
    pub fn is_in_other_form(&self, home: &Home) -> bool {
        self.other_form_at(home).is_some()
    }

    fn other_form_at(&self, home: &Home) -> Option<&OtherForm> {
        let form = self.home.other_form.as_deref()?;
        let is_there = home.table.is(&form.client.table)
            && (!self.home.table.is(&home.table) || (form.takes)(&home.key));
        is_there.then_some(form)
    }

    /// Whether entities of that table are of this type, or of its other form.
    fn knows(&self, table: &TableName) -> bool {
        let form = self.home.other_form.as_deref();
        self.home.table.is(table) || form.is_some_and(|form| form.client.table.is(table))
    }
}

/// Where the entity is that left a marker, and the RowKey of its parcel. `None` for the marker of an insert: no entity was
/// there.
fn target(marker: Marker) -> Option<(Home, Option<String>)> {
    let Marker { table, partition_key, parcel, row_key } = marker;
    let key = CanonicalKey { partition_key, row_key: row_key? };
    Some((Home { table: TableName::new(&table).ok()?, key }, parcel))
}
