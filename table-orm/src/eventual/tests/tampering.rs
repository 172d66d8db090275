//! A store that leaves out one part of the protocol for the client above it.

use super::chaos::version_of_nothing;
use super::observer::{Entity, Observed, shown};
use crate::entity::read_row;
use crate::eventual::EventualType;
use crate::model::{ETag, Metadata, TableName};
use crate::store::{Action, Batch, IfMatch, Middleware, Operation, Store, StoreError, StoredRow};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// A part of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeftOut {
    /// The transaction inserts an intent.
    Intent,
    /// Each transaction's intent has a name of its own.
    FreshName,
    /// The intent is deleted in the version that was settled.
    ClearedVersion,
    /// The intent is deleted after the rows are written.
    ClearedLast,
    /// The rows are written with a ticket.
    Ticket,
    /// The canonical row is read after the ticket is made.
    ReadAfterTicket,
    /// The writer of the canonical row reads it again.
    ReadAgain,
    /// The tickets of a writer that does not read again are made before its transaction.
    TicketsFirst,
    /// A row that looks right is written too.
    RightRows,
    /// The other rows are written where a row to delete is not there.
    RestOfRows,
}

/// The store of one client.
#[derive(Debug)]
pub(super) struct Tampering {
    inner: Arc<dyn Store>,
    left_out: Option<LeftOut>,
    client: u64,
    /// The table of the entities.
    home: TableName,
    kind: EventualType,
    /// Readings of canonical rows that come instead of the true ones.
    readings: Mutex<BTreeMap<Entity, Option<StoredRow>>>,
}

impl Tampering {
    pub fn of<W: Observed>(inner: Arc<dyn Store>, left_out: Option<LeftOut>, client: u64) -> Self {
        let home = TableName::new(W::TABLES[0]).unwrap();
        Self { inner, left_out, client, home, kind: W::KIND, readings: Mutex::default() }
    }

    fn leaves_out(&self, part: LeftOut) -> bool {
        self.left_out == Some(part)
    }

    /// The transaction that writes entities.
    async fn home(&self, table: &TableName, mut batch: Batch) -> Answer {
        let count = batch.operations.len();
        let intent = batch.operations.iter_mut().find(|row| inserts_intent(row));
        if let Some(intent) = intent.filter(|_| self.leaves_out(LeftOut::FreshName)) {
            intent.row_key = format!("DUE:{}", self.client);
            if let Action::Insert(body) = intent.action.clone() {
                intent.action = Action::InsertOrReplace(body);
            }
        }
        if self.leaves_out(LeftOut::Intent) {
            batch.operations.retain(|row| !inserts_intent(row));
        }
        let written = self.rows_of(&batch);
        let partition_key = batch.partition_key.clone();
        let intent = batch.operations.iter().find(|row| inserts_intent(row)).cloned();
        let mut etags = self.inner.commit(table, batch).await?;
        if self.leaves_out(LeftOut::ReadAgain) {
            self.readings.lock().unwrap().extend(written);
        }
        if let (true, Some(Operation { row_key, .. })) =
            (self.leaves_out(LeftOut::ClearedLast), intent)
        {
            let action = Action::Delete(IfMatch::Any);
            self.inner.write(table, &partition_key, Operation { row_key, action }).await?;
        }
        etags.resize(count, Some(version_of_nothing()));
        Ok(etags)
    }

    /// The canonical rows that a transaction writes as a whole.
    fn rows_of(&self, batch: &Batch) -> Vec<(Entity, Option<StoredRow>)> {
        let written = |Operation { row_key, action }: &Operation| {
            let partly = matches!(action, Action::Merge(..) | Action::InsertOrMerge(_));
            let entity = (batch.partition_key.clone(), row_key.clone());
            let header = || Some(version_of_nothing());
            let row = |body: &_| StoredRow { body: Bytes::clone(body), header: header() };
            let is_whole = !partly && (self.kind.is_canonical)(row_key);
            is_whole.then(|| (entity, action.body().map(row)))
        };
        batch.operations.iter().filter_map(written).collect()
    }

    /// The transaction that consumes tickets.
    async fn in_other_table(&self, table: &TableName, mut batch: Batch) -> Answer {
        let count = batch.operations.len();
        let tickets = batch.operations.iter().filter(|row| is_ticket(row)).count();
        if self.leaves_out(LeftOut::RightRows) {
            let mut right = true;
            for operation in &batch.operations[tickets..] {
                let (partition_key, row_key) = (&batch.partition_key, &operation.row_key);
                let row =
                    self.inner.get(table, partition_key, row_key, None, Metadata::Minimal).await?;
                let rows = [row.as_ref().map(|row| &row.body), operation.action.body()];
                let [is, to_be] = rows.map(|body| Some(shown(read_row(0, body?).unwrap())));
                right &= is == to_be;
            }
            if right {
                return Ok(vec![None; count]);
            }
        }
        if self.leaves_out(LeftOut::Ticket) {
            batch.operations.drain(..tickets);
            if batch.operations.is_empty() {
                return Ok(vec![Some(version_of_nothing()); count]);
            }
            let etags = self.inner.commit(table, batch).await;
            let etags = etags.map_err(|error| StoreError {
                operation: error.operation.map(|index| index + tickets),
                ..error
            })?;
            return Ok(vec![None; tickets].into_iter().chain(etags).collect());
        }
        match self.inner.commit(table, batch).await {
            Err(error)
                if self.leaves_out(LeftOut::RestOfRows)
                    && error.status == 404
                    && error.operation.is_some_and(|index| index >= tickets) =>
            {
                Ok(vec![None; count])
            }
            answer => answer,
        }
    }
}

type Answer = Result<Vec<Option<ETag>>, StoreError>;

fn is_intent(operation: &Operation) -> bool {
    operation.row_key.starts_with("DUE:")
}

fn inserts_intent(operation: &Operation) -> bool {
    is_intent(operation) && matches!(operation.action, Action::Insert(_))
}

fn is_ticket(operation: &Operation) -> bool {
    operation.row_key.starts_with("TKT:")
}

impl Middleware for Tampering {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn get(
        &self,
        table: &TableName,
        partition_key: &str,
        row_key: &str,
        select: Option<&[&str]>,
        metadata: Metadata,
    ) -> Result<Option<StoredRow>, StoreError> {
        if *table == self.home {
            let entity = (partition_key.to_owned(), row_key.to_owned());
            let reading = self.readings.lock().unwrap().remove(&entity);
            if let Some(reading) = reading {
                return Ok(reading);
            }
        }
        self.inner.get(table, partition_key, row_key, select, metadata).await
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        mut operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        let inserts = matches!(operation.action, Action::Insert(_));
        if is_ticket(&operation) && self.leaves_out(LeftOut::Ticket) {
            return Ok(inserts.then(version_of_nothing));
        }
        if is_ticket(&operation) && inserts && self.leaves_out(LeftOut::ReadAfterTicket) {
            let body: serde_json::Value =
                serde_json::from_slice(operation.action.body().unwrap()).unwrap();
            let [_, home, canonical]: [String; 3] =
                serde_json::from_str(body["For"].as_str().unwrap()).unwrap();
            let reading = self.inner.get(&self.home, &home, &canonical, None, Metadata::Minimal);
            let reading = reading.await?;
            self.readings.lock().unwrap().insert((home, canonical), reading);
        }
        let clears = is_intent(&operation) && !inserts;
        if clears && self.leaves_out(LeftOut::ClearedVersion) {
            operation.action = Action::Delete(IfMatch::Any);
        }
        if clears && self.leaves_out(LeftOut::FreshName) {
            operation.action = Action::Delete(IfMatch::Any);
            if operation.row_key.len() > 10 {
                operation.row_key = format!("DUE:{}", self.client);
            }
        }
        self.inner.write(table, partition_key, operation).await
    }

    async fn commit(&self, table: &TableName, batch: Batch) -> Answer {
        if batch.operations.first().is_some_and(is_ticket) {
            self.in_other_table(table, batch).await
        } else {
            self.readings.lock().unwrap().clear();
            self.home(table, batch).await
        }
    }
}
