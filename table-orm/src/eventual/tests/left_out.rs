//! The protocol without one of its parts: a store below one client leaves that part out. The simulation must
//! find a violation of each.

use super::chaos::first_violation;
use super::observer::Observer;
use super::simulation::{BUSY, Setting, TICKETS_FIRST, simulate};
use super::world::{Change, ENTITY, HOME, KIND, State, client, create, read};
use crate::embedded::EmbeddedStore;
use crate::eventual::settle;
use crate::layer::{Fault, Faults};
use crate::model::{ETag, Metadata, TableName};
use crate::store::{Action, Batch, IfMatch, Middleware, Operation, Store, StoreError, StoredRow};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::sleep;

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
    /// Readings of canonical rows that come instead of the true ones.
    readings: Mutex<BTreeMap<String, Option<StoredRow>>>,
}

impl Tampering {
    pub fn new(inner: Arc<dyn Store>, left_out: Option<LeftOut>, client: u64) -> Self {
        Self { inner, left_out, client, readings: Mutex::default() }
    }

    fn leaves_out(&self, part: LeftOut) -> bool {
        self.left_out == Some(part)
    }

    fn etag() -> ETag {
        ETag::new("W/\"datetime'2000-01-01T00%3A00%3A00Z'\"")
    }

    /// The transaction that writes entities.
    async fn home(&self, table: &TableName, mut batch: Batch) -> Answer {
        let count = batch.operations.len();
        let rows = |batch: &Batch| {
            let rows = batch.operations.iter().filter(|row| row.row_key.starts_with(ENTITY));
            rows.map(|row| (row.row_key.clone(), row.action.body().cloned())).collect::<Vec<_>>()
        };
        let intent = batch.operations.iter_mut().find(|row| is_intent(row));
        if let Some(intent) = intent.filter(|_| self.leaves_out(LeftOut::FreshName)) {
            intent.row_key = format!("DUE:{}", self.client);
            if let Action::Insert(body) = intent.action.clone() {
                intent.action = Action::InsertOrReplace(body);
            }
        }
        if self.leaves_out(LeftOut::Intent) {
            batch.operations.retain(|row| !is_intent(row));
        }
        let written = rows(&batch);
        let intent = batch.operations.iter().find(|row| is_intent(row)).cloned();
        let mut etags = self.inner.commit(table, batch).await?;
        if self.leaves_out(LeftOut::ReadAgain) {
            let readings = written.into_iter().map(|(key, body)| {
                (key, body.map(|body| StoredRow { body, header: Some(Self::etag()) }))
            });
            self.readings.lock().unwrap().extend(readings);
        }
        if let (true, Some(Operation { row_key, .. })) =
            (self.leaves_out(LeftOut::ClearedLast), intent)
        {
            let action = Action::Delete(IfMatch::Any);
            self.inner.write(table, HOME, Operation { row_key, action }).await?;
        }
        etags.resize(count, Some(Self::etag()));
        Ok(etags)
    }

    /// The transaction that consumes a ticket.
    async fn elsewhere(&self, table: &TableName, mut batch: Batch) -> Answer {
        let count = batch.operations.len();
        if self.leaves_out(LeftOut::RightRows) {
            let mut right = true;
            for operation in &batch.operations[1..] {
                let (partition_key, row_key) = (&batch.partition_key, &operation.row_key);
                let row =
                    self.inner.get(table, partition_key, row_key, None, Metadata::Minimal).await?;
                right &= stamp(row.as_ref().map(|row| &*row.body))
                    == stamp(operation.action.body().map(|body| &**body));
            }
            if right {
                return Ok(vec![None; count]);
            }
        }
        if self.leaves_out(LeftOut::Ticket) {
            batch.operations.remove(0);
            let etags = self.inner.commit(table, batch).await;
            let etags = etags.map_err(|error| StoreError {
                operation: error.operation.map(|index| index + 1),
                ..error
            })?;
            return Ok(std::iter::once(None).chain(etags).collect());
        }
        match self.inner.commit(table, batch).await {
            Err(error)
                if self.leaves_out(LeftOut::RestOfRows)
                    && error.status == 404
                    && error.operation.is_some_and(|index| index > 0) =>
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

fn is_ticket(operation: &Operation) -> bool {
    operation.row_key.starts_with("TKT:")
}

/// What a row shows.
fn stamp(body: Option<&[u8]>) -> Option<String> {
    let row: serde_json::Value = serde_json::from_slice(body?).ok()?;
    Some(row["Stamp"].to_string())
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
        if partition_key == HOME {
            let reading = self.readings.lock().unwrap().remove(row_key);
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
            return Ok(inserts.then(Self::etag));
        }
        if is_ticket(&operation) && inserts && self.leaves_out(LeftOut::ReadAfterTicket) {
            let home = super::world::table("things");
            let body: serde_json::Value =
                serde_json::from_slice(operation.action.body().unwrap()).unwrap();
            let entity: [String; 3] = serde_json::from_str(body["For"].as_str().unwrap()).unwrap();
            let reading = self.inner.get(&home, HOME, &entity[2], None, Metadata::Minimal).await?;
            self.readings.lock().unwrap().insert(entity[2].clone(), reading);
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
            self.elsewhere(table, batch).await
        } else {
            self.readings.lock().unwrap().clear();
            self.home(table, batch).await
        }
    }
}

/// Some seed finds a violation.
#[track_caller]
fn found(part: LeftOut, setting: Setting, seeds: Range<u64>) {
    if first_violation(part, seeds, |seed| simulate(seed, setting, Some(part))).is_none() {
        panic!("the simulations without {part:?} find nothing");
    }
}

macro_rules! each_part {
    ($($name:ident: $part:ident, $setting:expr, $seeds:expr;)*) => {$(
        #[test]
        fn $name() {
            found(LeftOut::$part, $setting, $seeds);
        }
    )*};
}

// The rare ones begin shortly before the first seed that is known to find them.
each_part! {
    without_an_intent_a_death_leaves_a_row_wrong: Intent, BUSY, 0..50;
    an_intent_whose_name_is_used_again_is_lost: FreshName, BUSY, 0..200;
    an_intent_that_is_cleared_early_leaves_a_row_wrong: ClearedLast, BUSY, 0..50;
    without_a_ticket_an_older_state_comes_back: Ticket, BUSY, 0..200;
    a_reading_before_the_ticket_brings_an_older_state_back: ReadAfterTicket, BUSY, 780..2000;
    a_writer_that_does_not_read_again_brings_an_older_state_back: ReadAgain, BUSY, 250..2000;
    tickets_behind_the_transaction_that_counts_as_the_reading_bring_an_older_state_back:
        TicketsFirst, TICKETS_FIRST, 80..2000;
    a_row_that_looks_right_and_is_not_written_leaves_an_older_ticket: RightRows, BUSY, 190..3000;
    a_row_that_is_not_there_keeps_the_others_from_being_written: RestOfRows, BUSY, 0..50;
}

/// What is wrong after this: a transaction is on its way twice, and its second copy takes effect after the
/// entity is deleted again; so does the clear of a sweeper that settled the first one.
async fn cleared_late(left_out: Option<LeftOut>) -> Option<String> {
    let memory = Arc::new(EmbeddedStore::in_memory().unwrap());
    create(&*memory).await;
    let observer = Observer::new(memory);
    let late = Faults::seeded(1).on("delete", 1, Fault::Late).latest(Duration::from_secs(60));
    let network = late.store(observer.clone()).unwrap();
    let sweeper = client(Arc::new(Tampering::new(Arc::new(network), left_out, 1)), 1);
    let writer = client(observer.clone(), 2);

    let state = State::new("copies p1 FULL:a:0", "1");
    let insert = Change::of(&writer, &[("E:0", None, Some(state))]).unwrap();
    let pending = insert.send(&writer).await.unwrap().unwrap();
    settle(&sweeper, KIND, &pending).await.unwrap_err();
    settle(&writer, KIND, &pending).await.unwrap();
    let old = read(&writer, "E:0").await.unwrap();
    let delete = Change::of(&writer, &[("E:0", old, None)]).unwrap();
    let pending = delete.send(&writer).await.unwrap().unwrap();
    settle(&writer, KIND, &pending).await.unwrap();
    insert.send(&writer).await.unwrap();
    sleep(Duration::from_secs(60)).await;
    observer.violation()
}

#[tokio::test(start_paused = true)]
async fn an_intent_that_is_cleared_in_any_version_is_lost() {
    assert_eq!(cleared_late(None).await, None);
    let violation = cleared_late(Some(LeftOut::ClearedVersion)).await;
    assert!(violation.is_some_and(|what| what.contains("no intent tells of it")));
}
