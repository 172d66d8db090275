//! What one transaction needs outside its partition: the intents that it inserts beside the rows it writes, and
//! the reservations of values that are unique over all partitions.
//!
//! Invariants:
//! - A transaction that changes no row in another partition, and gives up no value, inserts no intent.
//! - What is due follows from the canonical rows as they were and as they will be stored.
//! - A transaction that gives an entity a value takes effect only while its reservation holds.
//! - Where the table has a register, the partition is named there before the first request, until nothing is left
//!   in it. What may be left after a failure stays named, and so does a partition that may have events.

use super::due_entry::DueEntry;
use super::eventual_rows::EventualRows;
use super::eventual_type::EventualType;
use super::intent::{self, Intent};
use super::pending::Pending;
use super::settle::Settler;
use super::settling::{Group, Settling};
use super::tickets_first::Prepared;
use super::unique::{Guards, Reservation, TICKET};
use super::unique_value::{UniqueValue, unique_values};
use crate::entity::{
    EVENTS, EntityRow, InvalidEntity, Loaded, RowHead, TableEntity, canonical, changed_copies,
    copied_total, has_sum_copies, reaches_across, read_row, stays_in_partition,
};
use crate::error::{Error, Result};
use crate::key::{KeyError, KeyFault};
use crate::model::ETag;
use crate::plan::{Cover, TableClient};
use crate::register::cover;
use crate::store::{Action, Batch, ErrorCode, IfMatch, Operation, StoreError, StoredRow};
use crate::sync::Backoff;
use futures_core::future::BoxFuture;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

/// How often a transaction is sent whose reservation other clients take away.
const MAX_ROUNDS: u32 = 8;
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(8);

/// What one transaction needs outside its partition.
#[derive(Debug, Clone, Default)]
pub(crate) struct Intents {
    /// The intents: one for each entity type whose rows in other partitions change, or that gives up values.
    pub(super) intents: Vec<(EventualType, Intent)>,
    /// The tickets: one for each entity type that gets values.
    pub(super) tickets: Vec<(EventualType, Intent)>,
    /// The canonical RowKeys that change, of types that report it: from one to the other.
    moves: Vec<(String, String)>,
    /// The canonical rows that it changes, as they were read, of types with large values.
    before: Vec<EntityRow>,
    /// The number that says which of its rows a total changes in, where a copy follows.
    shard: Option<u64>,
    /// What names the partition in the register of the table.
    covers: Vec<(&'static str, Arc<Cover>)>,
    /// The rows in other partitions of the entities as they will be, by the RowKey of the canonical row.
    pub(super) rows: BTreeMap<String, EventualRows>,
    /// The tickets that are made before the transaction, in the order of the intents.
    prepared: Vec<Option<Prepared>>,
}

/// What the entity of one canonical row has in other partitions.
#[derive(Default)]
struct OtherPartitions {
    rows: EventualRows,
    values: Vec<UniqueValue>,
}

impl OtherPartitions {
    fn of<E: TableEntity>(
        client: &TableClient,
        row: Option<&EntityRow>,
    ) -> Result<Self, InvalidEntity> {
        let Some(row) = row else { return Ok(Self::default()) };
        let entity = read_row::<E>(canonical::<E>(), &row.body)?;
        let rows = EventualRows::of(&client.table, &entity)?;
        Ok(Self { rows, values: unique_values(&entity)? })
    }

    /// The values that the other one does not have.
    fn values_not_of(&self, other: &Self) -> Vec<UniqueValue> {
        self.values.iter().filter(|value| !other.values.contains(value)).cloned().collect()
    }
}

impl Intents {
    /// The same for entities that only change their keys: each keeps its values that are unique over all partitions, so
    /// none is taken or given up.
    pub fn keeping_values(mut self) -> Self {
        self.tickets.clear();
        for (_, intent) in &mut self.intents {
            intent.due.iter_mut().for_each(|entry| entry.values.clear());
        }
        drop_empty(&mut self.intents);
        self
    }

    /// Adds what the write of one entity makes due: the canonical row before and after.
    pub fn add<E: TableEntity>(
        &mut self,
        client: &TableClient,
        partition_key: &str,
        old: Option<&EntityRow>,
        new: Option<&EntityRow>,
    ) -> Result<(), InvalidEntity> {
        if let (Some(_), Some(old), Some(new)) = (E::OUTBOX, old, new)
            && old.row_key != new.row_key
        {
            self.moves.push((old.row_key.clone(), new.row_key.clone()));
        }
        if !E::OVERFLOW.is_empty() {
            self.before.extend(old.cloned());
        }
        if const { stays_in_partition::<E>() } || !reaches_across::<E>() {
            return Ok(());
        }
        let (before, after) =
            (OtherPartitions::of::<E>(client, old)?, OtherPartitions::of::<E>(client, new)?);
        let none = EventualRows::default();
        let entries = match (old, new) {
            (Some(old), Some(new)) if old.row_key != new.row_key => {
                if !(before.values.is_empty() && after.values.is_empty()) {
                    let (value, fault) = (new.row_key.clone(), KeyFault::HasUniqueValue);
                    return Err(KeyError { entity: E::NAME, component: "", value, fault }.into());
                }
                [
                    DueEntry::of(&old.row_key, &before.rows, &none),
                    DueEntry::of(&new.row_key, &none, &after.rows),
                ]
            }
            (Some(row), _) | (None, Some(row)) => {
                let (gained, given_up) =
                    (after.values_not_of(&before), before.values_not_of(&after));
                if let Some(entry) = DueEntry::of_values(&row.row_key, gained) {
                    due_of::<E>(&mut self.tickets, TICKET, client, partition_key).push(entry);
                }
                [
                    DueEntry::of(&row.row_key, &before.rows, &after.rows),
                    DueEntry::of_values(&row.row_key, given_up),
                ]
            }
            (None, None) => [None, None],
        };
        for entry in entries.into_iter().flatten() {
            due_of::<E>(&mut self.intents, intent::START, client, partition_key).push(entry);
        }
        if let Some(row) = old.or(new) {
            keep_values(&mut self.tickets, &mut self.intents, &row.row_key);
        }
        // Another entity of the transaction may get the key, before or after.
        if let Some(old) = old {
            self.rows.entry(old.row_key.clone()).or_default();
        }
        self.rows.extend(new.map(|new| (new.row_key.clone(), after.rows)));
        self.add_copies::<E>(client, partition_key, old, new)
    }

    /// Adds the copies of totals that the write of one entity makes due: the canonical row before and after.
    pub fn add_copies<E: TableEntity>(
        &mut self,
        client: &TableClient,
        partition_key: &str,
        old: Option<&EntityRow>,
        new: Option<&EntityRow>,
    ) -> Result<(), InvalidEntity> {
        if const { !E::HAS_SUMS } || !has_sum_copies::<E>() {
            return Ok(());
        }
        let [before, after] = [old, new].map(|row| row.map(|row| &row.body));
        let totals = changed_copies::<E>(before, after)?;
        let number = *self.shard.get_or_insert_with(|| client.connection.random.next());
        for total in &totals {
            let entry =
                DueEntry::of_copy(&client.table, partition_key, total, total.shard_by(number))?;
            let due = due_of::<E>(&mut self.intents, intent::START, client, partition_key);
            // Several entities of one transaction change a total.
            if !due.contains(&entry) {
                due.push(entry);
            }
        }
        Ok(())
    }

    /// Adds what another transaction makes due, which becomes a part of this one.
    pub fn join(&mut self, other: Self) {
        join(&mut self.intents, other.intents);
        join(&mut self.tickets, other.tickets);
        self.rows.extend(other.rows);
        self.before.extend(other.before);
    }

    /// Those of one type, and the others, with the versions of their operations: `etags` are those of the transaction.
    pub fn split(self, etags: &[Option<ETag>], entity: &str) -> [(Self, Vec<Option<ETag>>); 2] {
        let first = etags.len().saturating_sub(self.intents.len());
        let inserted = self.intents.into_iter().zip(etags[first..].iter().cloned());
        let (own, others): (Vec<_>, Vec<_>) =
            inserted.partition(|((kind, _), _)| kind.entity == entity);
        let (own_covers, covers) =
            self.covers.into_iter().partition(|(covered, _)| *covered == entity);
        [(own, own_covers), (others, covers)].map(|(inserted, covers)| {
            let (intents, etags) = inserted.into_iter().unzip();
            (Self { intents, covers, ..Self::default() }, etags)
        })
    }

    /// The client that sends their transaction.
    pub fn sender<'c>(&self, client: &'c TableClient) -> Cow<'c, TableClient> {
        client.for_transaction(&self.moves, &self.before, self.shard)
    }

    /// Adds the copies of the totals in these rows, which a transaction writes.
    pub fn add_totals<'r, E: TableEntity>(
        &mut self,
        client: &TableClient,
        partition_key: &str,
        row_keys: impl IntoIterator<Item = &'r String>,
    ) -> Result<(), KeyError> {
        for row_key in row_keys {
            let Some((total, shard)) = copied_total::<E>(row_key) else { continue };
            let entry = DueEntry::of_copy(&client.table, partition_key, &total, shard)?;
            due_of::<E>(&mut self.intents, intent::START, client, partition_key).push(entry);
        }
        Ok(())
    }

    /// Adds what the write of a loaded entity makes due.
    pub fn add_loaded<E: TableEntity>(
        &mut self,
        client: &TableClient,
        loaded: &Loaded<E>,
        new: Option<&EntityRow>,
    ) -> Result<(), InvalidEntity> {
        let follows = const { !stays_in_partition::<E>() } && reaches_across::<E>();
        if !follows && const { E::OUTBOX.is_none() && E::OVERFLOW.is_empty() } {
            return Ok(());
        }
        let index = canonical::<E>();
        let RowHead { partition_key, row_key } = read_row(index, loaded.stored())?;
        let old = EntityRow { index, row_key, body: loaded.stored().clone() };
        self.add::<E>(client, &partition_key, Some(&old), new)
    }

    /// Whether what the rows of an intent are to be is known before its transaction. What the copy of a total is to be
    /// is known after it.
    pub(super) fn can_be_prepared(&self, intent: &Intent) -> bool {
        let mut entries = intent.due.iter().filter(|entry| !entry.keys.is_empty());
        entries.all(|entry| self.rows.contains_key(&entry.canonical))
    }

    /// How many operations they add.
    pub const fn len(&self) -> usize {
        self.intents.len() + self.tickets.len()
    }

    /// The UTF-16 units that an entity adds to the text of a row that its transaction shares.
    pub fn units(&self) -> usize {
        self.rows().map(|(_, row)| row.units()).max().unwrap_or_default()
    }

    /// The units that such a text can have.
    pub fn units_room(&self) -> usize {
        self.rows().map(|(kind, row)| row.units_room(*kind)).min().unwrap_or(usize::MAX)
    }

    fn rows(&self) -> impl Iterator<Item = &(EventualType, Intent)> {
        self.intents.iter().chain(&self.tickets)
    }

    /// Appends their operations to the transaction, as a plan shows them and as they are measured.
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge) when an intent has more than 1 MiB.
    pub fn append_to(&self, client: &TableClient, batch: &mut Batch) -> Result<()> {
        let consume = |(_, ticket): &(_, Intent)| {
            let action = Action::Delete(IfMatch::Any);
            Operation { row_key: ticket.row_key.clone(), action }
        };
        batch.operations.extend(self.tickets.iter().map(consume));
        self.append_inserts(client, batch)
    }

    fn append_inserts(&self, client: &TableClient, batch: &mut Batch) -> Result<()> {
        for (kind, intent) in &self.intents {
            batch.operations.push(intent.insert(client, *kind)?);
        }
        Ok(())
    }

    /// Sends a transaction with its intents, after its values are reserved, and with `tickets_first` the tickets
    /// are made. Returns the versions that its operations returned, in order. `canonical` is as for
    /// [`send_changes`](TableClient::send_changes).
    pub fn send<'f>(
        &'f mut self,
        client: &'f TableClient,
        batch: Batch,
        canonical: Option<&'f str>,
        settling: &'f Settling,
    ) -> BoxFuture<'f, Result<Vec<Option<ETag>>>> {
        Box::pin(async move {
            if !settling.tickets_first {
                return self.send_prepared(client, batch, canonical, settling, false).await;
            }
            for (kind, intent) in &self.intents {
                let partition_key = &intent.partition_key;
                let settler = Settler { home: client, kind: *kind, partition_key };
                self.prepared.push(match self.can_be_prepared(intent) {
                    true => Box::pin(settler.prepare(intent, &self.rows)).await,
                    false => None,
                });
            }
            let sent = self.send_prepared(client, batch, canonical, settling, false).await;
            // One that is not answered may take effect, and use them.
            if sent
                .as_ref()
                .is_err_and(|error| !error.is_unanswered() || error.is_refused_as_busy())
            {
                for prepared in self.prepared.drain(..).flatten() {
                    Box::pin(prepared.give_up(client)).await;
                }
            }
            sent
        })
    }

    /// Sends a transaction that is rejected where a row that it deletes does not exist.
    pub fn send_deleting_all<'f>(
        &'f mut self,
        client: &'f TableClient,
        batch: Batch,
    ) -> BoxFuture<'f, Result<Vec<Option<ETag>>>> {
        Box::pin(async move {
            self.send_prepared(client, batch, None, &Settling::default(), true).await
        })
    }

    async fn send_prepared(
        &mut self,
        client: &TableClient,
        batch: Batch,
        canonical: Option<&str>,
        settling: &Settling,
        deletes_all: bool,
    ) -> Result<Vec<Option<ETag>>> {
        // Held until the transaction is answered, or given up.
        let _events = cover_events(client, &batch).await?;
        if !self.tickets.is_empty() {
            self.cover(client, &batch.partition_key).await?;
            return Box::pin(self.send_reserved(client, batch, canonical)).await;
        }
        let mut batch = batch;
        self.append_inserts(client, &mut batch)?;
        self.cover(client, &batch.partition_key).await?;
        let sender = self.sender(client);
        let sent = match deletes_all {
            true => sender.send(batch).await,
            false => sender.send_changes(batch, canonical).await,
        };
        match &sent {
            Err(error) if error.is_unanswered() && !error.is_refused_as_busy() => {
                if let Some(found) = error.stored_as_sent() {
                    Box::pin(self.settle_found(client, found, settling)).await;
                }
            }
            Err(_) => self.covers.iter().for_each(|(_, cover)| cover.end()),
            Ok(_) => {}
        }
        sent
    }

    /// Names the partition in the register, once for each type.
    async fn cover(&mut self, client: &TableClient, partition_key: &str) -> Result<()> {
        let kinds: BTreeSet<_> = self.rows().map(|(kind, _)| kind.entity).collect();
        for kind in kinds {
            let cover = Box::pin(cover(client, kind, partition_key)).await?;
            self.covers.extend(cover.map(|cover| (kind, Arc::new(cover))));
        }
        Ok(())
    }

    /// Sends a transaction that takes values. After a failure on the way, the partition stays named: a ticket
    /// may be left.
    async fn send_reserved(
        &mut self,
        client: &TableClient,
        batch: Batch,
        canonical: Option<&str>,
    ) -> Result<Vec<Option<ETag>>> {
        let connection = &client.connection;
        let mut backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        loop {
            let reservations = self.reserve(client, &batch).await?;
            let mut attempt = batch.clone();
            attempt.operations.extend(reservations.iter().map(Reservation::consume));
            let sent = match self.append_inserts(client, &mut attempt) {
                Ok(()) => self.sender(client).send_changes(attempt, canonical).await,
                Err(error) => Err(error),
            };
            let error = match sent {
                Ok(etags) => {
                    if backoff.waits() > 0 || !reservations.iter().all(Reservation::is_clean) {
                        self.covers.clear();
                    }
                    return Ok(etags);
                }
                Err(error) => error,
            };
            for reservation in &reservations {
                reservation.give_up().await;
            }
            if !reservations.iter().any(|reservation| reservation.is_lost(&error)) {
                return Err(error);
            }
            if backoff.waits() + 1 == MAX_ROUNDS {
                let key = batch.operations.first().map_or("", |operation| &operation.row_key);
                return Err(client.changed(&batch.partition_key, key));
            }
            connection.timer.sleep(backoff.next(&connection.random)).await;
        }
    }

    /// Settles them after the answer was lost and the rows were found as they were sent: in the background, or with
    /// those of the bulk write.
    async fn settle_found(
        &self,
        client: &TableClient,
        found: &[(String, Option<StoredRow>)],
        settling: &Settling,
    ) {
        let version = |(_, intent): &(_, Intent)| {
            let (_, row) = found.iter().find(|(row_key, _)| *row_key == intent.row_key)?;
            row.as_ref()?.etag().ok()
        };
        let etags: Vec<_> = self.intents.iter().map(version).collect();
        let later = Settling { later: true, aside: settling.aside.clone(), ..Settling::default() };
        self.clone().settle(client, &etags, &later).await;
    }

    /// Settles them after the transaction was found to have taken effect, although no answer stated their
    /// versions.
    pub async fn settle_unanswered(self, client: &TableClient, settling: &Settling) {
        let mut etags = Vec::with_capacity(self.intents.len());
        for (_, Intent { partition_key, row_key, .. }) in &self.intents {
            // One that is gone was settled by somebody else; one that cannot be read is left to a sweep.
            let row = client.annotated_row(partition_key, row_key).await.ok().flatten();
            etags.push(row.and_then(|row| row.etag().ok()));
        }
        self.settle(client, &etags, settling).await;
    }

    async fn reserve(&self, client: &TableClient, batch: &Batch) -> Result<Vec<Reservation>> {
        let mut reservations = Vec::with_capacity(self.tickets.len());
        for (kind, Intent { partition_key, due, .. }) in &self.tickets {
            let guards = Guards { home: client.clone(), kind: *kind };
            match Reservation::make(guards, partition_key, due).await {
                Ok(reservation) => reservations.push(reservation),
                Err((error, entity)) => {
                    for reservation in &reservations {
                        reservation.give_up().await;
                    }
                    return Err(of_operation(error, batch, entity.as_deref()));
                }
            }
        }
        Ok(reservations)
    }

    /// Settles them after the transaction took effect. `etags` are those of its operations.
    pub fn settle<'f>(
        self,
        client: &'f TableClient,
        etags: &'f [Option<ETag>],
        settling: &'f Settling,
    ) -> BoxFuture<'f, ()> {
        // Most writes leave nothing to settle.
        if self.intents.is_empty() && self.covers.is_empty() {
            settling.done();
            return Box::pin(ready(()));
        }
        Box::pin(async move {
            let first = etags.len().saturating_sub(self.intents.len());
            let inserted = etags[first..].iter().cloned();
            let covers = self.covers;
            let mut prepared = self.prepared.into_iter();
            let mut group = |((kind, intent), etag): ((EventualType, Intent), Option<ETag>)| {
                let prepared = prepared.next().flatten().map(Box::new);
                let cover = covers.iter().find(|(other, _)| *other == kind.entity);
                let cover = cover.map(|(_, cover)| Arc::clone(cover));
                Some((kind, vec![Pending { intent, etag: etag?, written: None, cover, prepared }]))
            };
            let kinds: Vec<_> = self.intents.iter().map(|(kind, _)| kind.entity).collect();
            let groups: Option<Vec<Group>> =
                self.intents.into_iter().zip(inserted).map(&mut group).collect();
            // What only took values has left nothing.
            let ended = covers.iter().filter(|(kind, _)| !kinds.contains(kind));
            ended.for_each(|(_, cover)| cover.end());
            // Without its version, an intent is left to a sweep.
            if let Some(groups) = groups {
                settling.settle(client, groups).await;
            }
        })
    }
}

/// Names the partition in the register where the transaction may add events, for whoever hands them on.
async fn cover_events(client: &TableClient, batch: &Batch) -> Result<Option<Cover>> {
    if !client.may_add_events(batch) {
        return Ok(None);
    }
    let cover = Box::pin(cover(client, EVENTS, &batch.partition_key)).await?;
    Ok(cover.map(Cover::stay))
}

/// Keeps the values that an entity gives up and the next one under its key takes: they are neither given up nor taken.
fn keep_values(
    tickets: &mut Vec<(EventualType, Intent)>,
    intents: &mut Vec<(EventualType, Intent)>,
    canonical: &str,
) {
    let of_entity = |entry: &&mut DueEntry| entry.canonical == canonical;
    for (kind, ticket) in &mut *tickets {
        let intents = intents.iter_mut().filter(|(own, _)| own.entity == kind.entity);
        let due = intents.flat_map(|(_, intent)| &mut intent.due);
        for given_up in due.filter(of_entity) {
            for gained in ticket.due.iter_mut().filter(of_entity) {
                let kept = given_up.values.extract_if(.., |value| gained.values.contains(value));
                let kept: Vec<_> = kept.collect();
                gained.values.retain(|value| !kept.contains(value));
            }
        }
    }
    drop_empty(tickets);
    drop_empty(intents);
}

/// Drops the entries that have nothing left, and the rows without entries.
fn drop_empty(rows: &mut Vec<(EventualType, Intent)>) {
    rows.retain_mut(|(_, row)| {
        row.due.retain(|entry| entry.len() > 0);
        !row.due.is_empty()
    });
}

/// Makes one row of each type out of those of both.
fn join(own: &mut Vec<(EventualType, Intent)>, others: Vec<(EventualType, Intent)>) {
    for (kind, other) in others {
        match own.iter_mut().find(|(own, _)| own.entity == kind.entity) {
            Some((_, own)) => own.due.extend(other.due),
            None => own.push((kind, other)),
        }
    }
}

/// What the row of a type among those lists, or a new one whose name begins so.
fn due_of<'r, E: TableEntity>(
    rows: &'r mut Vec<(EventualType, Intent)>,
    start: &str,
    client: &TableClient,
    partition_key: &str,
) -> &'r mut Vec<DueEntry> {
    let kind = EventualType::of::<E>();
    let place = rows.iter().position(|(other, _)| other.entity == kind.entity);
    let place = place.unwrap_or_else(|| {
        let connection = &client.connection;
        rows.push((kind, Intent::named(start, connection, partition_key, Vec::new())));
        rows.len() - 1
    });
    &mut rows[place].1.due
}

/// The same error, with the operation that writes the entity whose value is taken.
fn of_operation(error: Error, batch: &Batch, entity: Option<&str>) -> Error {
    let mut operations = batch.operations.iter().enumerate();
    let of_entity = |(_, operation): &(usize, &Operation)| Some(&*operation.row_key) == entity;
    match (error, operations.find(of_entity)) {
        (
            Error::UniqueViolation { unique, key, holder, mut rejection },
            Some((index, operation)),
        ) => {
            rejection.operation = Some((index, operation.action.name()));
            Error::UniqueViolation { unique, key, holder, rejection }
        }
        // The entity has the value itself: another write of it was faster.
        (Error::Conflict(mut rejection), Some((index, operation)))
            if rejection.row_key == operation.row_key =>
        {
            rejection.operation = Some((index, operation.action.name()));
            if matches!(operation.action, Action::Insert(_)) {
                rejection.cause =
                    StoreError::new(ErrorCode::ENTITY_ALREADY_EXISTS, "the row exists");
                Error::AlreadyExists(rejection)
            } else {
                Error::Conflict(rejection)
            }
        }
        (error, _) => error,
    }
}
