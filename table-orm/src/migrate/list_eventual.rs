//! A part of a list by a row in another partition, over both forms.
//!
//! A row in another partition says which entity to look for. Its canonical row, or its parcel, says what it is now, and
//! whether the query asks for it.
//!
//! Invariant: the rows of the old form are read before those of the new one, and those of an entity that has left its old
//! key follow it first, or it is read under its new key. So no entity that moves meanwhile is missed.

use super::kinds::Kinds;
use super::migrates::Migrates;
use super::migrating::Migrating;
use super::old_key::old_key;
use super::old_place::{AtOld, OldEntity};
use super::pages::{Part, behind, earlier, from, lower_bound, partition_of};
use super::readings::Readings;
use crate::entity::{
    EntityRows, EventualHead, ReadRow as _, Row, RowHead, TableEntity, eventual_rows_from,
    home_key, is_of_table, read_row, split_page,
};
use crate::error::{Error, MigrationError, Result};
use crate::model::{MAX_PAGE_ROWS, TableName};
use crate::plan::{CanonicalKey, TableClient};
use crate::query::{Filter, KeyRange, RowQuery, Span};
use crate::repo::MAX_PARALLEL_GETS;
use crate::sync::Concurrent;
use bytes::Bytes;
use std::collections::BTreeSet;

/// An entity as it counts now, with the rows of its new form, and the row that was read.
type Current<E> = (E, EntityRows, Bytes);

impl<E: Migrates> Migrating<E> {
    /// Reads at most that many entities of a query of rows in another partition.
    pub(super) async fn read_eventual_part<R: Row<Entity = E>>(
        &self,
        keys: KeyRange,
        filter: Option<&Filter>,
        most: usize,
    ) -> Result<Part<E>> {
        let many = || MigrationError::ManyPartitions { entity: E::NAME };
        let (new, kinds) = partition_of(&keys).zip(Kinds::of::<E>(R::INDEX)).ok_or_else(many)?;
        let partitions = kinds.old_partitions::<E>(&new).ok_or_else(many)?;
        let mut readings = Readings::of(keys, R::INDEX, self.only_alive(filter), most);
        let mut until = None;
        for partition_key in partitions {
            let read = self.read_old_kind(&kinds, partition_key, &new, most, &mut readings).await?;
            until = earlier(until, read);
        }
        let read = self.read_new_kind::<R>(most, &mut readings).await?;
        let until = earlier(earlier(until, read), readings.cut.clone());
        Ok(Part::of(readings, until, most))
    }

    /// Reads the rows of the old form in a partition, and the entity of each. Where their keys sort like the new ones, it
    /// reads those of the range, and ends when there are enough; it returns the last new RowKey up to which all were
    /// read.
    async fn read_old_kind(
        &self,
        kinds: &Kinds,
        old: String,
        new: &str,
        most: usize,
        readings: &mut Readings<E>,
    ) -> Result<Option<String>> {
        let client = &self.old.client;
        let mut row = kinds.old.row.span();
        if kinds.is_sorted
            && let Some(lower) =
                lower_bound(&readings.keys.row, |row_key| kinds.old_row_key::<E>(new, row_key))
        {
            row = from(row, lower);
        }
        let keys = KeyRange { partition: Span::Exact(old), row };
        let query = RowQuery::new(kinds.old.table_of(&client.table), keys);
        let top = kinds.is_sorted.then(|| page_size(most));
        let mut pages = client.pages(RowQuery { top, ..heads(query) });
        let mut taken = 0;
        while let Some(body) = pages.next().await? {
            let found = homes::<E::Old>(&client.table, kinds.old_index, &body)?;
            let read = found.into_iter().map(|(head, home)| async move {
                Ok::<_, Error>((head, self.current_of(home).await?))
            });
            let mut last = None;
            for (head, current) in Concurrent::in_order(read, MAX_PARALLEL_GETS).try_all().await? {
                for (entity, rows, stored) in &current {
                    let found = self.take_eventual(entity, rows, stored, readings)?;
                    taken += found.len();
                    // The row that was read says where this is only if the entity still has it.
                    if let [found] = &*found
                        && has_old_row::<E>(client, kinds, entity, &head)?
                    {
                        last = Some(found.row_key.clone());
                    }
                }
            }
            if !kinds.is_sorted {
                continue;
            }
            if behind(&readings.keys.row, last.as_deref()).is_none() {
                return Ok(None);
            }
            if let Some(last) = last
                && pages.continues()
                && taken >= most
            {
                return Ok(Some(last));
            }
        }
        Ok(None)
    }

    /// Reads the rows of the new form, and the entity of each. Returns the last RowKey up to which all were read.
    async fn read_new_kind<R: Row<Entity = E>>(
        &self,
        most: usize,
        readings: &mut Readings<E>,
    ) -> Result<Option<String>> {
        let client = &self.new.client;
        let query = client.query_of::<R>(readings.keys.clone());
        let query = readings.filter.clone().into_iter().fold(heads(query), RowQuery::and);
        let mut pages = client.pages(RowQuery { top: Some(page_size(most)), ..query });
        let (mut count, mut asked) = (0, BTreeSet::new());
        while let Some(body) = pages.next().await? {
            let found = homes::<E>(&client.table, R::INDEX, &body)?;
            let last = found.last().map(|(head, _)| head.row_key.clone());
            count += found.len();
            let homes = found.into_iter().map(|(_, home)| home);
            let new: Vec<_> = homes.filter(|home| asked.insert(home.clone())).collect();
            let read = new.into_iter().map(|home| self.current_at(home));
            let read = Concurrent::in_order(read, MAX_PARALLEL_GETS).try_all().await?;
            for (entity, rows, stored) in read.into_iter().flatten() {
                self.take_eventual(&entity, &rows, &stored, readings)?;
            }
            if count >= most && pages.continues() {
                return Ok(last);
            }
        }
        Ok(None)
    }

    /// The entities that an old key stands for now: in its old form, in the parcel, or under a new key as long as its
    /// rows in other partitions have to follow it.
    async fn current_of(&self, old: CanonicalKey) -> Result<Vec<Current<E>>> {
        let marker = match AtOld::<E::Old>::read(&self.old.client, &old).await? {
            AtOld::Entity(stored) => {
                let old = OldEntity::<E>::of(&stored)?;
                let row = Bytes::copy_from_slice(old.stored());
                return Ok(vec![(old.entity, old.rows, row)]);
            }
            AtOld::Nothing => return Ok(Vec::new()),
            AtOld::Marker(marker) => marker,
        };
        if let Some(parcel) = self.parcel(&marker, &old).await? {
            return Ok(vec![(parcel.entity, parcel.rows, parcel.stored)]);
        }
        let mut current = Vec::new();
        for pending in self.pending(&marker, &old).await? {
            for entry in pending.intent.due {
                let partition_key = marker.partition_key.clone();
                let key = CanonicalKey { partition_key, row_key: entry.canonical };
                // An intent may be of several entities.
                if old_key::<E>(&key).as_ref() == Some(&old) {
                    current.extend(self.current_at(key).await?);
                }
            }
        }
        Ok(current)
    }

    /// The entity of a new key.
    async fn current_at(&self, new: CanonicalKey) -> Result<Option<Current<E>>> {
        let Some(loaded) = self.at_new(&new).await? else { return Ok(None) };
        let (rows, stored) = (loaded.stored_rows()?, loaded.stored().clone());
        Ok(Some((loaded.into_inner(), rows, stored)))
    }

    /// Takes a reading of an entity. Returns the keys by which the query finds it.
    fn take_eventual(
        &self,
        entity: &E,
        rows: &EntityRows,
        stored: &[u8],
        readings: &mut Readings<E>,
    ) -> Result<Vec<RowHead>> {
        let all = eventual_rows_from(&self.new.client.table, entity)?;
        let index = readings.row;
        let of_kind = all.iter().filter(|row| row.index == index);
        let of_kind = of_kind.map(|row| (&row.partition_key, &row.row_key, &row.body));
        Ok(readings.take_rows(rows, entity, of_kind, stored))
    }
}

/// How many rows a page has that is to give that many entities.
fn page_size(most: usize) -> u16 {
    u16::try_from(most.clamp(MAX_PARALLEL_GETS, usize::from(MAX_PAGE_ROWS)))
        .unwrap_or(MAX_PAGE_ROWS)
}

/// The query of the keys of rows in other partitions.
fn heads(query: RowQuery) -> RowQuery {
    RowQuery { select: EventualHead::select(), metadata: EventualHead::METADATA, ..query }
}

/// The rows of a page, with the keys of their entities.
fn homes<T: TableEntity>(
    home: &TableName,
    index: usize,
    page: &[u8],
) -> Result<Vec<(RowHead, CanonicalKey)>> {
    let mut found = Vec::new();
    for row in split_page(page)? {
        let EventualHead { keys, home_table } = read_row(0, row.get().as_bytes())?;
        let key = home_key::<T>(index, &keys.partition_key, &keys.row_key);
        if let Some((partition_key, row_key)) = key
            && is_of_table::<T>(index, home, home_table.as_deref())
        {
            found.push((keys, CanonicalKey { partition_key, row_key }));
        }
    }
    Ok(found)
}

/// Whether the old form of an entity has that row in another partition.
fn has_old_row<E: Migrates>(
    client: &TableClient,
    kinds: &Kinds,
    entity: &E,
    head: &RowHead,
) -> Result<bool> {
    let rows = eventual_rows_from(&client.table, &E::Old::from(entity.clone()))?;
    Ok(rows.iter().any(|row| {
        row.index == kinds.old_index
            && row.partition_key == head.partition_key
            && row.row_key == head.row_key
    }))
}
