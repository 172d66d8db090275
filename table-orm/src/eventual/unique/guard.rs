//! The guard row of a value, and the entity it names.

use crate::entity::{DynamicEntity, MovedRow, read_row};
use crate::error::{Error, Rejection, Result, UniqueHolder};
use crate::eventual::eventual_type::EventualType;
use crate::eventual::unique_value::UniqueValue;
use crate::model::{ACROSS_GUARD, ETag, Edm, ROW_KEY, TableName};
use crate::plan::{CanonicalKey, TableClient};
use crate::query::RowQuery;
use crate::store::{Action, Batch, ErrorCode, IfMatch, Operation, StoreError, StoredRow};
use futures_core::future::BoxFuture;

/// How often a guard is read that changes meanwhile.
pub(crate) const MAX_GUARD_READS: u32 = 8;

/// The RowKey of every guard.
pub(crate) const GUARD_ROW: &str = ACROSS_GUARD;

const TABLE: &str = "Table";
const PARTITION: &str = "Partition";
const ROW: &str = "Row";
const TICKET: &str = "Ticket";

/// An entity: the place of its canonical row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Home {
    pub table: TableName,
    pub key: CanonicalKey,
}

impl Home {
    /// Whether it is that entity.
    pub fn is(&self, other: &Self) -> bool {
        self.key == other.key && self.table.is(&other.table)
    }
}

/// A guard as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    /// The entity that it was reserved for.
    pub home: Home,
    /// The ticket that it was reserved with.
    pub ticket: String,
    pub etag: ETag,
}

impl Guard {
    /// Whether it names that key.
    pub fn names(&self, home: &Home) -> bool {
        self.home.is(home)
    }

    /// Reads a stored guard; `None` for another row.
    pub fn read(row: DynamicEntity) -> Option<Self> {
        let text = |name: &str| match row.properties.get(name) {
            Some(Edm::String(text)) => Some(text.clone()),
            _ => None,
        };
        let table = TableName::new(&text(TABLE)?).ok()?;
        let key = CanonicalKey { partition_key: text(PARTITION)?, row_key: text(ROW)? };
        Some(Self { home: Home { table, key }, ticket: text(TICKET)?, etag: row.etag.clone()? })
    }
}

/// The guard row of a value with that PartitionKey.
pub(crate) fn guard_row(partition_key: &str, entity: &Home, ticket: &str) -> DynamicEntity {
    DynamicEntity::new(partition_key, GUARD_ROW)
        .with(TABLE, entity.table.as_str().to_owned())
        .with(PARTITION, entity.key.partition_key.clone())
        .with(ROW, entity.key.row_key.clone())
        .with(TICKET, ticket.to_owned())
}

/// The guards of the values of one entity type.
#[derive(Debug, Clone)]
pub(crate) struct Guards {
    /// The table of the entities.
    pub home: TableClient,
    pub kind: EventualType,
}

impl Guards {
    /// The entity of that key in the table.
    pub fn entity(&self, partition_key: &str, row_key: &str) -> Home {
        let (partition_key, row_key) = (partition_key.to_owned(), row_key.to_owned());
        let key = CanonicalKey { partition_key, row_key };
        Home { table: self.home.table.clone(), key }
    }

    /// The table of a value's guard.
    pub fn client(&self, value: &UniqueValue) -> TableClient {
        let guard = self.kind.guard(&value.name);
        let table =
            guard.map_or_else(|| self.home.table.clone(), |guard| guard.table_of(&self.home.table));
        self.home.in_table(&table)
    }

    /// Reads the guard of a value.
    pub async fn get(&self, value: &UniqueValue) -> Result<Option<Guard>> {
        let row = self.client(value).annotated_row(&value.partition_key(), GUARD_ROW).await?;
        let Some(row) = row else { return Ok(None) };
        let etag = row.etag()?;
        let mut row: DynamicEntity = read_row(0, &row.body)?;
        row.etag = Some(etag);
        Ok(Guard::read(row))
    }

    /// Inserts the guard of a value, or replaces the one in that version.
    pub async fn set(
        &self,
        value: &UniqueValue,
        entity: &Home,
        ticket: &str,
        over: Option<&Guard>,
    ) -> Result<()> {
        let body = guard_row(&value.partition_key(), entity, ticket).body()?;
        let action = match over {
            Some(guard) => Action::Replace(body, IfMatch::ETag(guard.etag.clone())),
            None => Action::Insert(body),
        };
        self.write(value, action).await
    }

    /// Deletes the guard in the version that was read.
    pub async fn delete(&self, value: &UniqueValue, guard: &Guard) -> Result<()> {
        self.write(value, Action::Delete(IfMatch::ETag(guard.etag.clone()))).await
    }

    async fn write(&self, value: &UniqueValue, action: Action) -> Result<()> {
        let operations = vec![Operation { row_key: GUARD_ROW.to_owned(), action }];
        let batch = Batch { partition_key: value.partition_key(), operations };
        self.client(value).send(batch).await.map(drop)
    }

    /// Reads the values of an entity: none where there is no such entity.
    pub fn values<'f>(&'f self, entity: &'f Home) -> BoxFuture<'f, Result<Vec<UniqueValue>>> {
        Box::pin(async move {
            let client = self.home.in_table(&entity.table);
            let query = RowQuery { metadata: self.kind.metadata, ..client.point(&entity.key) };
            let Some(row) = client.row(&query).await? else { return Ok(Vec::new()) };
            Ok((self.kind.values)(row)?.unwrap_or_default())
        })
    }

    /// Whether the ticket is there that the value was reserved with.
    pub fn has_ticket<'f>(&'f self, guard: &'f Guard) -> BoxFuture<'f, Result<bool>> {
        Box::pin(async move {
            let select = Some(vec![ROW_KEY.into()]);
            Ok(self.ticket(guard, |point| RowQuery { select, ..point }).await?.is_some())
        })
    }

    /// Reads the ticket that the value was reserved with.
    pub(super) async fn ticket(
        &self,
        guard: &Guard,
        query: impl FnOnce(RowQuery) -> RowQuery,
    ) -> Result<Option<StoredRow>> {
        let Guard { home: Home { table, key }, ticket, .. } = guard;
        let client = self.home.in_table(table);
        let point = client.point(&CanonicalKey { row_key: ticket.clone(), ..key.clone() });
        match client.row(&query(point)).await {
            // A table that entities left was deleted, with the ticket.
            Err(Error::TableNotFound(_)) if !self.home.table.is(table) => Ok(None),
            row => row,
        }
    }

    /// The error of a value that another entity has.
    pub fn violation(&self, value: &UniqueValue, holder: &Home) -> Error {
        let Home { table, key } = holder;
        let CanonicalKey { partition_key, row_key } = key.clone();
        let message = format!("{partition_key:?} / {row_key:?} of table `{table}` has the value");
        let cause = StoreError::new(ErrorCode::ENTITY_ALREADY_EXISTS, message);
        Error::UniqueViolation {
            unique: self.kind.guard(&value.name).map_or("", |guard| guard.name),
            key: value.partition_key(),
            holder: Some(Box::new(UniqueHolder {
                table: table.as_str().to_owned(),
                partition_key,
                row_key,
            })),
            rejection: Box::new(Rejection {
                entity: self.kind.entity,
                table: self.client(value).table.as_str().to_owned(),
                partition_key: value.partition_key(),
                row_key: GUARD_ROW.to_owned(),
                index_row: None,
                operation: None,
                is_other_table: false,
                is_repeatable: false,
                is_read: false,
                cause,
            }),
        }
    }

    /// The error of an entity that left its key for a form that this client does not know.
    pub fn moved(&self, entity: &Home, to: String) -> Error {
        let CanonicalKey { partition_key, row_key } = entity.key.clone();
        let entity = self.kind.entity;
        Error::Moved(Box::new(MovedRow { entity, partition_key, row_key, to }))
    }

    /// The error after other writers were faster each time.
    pub fn contended(&self, value: &UniqueValue) -> Error {
        self.client(value).changed(&value.partition_key(), GUARD_ROW)
    }
}
