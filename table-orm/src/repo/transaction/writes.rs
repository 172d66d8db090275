//! The operations of a transaction as they are collected and sent.
//!
//! Invariants: all operations are of one table and one partition; no two operations write the same row;
//! there are at most as many as the store takes. A transaction that breaks a rule sends nothing.

use crate::entity::{
    LargeType, ReportedType, Row, SummedType, TableEntity, WholePartition, body as row_body,
};
use crate::error::{Result, TransactionError};
use crate::eventual::{ExpiringType, Intents, Settling};
use crate::key::KeyError;
use crate::model::ETag;
use crate::plan::{EntityContext, Plan, TableClient, combine};
use crate::property::{PropertiesWriter, PropertyError};
use crate::query::{KeyRange, Span};
use crate::repo::fault::Fault;
use crate::store::{Action, Batch, IfMatch, Operation};
use bytes::Bytes;
use std::{fmt, mem};

/// What still fits into a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Room {
    /// Operations: one for each row that is written. Those that the transaction may need for
    /// [totals](crate::Sum), [events](crate::outbox) and [large values](crate::property::Large) are subtracted
    /// already; `plan` shows them.
    pub operations: usize,
    /// Bytes of the request, of the 4 MiB that the service takes.
    pub bytes: usize,
}

/// The operations of a transaction.
pub(crate) struct Writes<'a> {
    pub client: TableClient,
    /// The table that the derive of the entities names. The entities may be stored in another one.
    pub table: &'static str,
    pub batch: Batch,
    /// What each operation belongs to.
    entries: Vec<Entry>,
    members: Vec<Member<'a>>,
    /// What it makes due in other partitions.
    pub intents: Intents,
    pub settling: Settling,
    /// Whether the row keys ascend, as they mostly do. Otherwise each new one is compared with all.
    ascends: bool,
    /// Whether one operation may belong to several entities.
    shares: bool,
    fault: Option<Fault>,
}

/// What an operation belongs to.
#[derive(Clone, Copy)]
struct Entry {
    context: EntityContext,
    /// Whether it only requires a version.
    requires: bool,
}

/// One entity of a transaction.
struct Member<'a> {
    /// The operation that returns its new version. Without one, the version that the entity keeps.
    version: Result<usize, Option<ETag>>,
    /// Stores the new version in a loaded entity.
    written: Option<Written<'a>>,
}

pub(super) type Written<'a> = Box<dyn FnOnce(ETag) + Send + 'a>;

impl fmt::Debug for Writes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entities: Vec<_> = self.entries.iter().map(|entry| entry.context.entity).collect();
        f.debug_struct("Writes")
            .field("batch", &self.batch)
            .field("entities", &entities)
            .field("fault", &self.fault)
            .finish_non_exhaustive()
    }
}

impl<'a> Writes<'a> {
    /// No operations, in that partition.
    pub fn new<Q: WholePartition>(client: TableClient, partition: Q) -> Self {
        Self::in_partition(client, <Q::Row as Row>::Entity::TABLE, partition_key(partition))
    }

    /// No operations, in the partition of that key.
    pub fn in_partition(
        client: TableClient,
        table: &'static str,
        partition_key: Result<String, KeyError>,
    ) -> Self {
        let (partition_key, fault) = match partition_key {
            Ok(key) => (key, None),
            Err(error) => (String::new(), Some(error.into())),
        };
        // Each operation has a context of its own.
        let context = EntityContext::untyped(client.context.entity);
        Self {
            client: TableClient { context, ..client },
            table,
            batch: Batch { partition_key, operations: Vec::new() },
            entries: Vec::new(),
            members: Vec::new(),
            intents: Intents::default(),
            settling: Settling::default(),
            ascends: true,
            shares: false,
            fault,
        }
    }

    /// No operations, in the same partition.
    pub fn emptied(&self) -> Self {
        let partition_key = Ok(self.batch.partition_key.clone());
        let settling = self.settling.clone();
        Self { settling, ..Self::in_partition(self.client.clone(), self.table, partition_key) }
    }

    /// The same operations, which return no version.
    pub fn copy(&self) -> Writes<'static> {
        let Self { client, table, batch, entries, intents, settling, fault, .. } = self;
        Writes {
            client: client.clone(),
            table,
            batch: batch.clone(),
            entries: entries.clone(),
            members: Vec::new(),
            intents: intents.clone(),
            settling: settling.clone(),
            ascends: self.ascends,
            shares: self.shares,
            fault: fault.clone(),
        }
    }

    pub fn len(&self) -> usize {
        self.batch.operations.len() + self.intents.len()
    }

    pub fn room(&self) -> Room {
        let mut batch = self.batch.clone();
        // A transaction whose intent is too large fails when it is committed.
        let _ = self.intents.append_to(&self.client, &mut batch);
        let measured = self.intents.sender(&self.client).measure(batch);
        Room {
            operations: measured.most.saturating_sub(self.len() + measured.more),
            bytes: measured.room.saturating_sub(measured.bytes),
        }
    }

    pub fn plan(&self) -> Result<Plan> {
        self.check()?;
        self.intents.plan(&self.client, self.batch.clone(), &self.settling)
    }

    /// Fails if a call broke a rule, so that nothing is sent.
    pub fn check(&self) -> Result<()> {
        self.fault.clone().map_or(Ok(()), |fault| Err(fault.into()))
    }

    pub async fn commit(self) -> Result<Vec<Option<ETag>>> {
        self.check()?;
        let Self { client, batch, entries, mut members, mut intents, settling, shares, .. } = self;
        let sent = match batch.operations.len() {
            0 => Ok(Vec::new()),
            // Only canonical rows are deleted under their ETag.
            _ => intents.send(&client, batch, None, &settling).await,
        };
        let mut etags = sent.map_err(|error| {
            let failed = error.rejection().and_then(|rejection| rejection.operation);
            match failed.and_then(|(index, _)| entries.get(index)) {
                Some(entry) => entry.context.attribute(error),
                None => error,
            }
        })?;
        // Before the rest, which a deadline may cut short.
        for Member { version, written } in &mut members {
            if let (Ok(index), Some(written)) = (&*version, written.take())
                && let Some(Some(etag)) = etags.get(*index)
            {
                written(etag.clone());
            }
        }
        intents.settle(&client, &etags, &settling).await;
        let returned = members.into_iter().map(|member| match member.version {
            Ok(index) if shares => etags.get(index)?.clone(),
            Ok(index) => etags.get_mut(index)?.take(),
            Err(kept) => kept,
        });
        Ok(returned.collect())
    }

    /// Adds a write of one row that belongs to no entity.
    pub fn single(&mut self, context: EntityContext, operation: Operation) {
        self.ascends &= self.batch.operations.is_empty();
        self.members.push(Member { version: Ok(self.batch.operations.len()), written: None });
        self.batch.operations.push(operation);
        self.entries.push(Entry { context, requires: false });
        self.check_count();
    }

    /// Requires that a row still has that version: of the operation on the row if there is one, else of
    /// one that changes nothing. Returns the operation that cannot take effect under it.
    pub fn require_row(
        &mut self,
        context: EntityContext,
        row_key: &str,
        etag: &ETag,
    ) -> Result<(), Operation> {
        if let Some(operation) = self.operation_on(row_key) {
            match operation.action.under(etag) {
                Some(under) => operation.action = under,
                None if operation.action.etag() == Some(etag) => {}
                None => return Err(operation.clone()),
            }
            return Ok(());
        }
        match requirement(&self.batch.partition_key, row_key.to_owned(), etag.clone()) {
            Ok(batch) => {
                self.batch.operations.extend(batch.operations);
                self.entries.push(Entry { context, requires: true });
                self.check_count();
            }
            Err(error) => self.fail(error),
        }
        Ok(())
    }

    /// Requires that a row is still absent if an operation would insert it. Returns the operation that
    /// needs the row.
    pub fn require_absent(&mut self, row_key: &str) -> Result<(), Operation> {
        let Some(operation) = self.operation_on(row_key) else { return Ok(()) };
        match operation.action.if_absent() {
            Some(insert) => operation.action = insert,
            None if matches!(operation.action, Action::Insert(_)) => {}
            None => return Err(operation.clone()),
        }
        Ok(())
    }

    fn operation_on(&mut self, row_key: &str) -> Option<&mut Operation> {
        self.batch.operations.iter_mut().find(|operation| operation.row_key == row_key)
    }

    /// Moves these operations before the others: the service names the first one that fails.
    pub fn move_first(&mut self, first: impl Fn(&Operation) -> bool) {
        let operations = mem::take(&mut self.batch.operations).into_iter();
        let mut all: Vec<_> = operations.zip(mem::take(&mut self.entries)).enumerate().collect();
        all.sort_by_key(|(_, (operation, _))| !first(operation));
        let mut places = vec![0; all.len()];
        for (place, (before, (operation, entry))) in all.into_iter().enumerate() {
            places[before] = place;
            self.batch.operations.push(operation);
            self.entries.push(entry);
        }
        for index in self.members.iter_mut().filter_map(|member| member.version.as_mut().ok()) {
            *index = places[*index];
        }
        self.ascends = false;
    }

    /// Whether a call broke a rule, so that nothing is sent.
    pub const fn is_faulty(&self) -> bool {
        self.fault.is_some()
    }

    /// Adds the operations of an entity. `version` counts among them.
    pub fn extend<E: TableEntity>(
        &mut self,
        new: Batch,
        requires: bool,
        version: Result<usize, Option<ETag>>,
        written: Option<Written<'a>>,
    ) {
        if let Err(error) = self.check_place::<E>(&new.partition_key) {
            return self.fail(error);
        }
        let is_new =
            |summed: &SummedType| self.client.summed.iter().all(|one| one.entity != summed.entity);
        let summed = SummedType::of::<E>().filter(is_new);
        self.client.summed.extend(summed);
        let is_new = |reported: &ReportedType| {
            self.client.reported.iter().all(|one| one.entity != reported.entity)
        };
        let reported = ReportedType::of::<E>().filter(is_new);
        self.client.reported.extend(reported);
        let is_new =
            |large: &LargeType| self.client.large.iter().all(|one| one.entity != large.entity);
        let large = LargeType::of::<E>().filter(is_new);
        self.client.large.extend(large);
        self.client.expiry.add(ExpiringType::of::<E>());
        let last = self.batch.operations.last();
        let in_order = last.into_iter().chain(&new.operations);
        self.ascends &= in_order.is_sorted_by(|one, next| one.row_key < next.row_key);
        let context = EntityContext::of::<E>();
        let mut written = written;
        // Of an operation that does not exist, no version is known.
        let (returned, mut version) = (version.as_ref().ok().copied(), version.and(Err(None)));
        for (index, operation) in new.operations.into_iter().enumerate() {
            match self.add(operation, Entry { context, requires }) {
                Ok(place) => {
                    // The version is that of another body.
                    written = written.filter(|_| !requires || self.entries[place].requires);
                    if returned == Some(index) {
                        version = Ok(place);
                    }
                }
                Err(row_key) => {
                    return self.fail(TransactionError::SameRow { entity: E::NAME, row_key });
                }
            }
        }
        self.members.push(Member { version, written });
        self.check_count();
    }

    /// Checks that the rows of an entity are of the table and the partition.
    pub fn check_place<E: TableEntity>(&self, partition_key: &str) -> Result<(), TransactionError> {
        let (entity, expected, found) = (E::NAME, self.table, E::TABLE);
        if !found.eq_ignore_ascii_case(expected) {
            return Err(TransactionError::OtherTable { entity, expected, found });
        }
        if self.client.of_period && E::BUCKET.is_none() {
            return Err(TransactionError::NoPeriod { entity, table: found });
        }
        if partition_key != self.batch.partition_key {
            return Err(TransactionError::OtherPartition {
                entity: E::NAME,
                expected: self.batch.partition_key.clone(),
                found: partition_key.to_owned(),
            });
        }
        Ok(())
    }

    /// Adds an operation, or makes one of it and another on its row. Returns its index, or the RowKey if
    /// one operation cannot do both.
    fn add(&mut self, new: Operation, entry: Entry) -> Result<usize, String> {
        let here = &mut self.batch.operations;
        let same = if self.ascends {
            None
        } else {
            here.iter().position(|operation| operation.row_key == new.row_key)
        };
        let Some(place) = same else {
            here.push(new);
            self.entries.push(entry);
            return Ok(here.len() - 1);
        };
        self.shares = true;
        let (old, old_entry) = (&mut here[place].action, &mut self.entries[place]);
        // The version decides whether the operation fails, so it belongs to the entity that has one.
        let takes_over = match (old_entry.requires, entry.requires) {
            (true, requires) if old.if_match() == new.action.if_match() => {
                *old = new.action;
                if !requires {
                    // Their version would be that of another body.
                    let required = self.members.iter_mut().filter(|one| one.version == Ok(place));
                    required.for_each(|member| member.written = None);
                }
                true
            }
            (_, true) if old.if_match() == new.action.if_match() => false,
            _ => {
                let takes_over = new.action.if_match().is_some();
                *old = combine(old, &new.action).ok_or(new.row_key)?;
                takes_over
            }
        };
        if takes_over {
            *old_entry = entry;
        }
        Ok(place)
    }

    fn check_count(&mut self) {
        let (found, most) = (self.len(), self.client.store().transaction_operations());
        if found > most {
            self.fail(TransactionError::TooManyOperations { found, most });
        }
    }

    pub(in crate::repo) fn fail(&mut self, fault: impl Into<Fault>) {
        // The last count of too many operations is the number of all.
        let fault = fault.into();
        let counted = |fault: &Fault| {
            matches!(fault, Fault::Rule(TransactionError::TooManyOperations { .. }))
        };
        if self.fault.is_none() || self.fault.as_ref().is_some_and(counted) && counted(&fault) {
            self.fault = Some(fault);
        }
    }
}

/// The PartitionKey of a whole partition.
pub(super) fn partition_key<Q: WholePartition>(partition: Q) -> Result<String, KeyError> {
    partition.into_keys().map(|keys| complete(keys).0)
}

/// The texts of a complete key.
pub(super) fn complete(keys: KeyRange) -> (String, String) {
    let text = |span| if let Span::Exact(text) = span { text } else { String::new() };
    (text(keys.partition), text(keys.row))
}

/// The cheapest operation that fails unless the row has that version: a merge of no properties.
pub(super) fn requirement(
    partition_key: &str,
    row_key: String,
    etag: ETag,
) -> Result<Batch, PropertyError> {
    let body: Bytes = row_body(partition_key, &row_key, &PropertiesWriter::new("row"))?;
    let action = Action::Merge(body, IfMatch::ETag(etag));
    let operations = vec![Operation { row_key, action }];
    Ok(Batch { partition_key: partition_key.to_owned(), operations })
}
