//! A store that leaves out one part of the protocol for the client above it.

use crate::entity::{DynamicEntity, Marked, Marker};
use crate::eventual::tests::chaos::version_of_nothing;
use crate::eventual::{GUARD_ROW, INTENT_START, TICKET_START};
use crate::model::{ETag, Edm, MOVED_TO, Metadata, PARCEL_START, TableName};
use crate::property::LARGE_START;
use crate::query::{RowQuery, Span};
use crate::store::{
    Action, Batch, IfMatch, Middleware, Operation, Page, Store, StoreError, StoredRow,
};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// A part of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeftOut {
    /// The old row is replaced in the version that was read.
    SwitchVersion,
    /// The landing consumes the parcel.
    Consumed,
    /// An insert writes a marker first.
    Marker,
    /// An insert that meets a marker looks for its parcel.
    ParcelLook,
    /// The new key is read again after the old one.
    SecondLook,
    /// A list reads parcels.
    ParcelList,
    /// The landing inserts index rows, and replaces none.
    IndexInserted,
    /// The guard of a value that stays names the new row.
    GuardFollows,
    /// The guard of a new value is written.
    GuardTaken,
    /// The guard of a new value is inserted, and replaces none.
    GuardInserted,
    /// The guard of a value that is given up is deleted.
    GuardReleased,
    /// The switch has an intent of the old form.
    SwitchIntent,
    /// The landing has an intent of the new form.
    LandingIntent,
    /// The rows of the old form in other partitions go after those of the new form are there.
    FollowFirst,
    /// A list by a row in another partition reads what has to be settled of an entity that has left its old key.
    PendingLook,
    /// The transaction that writes rows in another partition, or takes a unique value, deletes the ticket.
    Ticket,
    /// The marker names the new key.
    MarkerNames,
    /// The guards name the new key before the marker is deleted.
    GuardRenamed,
    /// The transaction that inserts a parcel touches the large values of its entity.
    ValueTouched,
    /// Who removes large values looks for parcels that refer to them.
    ParcelOfValue,
}

/// The store of one client.
#[derive(Debug)]
pub(super) struct Tampering {
    inner: Arc<dyn Store>,
    left_out: Option<LeftOut>,
    /// The most operations of a transaction.
    operations: usize,
    /// Where the last reading found nothing.
    nothing: Mutex<BTreeSet<(String, String)>>,
    /// The tickets that the client made.
    tickets: Mutex<BTreeSet<String>>,
}

impl Tampering {
    pub fn around(
        inner: Arc<dyn Store>,
        left_out: Option<LeftOut>,
        operations: usize,
    ) -> Arc<Self> {
        let (nothing, tickets) = Default::default();
        Arc::new(Self { inner, left_out, operations, nothing, tickets })
    }

    fn leaves_out(&self, part: LeftOut) -> bool {
        self.left_out == Some(part)
    }

    /// The operation of a switch as it is sent; `None` for one that is not sent.
    fn switched(&self, mut operation: Operation) -> Option<Operation> {
        let Operation { row_key, action } = &mut operation;
        let is_guard = row_key.starts_with("UNQ:");
        let left_out = match action {
            _ if !is_guard => false,
            Action::InsertOrReplace(_) => self.leaves_out(LeftOut::GuardFollows),
            Action::Delete(_) => self.leaves_out(LeftOut::GuardReleased),
            Action::Insert(body) => {
                if self.leaves_out(LeftOut::GuardInserted) {
                    *action = Action::InsertOrReplace(body.clone());
                }
                self.leaves_out(LeftOut::GuardTaken)
            }
            _ => false,
        };
        (!left_out).then_some(operation)
    }

    /// The operation of a landing as it is sent.
    fn landed(&self, mut operation: Operation) -> Operation {
        if self.leaves_out(LeftOut::IndexInserted)
            && !operation.row_key.starts_with("ROW:")
            && let Action::Insert(body) = &operation.action
        {
            operation.action = Action::InsertOrReplace(body.clone());
        }
        operation
    }

    /// The operation as it is sent; `None` for one that is not sent.
    fn tampered(&self, mut operation: Operation) -> Option<Operation> {
        let Operation { row_key, action } = &mut operation;
        if self.leaves_out(LeftOut::Marker)
            && matches!(action, Action::Insert(_))
            && is_marker(action)
        {
            return None;
        }
        if self.leaves_out(LeftOut::Ticket)
            && row_key.starts_with(TICKET_START)
            && matches!(action, Action::Delete(_))
        {
            return None;
        }
        if self.leaves_out(LeftOut::Consumed)
            && row_key.starts_with(PARCEL_START)
            && matches!(action, Action::Delete(_))
        {
            return None;
        }
        if self.leaves_out(LeftOut::MarkerNames)
            && let Action::Replace(body, _) | Action::Insert(body) = action
            && let Marked::To(marker) = Marker::of_row(body)
        {
            let row = DynamicEntity::from_json(&String::from_utf8_lossy(body)).unwrap();
            let unnamed = Marker { row_key: None, ..marker };
            *body = row.with(MOVED_TO, unnamed.text()).body().unwrap();
        }
        // Who takes a value over writes a ticket of its own into the guard.
        if self.leaves_out(LeftOut::GuardRenamed)
            && row_key == GUARD_ROW
            && let Action::Replace(body, _) = action
            && let row = DynamicEntity::from_json(&String::from_utf8_lossy(body)).unwrap()
            && let Some(Edm::String(ticket)) = row.properties.get("Ticket")
            && !self.tickets.lock().unwrap().contains(ticket)
        {
            return None;
        }
        if row_key.starts_with(TICKET_START) && matches!(action, Action::Insert(_)) {
            self.tickets.lock().unwrap().insert(row_key.clone());
        }
        if self.leaves_out(LeftOut::SwitchVersion)
            && is_marker(action)
            && let Action::Replace(body, _) = action
        {
            *action = Action::Replace(body.clone(), IfMatch::Any);
        }
        Some(operation)
    }
}

fn is_marker(action: &Action) -> bool {
    action.body().is_some_and(|body| String::from_utf8_lossy(body).contains(MOVED_TO))
}

impl Middleware for Tampering {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    fn transaction_operations(&self) -> usize {
        self.operations
    }

    async fn get(
        &self,
        table: &TableName,
        partition_key: &str,
        row_key: &str,
        select: Option<&[&str]>,
        metadata: Metadata,
    ) -> Result<Option<StoredRow>, StoreError> {
        let key = (partition_key.to_owned(), row_key.to_owned());
        let again =
            self.leaves_out(LeftOut::SecondLook) && self.nothing.lock().unwrap().remove(&key);
        if again || self.leaves_out(LeftOut::ParcelLook) && row_key.starts_with(PARCEL_START) {
            return Ok(None);
        }
        let row = self.inner.get(table, partition_key, row_key, select, metadata).await?;
        if row.is_none() {
            self.nothing.lock().unwrap().insert(key);
        }
        Ok(row)
    }

    async fn query(&self, query: &RowQuery) -> Result<Page, StoreError> {
        let mut page = self.inner.query(query).await?;
        if (self.leaves_out(LeftOut::ParcelList) || self.leaves_out(LeftOut::ParcelOfValue))
            && query.keys.row.contains("MOV:0")
            && !query.keys.row.contains("ROW:")
        {
            page.body = "{\"value\":[]}".into();
        }
        // A sweep reads all partitions.
        if self.leaves_out(LeftOut::PendingLook)
            && query.keys.row.contains("DUE:0")
            && !query.keys.row.contains("ROW:")
            && matches!(query.keys.partition, Span::Exact(_))
        {
            page.body = "{\"value\":[]}".into();
        }
        Ok(page)
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        match self.tampered(operation) {
            Some(operation) => self.inner.write(table, partition_key, operation).await,
            None => Ok(Some(version_of_nothing())),
        }
    }

    async fn commit(
        &self,
        table: &TableName,
        batch: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let Batch { partition_key, operations } = batch;
        let (count, first) = (operations.len(), operations.first().cloned());
        let is_switch = operations.iter().any(|operation| {
            matches!(operation.action, Action::Replace(..)) && is_marker(&operation.action)
        });
        let lands = operations.iter().any(|operation| {
            operation.row_key.starts_with(PARCEL_START)
                && matches!(operation.action, Action::Delete(_))
        });
        let sends_parcel = operations.iter().any(|operation| {
            operation.row_key.starts_with(PARCEL_START)
                && matches!(operation.action, Action::Insert(_))
        });
        let operations: Vec<_> = operations
            .into_iter()
            .filter(|operation| {
                let is_touch = operation.row_key.starts_with(LARGE_START) && sends_parcel;
                !(is_touch && self.leaves_out(LeftOut::ValueTouched))
            })
            .filter(|operation| {
                let is_left_out = is_switch && self.leaves_out(LeftOut::SwitchIntent)
                    || lands && self.leaves_out(LeftOut::LandingIntent);
                !(is_left_out && operation.row_key.starts_with(INTENT_START))
            })
            .filter_map(|operation| self.tampered(operation))
            .filter_map(
                |operation| {
                    if is_switch { self.switched(operation) } else { Some(operation) }
                },
            )
            .map(|operation| if lands { self.landed(operation) } else { operation })
            .collect();
        let is_shorter = operations.len() < count;
        let mut etags = self.inner.commit(table, Batch { partition_key, operations }).await?;
        if is_shorter && first.is_some() {
            etags.insert(0, Some(version_of_nothing()));
        }
        Ok(etags)
    }
}
