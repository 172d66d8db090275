//! The protocol without one of its parts: a store below each client leaves that part out. The simulation must
//! find a violation of each.

use super::simulation::{BUSY, Setting, simulate};
use crate::eventual::tests::chaos::first_violation;
use crate::eventual::unique::GUARD_ROW;
use crate::model::{ETag, Metadata, TableName};
use crate::store::{
    Action, Batch, ErrorCode, IfMatch, Middleware, Operation, Store, StoreError, StoredRow,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

/// A part of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeftOut {
    /// The transaction that takes a value consumes a ticket.
    Ticket,
    /// The entity is read again after its ticket is deleted.
    SecondReading,
    /// A ticket is consumed in the version of the answer, or its name is sent once.
    SentOnce,
    /// Who releases a value looks for the ticket it was reserved with.
    TicketLookedFor,
    /// Who gives up deletes the ticket first.
    TicketDeletedFirst,
}

/// The store of one client.
#[derive(Debug)]
pub(super) struct Tampering {
    inner: Arc<dyn Store>,
    left_out: Option<LeftOut>,
    memory: Mutex<Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    /// The tickets of this client.
    tickets: BTreeSet<String>,
    /// The last reading of each entity.
    readings: BTreeMap<String, Option<StoredRow>>,
    /// The entity whose ticket was deleted last.
    fenced: Option<String>,
}

impl Tampering {
    pub fn new(inner: Arc<dyn Store>, left_out: Option<LeftOut>) -> Self {
        Self { inner, left_out, memory: Mutex::default() }
    }

    fn leaves_out(&self, part: LeftOut) -> bool {
        self.left_out == Some(part)
    }

    fn etag() -> ETag {
        ETag::new("W/\"datetime'2000-01-01T00%3A00%3A00Z'\"")
    }

    async fn insert_ticket(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        self.memory.lock().unwrap().tickets.insert(operation.row_key.clone());
        if self.leaves_out(LeftOut::Ticket) {
            return Ok(Some(Self::etag()));
        }
        loop {
            let sent = self.inner.write(table, partition_key, operation.clone()).await;
            match sent {
                Err(error) if self.leaves_out(LeftOut::SentOnce) && error.status == 0 => {}
                Err(error) if self.leaves_out(LeftOut::SentOnce) && error.status == 409 => {
                    return Ok(Some(Self::etag()));
                }
                sent => return sent,
            }
        }
    }

    async fn delete_ticket(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        let own = {
            let mut memory = self.memory.lock().unwrap();
            memory.fenced = Some(partition_key.to_owned());
            memory.tickets.contains(&operation.row_key)
        };
        if own && self.leaves_out(LeftOut::TicketDeletedFirst) {
            return Ok(None);
        }
        if self.leaves_out(LeftOut::Ticket) {
            return Err(StoreError::new(ErrorCode::RESOURCE_NOT_FOUND, "no ticket"));
        }
        self.inner.write(table, partition_key, operation).await
    }
}

fn is_ticket(row_key: &str) -> bool {
    row_key.starts_with("TKT:")
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
        let blind = [LeftOut::Ticket, LeftOut::TicketLookedFor, LeftOut::TicketDeletedFirst];
        if is_ticket(row_key) && self.left_out.is_some_and(|part| blind.contains(&part)) {
            return Ok(None);
        }
        if row_key == GUARD_ROW || is_ticket(row_key) {
            return self.inner.get(table, partition_key, row_key, select, metadata).await;
        }
        if self.leaves_out(LeftOut::SecondReading) {
            let mut memory = self.memory.lock().unwrap();
            if memory.fenced.take().is_some_and(|entity| entity == partition_key)
                && let Some(reading) = memory.readings.get(partition_key)
            {
                return Ok(reading.clone());
            }
        }
        let row = self.inner.get(table, partition_key, row_key, select, metadata).await?;
        self.memory.lock().unwrap().readings.insert(partition_key.to_owned(), row.clone());
        Ok(row)
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        if !is_ticket(&operation.row_key) {
            return self.inner.write(table, partition_key, operation).await;
        }
        match operation.action {
            Action::Insert(_) => self.insert_ticket(table, partition_key, operation).await,
            _ => self.delete_ticket(table, partition_key, operation).await,
        }
    }

    async fn commit(
        &self,
        table: &TableName,
        mut batch: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let tickets: Vec<_> = (0..batch.operations.len())
            .filter(|&at| is_ticket(&batch.operations[at].row_key))
            .collect();
        if self.leaves_out(LeftOut::Ticket) {
            for &at in tickets.iter().rev() {
                batch.operations.remove(at);
            }
            let mut etags = self.inner.commit(table, batch).await?;
            tickets.into_iter().for_each(|at| etags.insert(at, None));
            return Ok(etags);
        }
        if self.leaves_out(LeftOut::SentOnce) {
            for at in tickets {
                batch.operations[at].action = Action::Delete(IfMatch::Any);
            }
        }
        self.inner.commit(table, batch).await
    }
}

/// Some seed finds a violation.
#[track_caller]
fn found(part: LeftOut, setting: Setting, seeds: u64) {
    if first_violation(part, 0..seeds, |seed| simulate(seed, setting, Some(part))).is_none() {
        panic!("{seeds} simulations without {part:?} find nothing");
    }
}

const LATE: Setting = Setting { faults: 0.02, late: 0.2, deaths: 0.1 };

macro_rules! each_part {
    ($($name:ident: $part:ident, $setting:expr, $seeds:expr;)*) => {$(
        #[test]
        fn $name() {
            found(LeftOut::$part, $setting, $seeds);
        }
    )*};
}

each_part! {
    without_a_ticket_two_entities_have_a_value: Ticket, BUSY, 500;
    without_a_second_reading_two_entities_have_a_value: SecondReading, BUSY, 3000;
    a_ticket_that_is_sent_twice_under_one_name_gives_a_value_twice: SentOnce, LATE, 5000;
    a_release_that_does_not_look_for_the_ticket_loses_a_guard: TicketLookedFor, BUSY, 3000;
    who_gives_up_with_its_ticket_out_loses_a_guard: TicketDeletedFirst, LATE, 3000;
}
