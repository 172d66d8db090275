//! The protocol without one of its parts: a store below each client leaves that part out. The simulation must
//! find a violation of each.

use super::simulation::{BUSY, Setting, UNSWEPT, simulate};
use crate::eventual::tests::chaos::{is_needed, version_of_nothing};
use crate::eventual::unique::GUARD_ROW;
use crate::model::{ETag, Metadata, TableName};
use crate::store::{
    Action, Batch, ErrorCode, IfMatch, Middleware, Operation, Store, StoreError, StoredRow,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
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
    /// Who gives up ends the ticket first.
    TicketEndedFirst,
    /// Who gives values up leaves an intent in the place of the ticket.
    IntentOfGivenUp,
    /// Who takes a value over leaves an intent in the place of the other's ticket.
    IntentOfTakenOver,
    /// An intent stays where a guard may be written later.
    IntentOfUnanswered,
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
    /// The entity whose ticket was read last, to be ended.
    fenced: Option<String>,
    /// The tickets that were read to be ended.
    read: BTreeSet<String>,
}

impl Tampering {
    pub fn new(inner: Arc<dyn Store>, left_out: Option<LeftOut>) -> Self {
        Self { inner, left_out, memory: Mutex::default() }
    }

    fn leaves_out(&self, part: LeftOut) -> bool {
        self.left_out == Some(part)
    }

    async fn insert_ticket(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        self.memory.lock().unwrap().tickets.insert(operation.row_key.clone());
        if self.leaves_out(LeftOut::Ticket) {
            return Ok(Some(version_of_nothing()));
        }
        loop {
            let sent = self.inner.write(table, partition_key, operation.clone()).await;
            match sent {
                Err(error) if self.leaves_out(LeftOut::SentOnce) && error.status == 0 => {}
                Err(error) if self.leaves_out(LeftOut::SentOnce) && error.status == 409 => {
                    return Ok(Some(version_of_nothing()));
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
        if self.owns(&operation.row_key) && self.leaves_out(LeftOut::TicketEndedFirst) {
            return Ok(None);
        }
        if self.leaves_out(LeftOut::Ticket) {
            return Err(StoreError::new(ErrorCode::RESOURCE_NOT_FOUND, "no ticket"));
        }
        self.inner.write(table, partition_key, operation).await
    }

    fn owns(&self, ticket: &str) -> bool {
        self.memory.lock().unwrap().tickets.contains(ticket)
    }

    /// Sends the write of a guard until it is answered.
    async fn write_guard(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        loop {
            match self.inner.write(table, partition_key, operation.clone()).await {
                Err(error) if error.status == 0 => {}
                sent => return sent,
            }
        }
    }

    /// Puts an intent in the place of a ticket, without what is left out.
    async fn end_ticket(
        &self,
        table: &TableName,
        partition_key: String,
        ticket: Operation,
        intent: Operation,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let is_own = self.owns(&ticket.row_key);
        let is_read = self.memory.lock().unwrap().read.contains(&ticket.row_key);
        let operations = match self.left_out {
            Some(LeftOut::TicketEndedFirst) if is_own => vec![intent],
            Some(LeftOut::IntentOfGivenUp) if is_own => vec![ticket],
            Some(LeftOut::IntentOfTakenOver) if is_read => vec![ticket],
            _ => vec![ticket, intent],
        };
        self.inner.commit(table, Batch { partition_key, operations }).await?;
        Ok(vec![None, Some(version_of_nothing())])
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
        // Who looks whether it is there reads no more than that. Others are about to end it.
        let is_looked_for = is_ticket(row_key) && select.is_some();
        let blind = [LeftOut::TicketLookedFor, LeftOut::TicketEndedFirst];
        if is_ticket(row_key) && self.leaves_out(LeftOut::Ticket)
            || is_looked_for && self.left_out.is_some_and(|part| blind.contains(&part))
        {
            return Ok(None);
        }
        if is_ticket(row_key) && !is_looked_for {
            let mut memory = self.memory.lock().unwrap();
            memory.fenced = Some(partition_key.to_owned());
            memory.read.insert(row_key.to_owned());
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
        if operation.row_key == GUARD_ROW && self.leaves_out(LeftOut::IntentOfUnanswered) {
            return self.write_guard(table, partition_key, operation).await;
        }
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
        let is_end = matches!(&*batch.operations, [ticket, intent]
            if is_ticket(&ticket.row_key) && intent.row_key.starts_with("DUE:"));
        if let Some(
            LeftOut::TicketEndedFirst | LeftOut::IntentOfGivenUp | LeftOut::IntentOfTakenOver,
        ) = self.left_out
            && is_end
        {
            let intent = batch.operations.remove(1);
            let ticket = batch.operations.remove(0);
            return self.end_ticket(table, batch.partition_key, ticket, intent).await;
        }
        if self.leaves_out(LeftOut::SentOnce) {
            for at in tickets {
                batch.operations[at].action = Action::Delete(IfMatch::Any);
            }
        }
        self.inner.commit(table, batch).await
    }
}

/// What goes wrong: a value has two holders, or one without a guard.
const TWO_HOLDERS: &[&str] = &["two entities have", "without its guard"];
/// What goes wrong: a sweep does not find a guard.
const LEFT_GUARD: &[&str] = &["nobody names the guard"];

/// Some seed finds that violation.
#[track_caller]
fn found(part: LeftOut, setting: Setting, seeds: Range<u64>, wrong: &[&str]) {
    let is_wrong = |violation: &String| wrong.iter().any(|wrong| violation.contains(wrong));
    let simulate = |seed| match simulate(seed, setting, Some(part)) {
        Err(violation) if !is_wrong(&violation) => Ok(0),
        result => result,
    };
    is_needed(part, seeds, simulate);
}

const LATE: Setting = Setting { faults: 0.02, late: 0.2, deaths: 0.1, sweepers: 2 };

macro_rules! each_part {
    ($($name:ident: $part:ident, $setting:expr, $seeds:expr, $wrong:expr;)*) => {$(
        #[test]
        fn $name() {
            found(LeftOut::$part, $setting, $seeds, $wrong);
        }
    )*};
}

// The rare ones begin shortly before the first seed that is known to find them.
each_part! {
    without_a_ticket_two_entities_have_a_value: Ticket, BUSY, 0..500, TWO_HOLDERS;
    without_a_second_reading_two_entities_have_a_value: SecondReading, BUSY, 0..3000, TWO_HOLDERS;
    a_ticket_that_is_sent_twice_under_one_name_gives_a_value_twice: SentOnce, LATE, 165..5000, TWO_HOLDERS;
    a_release_that_does_not_look_for_the_ticket_loses_a_guard: TicketLookedFor, BUSY, 0..3000, TWO_HOLDERS;
    who_gives_up_with_its_ticket_out_loses_a_guard: TicketEndedFirst, LATE, 0..3000, TWO_HOLDERS;
    who_gives_values_up_without_an_intent_leaves_a_guard: IntentOfGivenUp, BUSY, 0..500, LEFT_GUARD;
    who_takes_a_value_over_without_an_intent_leaves_a_guard: IntentOfTakenOver, BUSY, 0..2000, LEFT_GUARD;
    who_forgets_a_guard_that_was_not_answered_leaves_it: IntentOfUnanswered, UNSWEPT, 0..1000, LEFT_GUARD;
}
