//! An entity on its way from one partition to another.
//!
//! Invariants:
//! - A parcel holds the complete entity: its new rows follow from it alone.
//! - It has a name of its own, which is random, and is not sent again once it may have arrived.

use super::canonical::canonical_key;
use super::migrates::Migrates;
use super::old_place::OldEntity;
use crate::codec::{members_by_name, write_object};
use crate::entity::{DynamicEntity, EntityRow, EntityRows, canonical, read_row};
use crate::error::{Error, LargeValueError, MigrationError, Result};
use crate::eventual::new_row_name;
use crate::model::{MOVED_ETAG, MOVED_FROM, Metadata, PARCEL_START, ROW_KEY, TableName};
use crate::plan::{Attempts, CanonicalKey, RetryLimits, TableClient};
use crate::query::{KeyRange, RowQuery, Span};
use crate::store::{Action, Batch, IfMatch, Operation};
use bytes::Bytes;
use std::borrow::Cow;
use std::iter;

/// How many names are tried.
const NAMES: usize = 4;

/// A parcel as it is stored.
#[derive(Debug, Clone)]
pub(super) struct Parcel<E> {
    /// Its own key.
    pub place: CanonicalKey,
    /// Its row as it is stored.
    pub stored: Bytes,
    pub entity: E,
    /// The rows that it will have.
    pub rows: EntityRows,
    /// The old canonical key of the entity.
    pub old_key: CanonicalKey,
    /// The version of the old row from which it was made.
    pub made_from: String,
}

/// Type, table, PartitionKey and RowKey of the old row, and the new RowKey.
type From = (String, String, String, String, String);

/// The RowKeys of all parcels of a partition.
pub(super) fn parcels(client: &TableClient, partition: Span) -> RowQuery {
    let query = client.query(KeyRange { partition, row: Span::prefix(PARCEL_START) });
    RowQuery { metadata: Metadata::Minimal, ..query }
}

/// Inserts a new parcel of an entity that will have these rows, with the touches of its large values. Returns its RowKey. A parcel whose insert has no
/// answer may be there: after a pause, the next one has another name.
pub(super) async fn send<E: Migrates>(
    client: &TableClient,
    old: &OldEntity<E>,
    rows: &EntityRows,
    old_table: &str,
    touches: Vec<Operation>,
) -> Result<String> {
    let mut limits = RetryLimits::default();
    limits.set_attempts(NAMES);
    let mut attempts = Attempts::begin(&client.connection, limits);
    loop {
        let operation = insert(client, old, rows, old_table)?;
        let row_key = operation.row_key.clone();
        let operations = iter::once(operation).chain(touches.iter().cloned()).collect();
        let batch = Batch { partition_key: rows.partition_key.clone(), operations };
        match client.send(batch).await {
            Ok(_) => return Ok(row_key),
            Err(error) if error.is_unanswered() && attempts.next().await => {}
            Err(error) => return Err(without_value(error, &touches)),
        }
    }
}

/// The error of a parcel one of whose large values was removed.
fn without_value(error: Error, touches: &[Operation]) -> Error {
    let Error::NotFound(rejection) = &error else { return error };
    let touched = rejection.operation.and_then(|(index, _)| touches.get(index.checked_sub(1)?));
    let Some(Operation { row_key, .. }) = touched else { return error };
    let (partition_key, row_key) = (rejection.partition_key.clone(), row_key.clone());
    LargeValueError::Gone { partition_key, row_key }.into()
}

/// The insert of a parcel, under a fresh name.
pub(super) fn insert<E: Migrates>(
    client: &TableClient,
    old: &OldEntity<E>,
    rows: &EntityRows,
    old_table: &str,
) -> Result<Operation> {
    let row_key = new_row_name(PARCEL_START, &client.connection);
    let action = Action::Insert(body(old, rows, &row_key, old_table)?);
    Ok(Operation { row_key, action })
}

/// Fails where the service could not store the parcel of an entity.
pub(super) fn check<E: Migrates>(
    old: &OldEntity<E>,
    rows: &EntityRows,
    old_table: &str,
) -> Result<()> {
    // As long as a name, which has a ULID.
    let row_key = format!("{PARCEL_START}{:026}", 0);
    body(old, rows, &row_key, old_table).map(|_| ())
}

/// Deletes a parcel that can never be landed.
pub(super) async fn drop(client: &TableClient, place: &CanonicalKey) -> Result<()> {
    match client.send(deletion(place)).await {
        Ok(_) | Err(Error::NotFound(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// The delete of a parcel. No other row ever has its name.
pub(super) fn deletion(place: &CanonicalKey) -> Batch {
    let action = Action::Delete(IfMatch::Any);
    let operations = vec![Operation { row_key: place.row_key.clone(), action }];
    Batch { partition_key: place.partition_key.clone(), operations }
}

/// The JSON object of a parcel: the canonical row under another RowKey, with where it comes from. It fails where the
/// service could not store that.
fn body<E: Migrates>(
    old: &OldEntity<E>,
    rows: &EntityRows,
    row_key: &str,
    old_table: &str,
) -> Result<Bytes> {
    let CanonicalKey { partition_key, row_key: old_row_key } = &old.key;
    let new = canonical_key(rows);
    let from = serde_json::json!([E::NAME, old_table, partition_key, old_row_key, new.row_key]);
    let text = |text: &str| serde_json::Value::from(text).to_string();
    let (row_key_text, from) = (text(row_key), text(&from.to_string()));
    let etag = text(old.etag.as_str());
    let row = rows.canonical().map(|row| &*row.body).unwrap_or_default();
    let mut members = members_by_name(row).map_err(|_| unknown::<E>(&new, row))?;
    members.insert(Cow::Borrowed(ROW_KEY), &row_key_text);
    members.insert(Cow::Borrowed(MOVED_FROM), &from);
    members.insert(Cow::Borrowed(MOVED_ETAG), &etag);
    let parcel = write_object(&members);
    read_row::<DynamicEntity>(0, &parcel)?.body()?;
    Ok(parcel.into())
}

impl<E: Migrates> Parcel<E> {
    /// Reads a parcel: one request. `None` when there is none of that name.
    pub async fn get(
        client: &TableClient,
        place: CanonicalKey,
        old_table: &TableName,
    ) -> Result<Option<Self>> {
        let Some(row) = client.annotated_row(&place.partition_key, &place.row_key).await? else {
            return Ok(None);
        };
        Self::read(place, row.body, old_table)
    }

    /// Reads a parcel from its row; `None` for one of another type or table.
    pub fn read(place: CanonicalKey, stored: Bytes, old_table: &TableName) -> Result<Option<Self>> {
        let unreadable = || unknown::<E>(&place, &stored);
        let mut members = members_by_name(&stored).map_err(|_| unreadable())?;
        let mut text =
            |name: &str| -> Option<String> { serde_json::from_str(members.remove(name)?).ok() };
        let (Some(from), Some(made_from)) = (text(MOVED_FROM), text(MOVED_ETAG)) else {
            return Err(unreadable());
        };
        let (kind, table, partition_key, row_key, new): From =
            serde_json::from_str(&from).map_err(|_| unreadable())?;
        if kind != E::NAME || !table.eq_ignore_ascii_case(old_table.as_str()) {
            return Ok(None);
        }
        let row_key_text = serde_json::Value::from(new).to_string();
        members.insert(Cow::Borrowed(ROW_KEY), &row_key_text);
        let entity = read_row::<E>(canonical::<E>(), &write_object(&members))?;
        let rows = EntityRows::of(&entity)?;
        let old_key = CanonicalKey { partition_key, row_key };
        Ok(Some(Self { place, stored, entity, rows, old_key, made_from }))
    }

    /// The transaction that inserts the new rows and consumes the parcel. Another entity may have one of these rows, so none
    /// is replaced.
    pub fn landing(place: &CanonicalKey, rows: &EntityRows) -> Batch {
        let mut landing = deletion(place);
        let insert = |row: &EntityRow| Operation {
            row_key: row.row_key.clone(),
            action: Action::Insert(row.body.clone()),
        };
        landing.operations.extend(rows.rows.iter().map(insert));
        landing
    }

    /// Its new canonical key.
    pub fn new_key(&self) -> CanonicalKey {
        canonical_key(&self.rows)
    }
}

fn unknown<E: Migrates>(place: &CanonicalKey, json: &[u8]) -> Error {
    let CanonicalKey { partition_key, row_key } = place.clone();
    let content = String::from_utf8_lossy(json).into_owned();
    MigrationError::UnknownMove { entity: E::NAME, partition_key, row_key, content }.into()
}
