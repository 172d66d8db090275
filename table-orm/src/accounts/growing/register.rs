//! The partitions of each slot in one account.
//!
//! Invariant: a partition is registered before it is made, and nothing is registered once the register is
//! closed. A row of the register is never deleted.

use super::super::Answer;
use super::super::route::slot_of;
use super::fence::{self, row};
use super::map_row::create;
use super::pages::Pages;
use crate::entity::{DynamicEntity, read_row};
use crate::key::fnv;
use crate::model::{Edm, Metadata, TableName};
use crate::query::{KeyRange, RowQuery, Span};
use crate::store::{Action, ErrorCode, IfMatch, Operation, Store, StoreError, StoredRow};

const TABLE: &str = "Table";
const PARTITION: &str = "Partition";
const MOVED: &str = "Moved";

/// A partition of a register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Registered {
    pub table: TableName,
    pub partition_key: String,
    pub has_moved: bool,
    row_key: String,
}

#[derive(Debug)]
pub(super) struct Register {
    control: TableName,
}

/// The PartitionKey of a slot's register.
fn name(slot: u16) -> String {
    format!("slot-{slot:04}")
}

/// The RowKey of a partition: that of others with the same hash has another number.
fn row_key(table: &TableName, partition_key: &str, number: u32) -> String {
    let (table, hash) = (table.as_str().to_ascii_lowercase(), fnv(partition_key.as_bytes()));
    format!("{table}:{hash:016x}:{number}")
}

impl Register {
    pub const fn new(control: TableName) -> Self {
        Self { control }
    }

    pub const fn control(&self) -> &TableName {
        &self.control
    }

    /// Registers a partition; returns whether the register is open.
    pub async fn insert(
        &self,
        store: &dyn Store,
        table: &TableName,
        partition_key: &str,
    ) -> Answer<bool> {
        let name = name(slot_of(partition_key));
        let mut number = 0;
        loop {
            let row_key = row_key(table, partition_key, number);
            let entity = DynamicEntity::new(&name, &row_key)
                .with(TABLE, table.as_str())
                .with(PARTITION, partition_key);
            let insert = Operation { row_key, action: Action::Insert(row(&entity)?) };
            match fence::commit_or_make(store, &self.control, &name, &[insert]).await {
                Ok(done) => return Ok(done.is_some()),
                Err(error) if error.code == ErrorCode::TABLE_NOT_FOUND => {
                    create(store, &self.control).await?;
                }
                Err(error) if error.code == ErrorCode::ENTITY_ALREADY_EXISTS => {
                    let row = self.get(store, &name, &entity.row_key).await?;
                    if row.is_some_and(|row| row.partition_key == partition_key) {
                        return Ok(true);
                    }
                    number += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether a partition is registered.
    pub async fn holds(
        &self,
        store: &dyn Store,
        table: &TableName,
        partition_key: &str,
    ) -> Answer<bool> {
        let name = name(slot_of(partition_key));
        let mut number = 0;
        loop {
            match self.get(store, &name, &row_key(table, partition_key, number)).await? {
                None => return Ok(false),
                Some(row) if row.partition_key == partition_key => return Ok(true),
                Some(_) => number += 1,
            }
        }
    }

    async fn get(
        &self,
        store: &dyn Store,
        name: &str,
        row_key: &str,
    ) -> Answer<Option<Registered>> {
        match store.get(&self.control, name, row_key, None, Metadata::Minimal).await {
            Ok(row) => row.map(|StoredRow { body, .. }| registered(read(&body)?)).transpose(),
            Err(error) if error.code == ErrorCode::TABLE_NOT_FOUND => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Closes the register of a slot.
    pub async fn close(&self, store: &dyn Store, slot: u16) -> Answer<()> {
        create(store, &self.control).await?;
        fence::close(store, &self.control, &name(slot)).await
    }

    /// The partitions of a slot.
    pub async fn partitions(&self, store: &dyn Store, slot: u16) -> Answer<Vec<Registered>> {
        let keys = KeyRange { partition: Span::Exact(name(slot)), row: Span::All };
        let metadata = Metadata::Minimal;
        let query = RowQuery { metadata, ..RowQuery::new(self.control.clone(), keys) };
        let (mut pages, mut partitions) = (Pages::new(store, query), Vec::new());
        while let Some(rows) = pages.next().await? {
            let rows = rows.into_iter().map(registered);
            partitions.extend(rows.collect::<Answer<Vec<_>>>()?);
        }
        Ok(partitions)
    }

    /// Notes that a partition has moved, so that the next mover passes it by.
    pub async fn note_moved(&self, store: &dyn Store, partition: &Registered) -> Answer<()> {
        let name = name(slot_of(&partition.partition_key));
        let entity = DynamicEntity::new(&name, &partition.row_key).with(MOVED, true);
        let action = Action::Merge(row(&entity)?, IfMatch::Any);
        let operation = Operation { row_key: partition.row_key.clone(), action };
        store.write(&self.control, &name, operation).await.map(drop)
    }
}

fn read(body: &[u8]) -> Answer<DynamicEntity> {
    read_row(0, body).map_err(|error| unreadable().caused_by(error))
}

fn registered(row: DynamicEntity) -> Answer<Registered> {
    let (Some(Edm::String(table)), Some(Edm::String(partition_key))) =
        (row.properties.get(TABLE), row.properties.get(PARTITION))
    else {
        return Err(unreadable());
    };
    Ok(Registered {
        table: TableName::new(table).map_err(|error| unreadable().caused_by(error))?,
        partition_key: partition_key.clone(),
        has_moved: row.properties.contains_key(MOVED),
        row_key: row.row_key,
    })
}

fn unreadable() -> StoreError {
    let message = "A row of the register of partitions cannot be read. Nothing was written.";
    StoreError::new(ErrorCode::INVALID_INPUT, message)
}
