//! What the canonical row of an entity says about the rows that were found of it.

use super::found_row::{FoundRow, listed};
use crate::entity::{
    Loaded, Row, SkipUnreadable, TableEntity, has_row, is_alive, is_of_table, split_page,
};
use crate::error::Result;
use crate::plan::{CanonicalKey, TableClient};
use crate::query::{Filter, RowQuery};
use crate::repo::maintenance::{EventualRowKeys, MaintainedType, settle};
use crate::store::StoredRow;
use bytes::Bytes;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;

/// An entity of which rows were found: its canonical key, and these rows with their places.
#[derive(Debug)]
pub struct Candidate {
    pub home: CanonicalKey,
    rows: Vec<(usize, FoundRow)>,
}

impl Candidate {
    /// One for each row.
    pub fn each_row(found: &[FoundRow]) -> Vec<Self> {
        let rows = found.iter().cloned().enumerate();
        rows.map(|(place, row)| Self { home: row.home.clone(), rows: vec![(place, row)] }).collect()
    }

    /// One for each entity, in the order of their first rows, except those that are `taken` already.
    pub fn each_entity(found: &[FoundRow], taken: &BTreeSet<CanonicalKey>) -> Vec<Self> {
        let mut candidates: Vec<Self> = Vec::new();
        let mut known: BTreeMap<_, usize> = BTreeMap::new();
        for candidate in Self::each_row(found) {
            match known.entry(candidate.home.clone()) {
                _ if taken.contains(&candidate.home) => {}
                Entry::Occupied(at) => candidates[*at.get()].rows.extend(candidate.rows),
                Entry::Vacant(at) => {
                    at.insert(candidates.len());
                    candidates.push(candidate);
                }
            }
        }
        candidates
    }

    /// The place of its first row.
    pub fn first_place(&self) -> usize {
        self.rows.first().map_or(0, |(place, _)| *place)
    }
}

/// An entity that has one of the rows that were found: the first such place, and its canonical key.
pub type Confirmed<E> = (usize, (CanonicalKey, Loaded<E>));

/// What the canonical row of a candidate must say.
#[derive(Debug)]
pub struct Check<R> {
    /// The table of the canonical rows.
    pub client: TableClient,
    pub filter: Option<Filter>,
    pub skip: Option<SkipUnreadable>,
    /// Whether rows in other partitions that the entity does not have are brought in step.
    pub settles: bool,
    pub row: PhantomData<fn() -> R>,
}

impl<E: TableEntity, R: Row<Entity = E>> Check<R> {
    /// The entity as it is now; `None` where it has none of the rows that were found.
    pub async fn confirm(&self, candidate: Candidate) -> Result<Option<Confirmed<E>>> {
        let Candidate { home, rows } = candidate;
        let loaded = self.canonical(&home).await?;
        let (mut first, mut stale) = (None, Vec::new());
        let home_table = &self.client.table;
        for (place, FoundRow { keys, home_table: stated, .. }) in &rows {
            let keys = (&*keys.partition_key, &*keys.row_key);
            match &loaded {
                Some(loaded) if has_row(&**loaded, R::INDEX, keys)? => {
                    first = first.or(Some(*place))
                }
                _ if !self.settles => {}
                _ if !is_of_table::<E>(R::INDEX, home_table, stated.as_deref()) => {}
                _ => stale.extend(EventualRowKeys::of(
                    MaintainedType::of::<E>(),
                    &self.client,
                    R::INDEX,
                    keys,
                )),
            }
        }
        if !stale.is_empty() {
            // A row is left as it is where that fails: who settles its entity will find it.
            let _ =
                settle(MaintainedType::of::<E>(), &self.client, &home.partition_key, &stale).await;
        }
        Ok(first.zip(loaded.map(|loaded| (home, loaded))))
    }

    async fn canonical(&self, key: &CanonicalKey) -> Result<Option<Loaded<E>>> {
        let Some(StoredRow { body, header }) = self.stored(key).await? else { return Ok(None) };
        if !is_alive::<E>(&body, self.client.read_time()) {
            return Ok(None);
        }
        listed(Loaded::read(body, header), self.skip.as_ref())
    }

    /// The canonical row of that key, if it meets the filter, which the store evaluates.
    async fn stored(&self, key: &CanonicalKey) -> Result<Option<StoredRow>> {
        let query = RowQuery { filter: self.filter.clone(), ..self.client.point_of::<E>(key) };
        if query.filter.is_none() {
            return self.client.row(&query).await;
        }
        let mut pages = self.client.pages(query);
        while let Some(page) = pages.next().await? {
            if let Some(row) = split_page(&page)?.first() {
                let body = Bytes::copy_from_slice(row.get().as_bytes());
                return Ok(Some(StoredRow { body, header: None }));
            }
        }
        Ok(None)
    }
}
