//! Lists, counts and scans over both forms.
//!
//! Invariant: old rows are read first, then parcels, then new rows. Entities go one way only, so one that is there all
//! the time is seen; of several readings of one, the last counts.

use super::migrates::Migrates;
use super::migrating::Migrating;
use super::old_key::old_partitions;
use super::old_place::{AtOld, OldEntity, canonical_key};
use crate::entity::{EntityRows, FromRow, Query, Row, RowHead, RowOf, canonical, keys_of};
use crate::error::{MigrationError, Result};
use crate::plan::CanonicalKey;
use crate::query::{KeyRange, ScanPermit, Span};
use std::collections::BTreeMap;

/// The entities that were read, by their new canonical keys, and where a query finds each.
struct Readings<E> {
    keys: KeyRange,
    /// The row by which it is asked for.
    row: usize,
    found: BTreeMap<CanonicalKey, (RowHead, E)>,
}

impl<E: Migrates> Readings<E> {
    /// Takes a reading, which replaces an earlier one of the same entity.
    fn take(&mut self, entity: E, rows: &EntityRows) {
        let key = canonical_key(rows);
        self.found.remove(&key);
        let Some(row) = rows.rows.iter().find(|row| row.index == self.row) else { return };
        let partition_key = rows.partition_key.clone();
        if self.keys.partition.contains(&partition_key) && self.keys.row.contains(&row.row_key) {
            let head = RowHead { partition_key, row_key: row.row_key.clone() };
            self.found.insert(key, (head, entity));
        }
    }

    /// The entities in key order.
    fn in_order(self) -> Vec<E> {
        let mut entities: Vec<_> = self.found.into_values().collect();
        entities.sort_by(|(one, _), (other, _)| one.cmp(other));
        entities.into_iter().map(|(_, entity)| entity).collect()
    }
}

impl<E: Migrates> Migrating<E> {
    /// Reads the entities of a query of one partition, of both forms, in key order. Reads all old rows of the partition
    /// that they come from, whatever the query, and of each where the old shards are not a divisor of the new ones. Three requests for each 1000 rows, and one for each entity on its way;
    /// two where old and new rows are in one partition. Holds all entities in memory.
    ///
    /// # Errors
    /// [`MigrationError::ManyPartitions`] when the old rows may be in any partition. When a row cannot be read.
    pub async fn list<Q>(&self, query: Q) -> Result<Vec<E>>
    where
        Q: Query + Clone,
        Q::Row: RowOf<E> + 'static,
        E: FromRow<Q::Row>,
    {
        let keys = keys_of(query.clone())?;
        let new = match &keys.partition {
            Span::Exact(key) => Some(key.clone()),
            _ => None,
        };
        let places = new.and_then(|new| Some((old_partitions::<E>(&new)?, new)));
        let Some((old, new)) = places else {
            return Err(MigrationError::ManyPartitions { entity: E::NAME }.into());
        };
        let row = <Q::Row as Row>::INDEX;
        let mut readings = Readings { keys, row, found: BTreeMap::new() };
        let mut travels = false;
        for partition_key in old {
            let old = CanonicalKey { partition_key, row_key: String::new() };
            travels = travels || !self.is_together(&old, &new);
            self.read_old(Span::Exact(old.partition_key), &mut readings).await?;
        }
        if travels {
            self.read_parcels(Span::Exact(new), &mut readings).await?;
        }
        for entity in self.new.list(query).collect().await? {
            let rows = EntityRows::of_stored(&entity)?;
            readings.take(entity, &rows);
        }
        Ok(readings.in_order())
    }

    /// Counts the entities of a query of one partition, of both forms. Reads them as [`list`](Self::list) does.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub async fn count<Q>(&self, query: Q) -> Result<u64>
    where
        Q: Query + Clone,
        Q::Row: RowOf<E> + 'static,
        E: FromRow<Q::Row>,
    {
        Ok(self.list(query).await?.len() as u64)
    }

    /// Reads all entities of the table, of both forms, in the order of their new keys: the whole old form, then the
    /// parcels, then the whole new form. Holds all entities in memory.
    ///
    /// # Errors
    /// When the store rejects a request, or a row cannot be read.
    pub async fn scan(&self, _permit: &ScanPermit) -> Result<Vec<E>> {
        let keys = KeyRange { partition: Span::All, row: Span::All };
        let row = canonical::<E>();
        let mut readings = Readings { keys, row, found: BTreeMap::new() };
        self.read_old(Span::All, &mut readings).await?;
        self.read_parcels(Span::All, &mut readings).await?;
        let mut invalid = Ok(());
        self.new_pass(|loaded| match loaded.stored_rows() {
            Ok(rows) => readings.take(loaded.into_inner(), &rows),
            Err(error) => invalid = Err(error),
        })
        .await?;
        invalid?;
        Ok(readings.in_order())
    }

    async fn read_old(&self, partition: Span, readings: &mut Readings<E>) -> Result<()> {
        self.old_pass(partition, |row| {
            if let AtOld::Entity(stored) = row.is? {
                let old = OldEntity::<E>::of(&stored)?;
                readings.take(old.entity, &old.rows);
            }
            Ok(())
        })
        .await
    }

    async fn read_parcels(&self, partition: Span, readings: &mut Readings<E>) -> Result<()> {
        for parcel in self.parcels_in(partition).await? {
            if self.origin(&parcel).await?.names(&parcel.place.row_key) {
                readings.take(parcel.entity, &parcel.rows);
            }
        }
        Ok(())
    }
}
