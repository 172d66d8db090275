//! What one transaction makes due outside its partition: the intents that it inserts beside the rows it writes, and
//! the tickets for values that are unique over all partitions.
//!
//! Invariants:
//! - A transaction that changes no row in another partition, and gives up no value, inserts no intent.
//! - What is due follows from the canonical rows as they were and as they will be stored.

use super::due_entry::DueEntry;
use super::eventual_rows::EventualRows;
use super::eventual_type::EventualType;
use super::intent::{self, Intent};
use super::tickets_first::Prepared;
use super::unique::TICKET;
use super::unique_value::{UniqueValue, unique_values};
use crate::entity::{
    EntityRow, InvalidEntity, Loaded, RowHead, TableEntity, canonical, changed_copies,
    copied_total, has_sum_copies, reaches_across, read_row, stays_in_partition,
};
use crate::error::Result;
use crate::key::{KeyError, KeyFault};
use crate::model::ETag;
use crate::plan::{Cover, TableClient};
use crate::store::{Action, Batch, IfMatch, Operation};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

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
    pub(super) covers: Vec<(&'static str, Arc<Cover>)>,
    /// The rows in other partitions of the entities as they will be, by the RowKey of the canonical row.
    pub(super) rows: BTreeMap<String, EventualRows>,
    /// The tickets that are made before the transaction, in the order of the intents.
    pub(super) prepared: Vec<Option<Prepared>>,
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

    pub(super) fn rows(&self) -> impl Iterator<Item = &(EventualType, Intent)> {
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

    pub(super) fn append_inserts(&self, client: &TableClient, batch: &mut Batch) -> Result<()> {
        for (kind, intent) in &self.intents {
            batch.operations.push(intent.insert(client, *kind)?);
        }
        Ok(())
    }
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
