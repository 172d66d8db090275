//! A type with rows in other partitions, and a client that writes its entities.
//!
//! The canonical row of an entity has two properties. `Keys` lists its `eventual` rows, such as
//! `copies p1 FULL:a;copies p2 REF:a`: table, PartitionKey, RowKey. `Stamp` is the content: a row that begins
//! with `FULL:` holds it, a row that begins with `REF:` does not, so it stays as it is when only the stamp
//! changes.

use super::observer::Observed;
use crate::entity::{DynamicEntity, read_row};
use crate::error::Result;
use crate::eventual::eventual_rows::EventualContent;
use crate::eventual::settle::Settler;
use crate::eventual::{
    DueEntry, EventualKey, EventualRows, EventualType, Intent, Pending, Prepared,
};
use crate::model::{ETag, Edm, Metadata, TableName};
use crate::plan::{CanonicalKey, Connection, TableClient};
use crate::store::{Action, Batch, IfMatch, Operation, Store, StoredRow};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The partition of all entities.
pub(super) const HOME: &str = "home";
pub(super) const ENTITY: &str = "E:";

/// The type.
#[derive(Debug, Default)]
pub(super) struct Thing;

impl Observed for Thing {
    const TABLES: &'static [&'static str] = &["things", "copies"];
    const KIND: EventualType = KIND;

    fn is_beside(_: &str) -> bool {
        false
    }
}

pub(super) const KIND: EventualType = EventualType {
    entity: "Thing",
    former: None,
    metadata: Metadata::Minimal,
    is_canonical: |row_key| row_key.starts_with(ENTITY),
    table: |_, row, said| TableName::new(said).ok().filter(|_| row == "by_key"),
    rows,
    guards: &[],
    values: |_| Ok(None),
};

pub(super) fn table(name: &str) -> TableName {
    TableName::new(name).unwrap()
}

fn rows(_: &TableName, row: StoredRow) -> Result<EventualRows> {
    let thing: DynamicEntity = read_row(0, &row.body)?;
    let is_own = thing.row_key.starts_with(ENTITY);
    Ok(if is_own { State::of(&thing).rows() } else { EventualRows::default() })
}

/// What a canonical row says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct State {
    pub keys: String,
    pub stamp: String,
}

pub(super) fn text(row: &DynamicEntity, name: &str) -> String {
    match row.properties.get(name) {
        Some(Edm::String(text)) => text.clone(),
        _ => String::new(),
    }
}

impl State {
    pub fn new(keys: &str, stamp: impl Into<String>) -> Self {
        Self { keys: keys.to_owned(), stamp: stamp.into() }
    }

    pub fn of(row: &DynamicEntity) -> Self {
        Self { keys: text(row, "Keys"), stamp: text(row, "Stamp") }
    }

    pub fn row(&self, entity: &str) -> DynamicEntity {
        DynamicEntity::new(HOME, entity)
            .with("Keys", self.keys.clone())
            .with("Stamp", self.stamp.clone())
    }

    /// The rows in other partitions, each with what it shows.
    pub fn shown(&self) -> impl Iterator<Item = (EventualKey, &str)> {
        self.keys.split(';').filter(|key| !key.is_empty()).map(|key| {
            let [name, partition_key, row_key] =
                <[&str; 3]>::try_from(key.split(' ').collect::<Vec<_>>()).unwrap();
            let stamp = if row_key.starts_with("REF:") { "" } else { &*self.stamp };
            let (partition_key, row_key) = (partition_key.to_owned(), row_key.to_owned());
            (EventualKey { table: table(name), partition_key, row_key }, stamp)
        })
    }

    pub fn rows(&self) -> EventualRows {
        let content = |(key, stamp): (EventualKey, &str)| {
            let row = DynamicEntity::new(&key.partition_key, &key.row_key)
                .with("Stamp", stamp.to_owned());
            (key, EventualContent { row: "by_key", body: row.body().unwrap() })
        };
        EventualRows(self.shown().map(content).collect())
    }
}

/// A client of the type's table.
pub(super) fn client(store: Arc<dyn Store>, seed: u64) -> TableClient {
    let connection = Connection::new(store).on_virtual_time(seed);
    TableClient::untyped(Arc::new(connection), table("things"), "Thing")
}

/// Creates the tables.
pub(super) async fn create(store: &dyn Store) {
    for name in Thing::TABLES {
        store.create_table(&table(name)).await.unwrap();
    }
}

/// One entity as it was read.
#[derive(Debug, Clone)]
pub(super) struct Read {
    pub state: State,
    pub etag: ETag,
}

pub(super) async fn read(client: &TableClient, entity: &str) -> Result<Option<Read>> {
    let Some(row) = client.annotated_row(HOME, entity).await? else { return Ok(None) };
    let etag = row.etag()?;
    Ok(Some(Read { state: State::of(&read_row(0, &row.body)?), etag }))
}

/// A change of entities that is ready to be sent.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub batch: Batch,
    pub intent: Option<Intent>,
    /// The rows in other partitions as they will be.
    pub rows: BTreeMap<String, EventualRows>,
}

impl Change {
    /// From what was read to what is to be; an entity without a new state is deleted.
    pub fn of(
        client: &TableClient,
        entities: &[(&str, Option<Read>, Option<State>)],
    ) -> Result<Self> {
        let mut operations = Vec::new();
        let mut due = Vec::new();
        let mut rows = BTreeMap::new();
        for (entity, old, new) in entities {
            let body = |state: &State| state.row(entity).body();
            let action = match (old, new) {
                (None, None) => continue,
                (None, Some(new)) => Action::Insert(body(new)?),
                (Some(old), Some(new)) => {
                    Action::Replace(body(new)?, IfMatch::ETag(old.etag.clone()))
                }
                (Some(old), None) => Action::Delete(IfMatch::ETag(old.etag.clone())),
            };
            operations.push(Operation { row_key: (*entity).to_owned(), action });
            let before = old.as_ref().map(|old| old.state.rows()).unwrap_or_default();
            let after = new.as_ref().map(State::rows).unwrap_or_default();
            due.extend(DueEntry::of(entity, &before, &after));
            rows.insert((*entity).to_owned(), after);
        }
        let intent = (!due.is_empty()).then(|| Intent::new(&client.connection, HOME, due));
        if let Some(intent) = &intent {
            operations.push(intent.insert(client, KIND)?);
        }
        Ok(Self { batch: Batch { partition_key: HOME.to_owned(), operations }, intent, rows })
    }

    /// Makes the tickets of what it will write in other partitions.
    pub async fn prepare(&self, client: &TableClient) -> Option<Prepared> {
        let settler = Settler { home: client, kind: KIND, partition_key: HOME };
        settler.prepare(self.intent.as_ref()?, &self.rows).await
    }

    /// Sends the transaction. Returns the intent that is to be settled.
    pub async fn send(&self, client: &TableClient) -> Result<Option<Pending>> {
        let etags = client.send(self.batch.clone()).await?;
        let Some(intent) = self.intent.clone() else { return Ok(None) };
        let key = CanonicalKey { partition_key: HOME.to_owned(), row_key: intent.row_key.clone() };
        let etag = client.version(&key, etags.into_iter().last().flatten())?;
        Ok(Some(Pending { intent, etag, written: None, cover: None, prepared: None }))
    }
}
