//! A list over both forms in parts: pages, each an interval of new keys.
//!
//! Invariants:
//! - A part is read in the order old rows, parcels, new rows, and it gives only keys up to which all three were read.
//! - A part begins after the last new key that was given. So an entity whose key stays is given once, whatever form
//!   it has as each part is read.

use super::determined_key::key_of;
use super::migrates::Migrates;
use super::migrating::Migrating;
use super::old_key::old_partitions;
use super::old_place::{AtOld, OldEntity};
use super::readings::Readings;
use super::sorted::sorts_alike;
use crate::entity::{FromRow, InvalidEntity, Row, RowOf, canonical, canonical_rows, eventual_at};
use crate::error::{Error, MigrationError, Result};
use crate::model::{Continuation, EdmType, MAX_PAGE_ROWS, MOVED_TO, Metadata, order};
use crate::plan::CanonicalKey;
use crate::query::class::TableScan;
use crate::query::{
    Condition, Filter, KeyRange, PagePlace, PageStart, PageToken, RowQuery, Span, fingerprint,
};
use crate::repo::RowPage;
use std::cmp::Ordering;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Bound;

/// The pages of a [list over both forms](super::MigratingList::pages).
#[must_use = "nothing is sent until `next`"]
pub struct MigratingPages<E: Migrates, R> {
    client: Migrating<E>,
    query: Result<(KeyRange, Option<Filter>), Error>,
    size: usize,
    /// The entities still to give, where a limit was set.
    left: Option<usize>,
    place: Place,
    row: PhantomData<fn() -> R>,
}

/// Where the next page starts.
#[derive(Debug, Clone)]
enum Place {
    Start,
    /// Behind this RowKey.
    Behind(String),
    End,
}

/// Entities of consecutive keys.
pub(super) struct Part<E> {
    pub entities: Vec<E>,
    /// The RowKey after which the next part starts; `None` at the end.
    pub next: Option<String>,
}

impl<E: Migrates, R> fmt::Debug for MigratingPages<E, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MigratingPages")
            .field("query", &self.query)
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

impl<E: Migrates, R: Row> MigratingPages<E, R> {
    pub(super) fn new(
        client: Migrating<E>,
        query: Result<(KeyRange, Option<Filter>), InvalidEntity>,
        limit: Option<usize>,
        size: usize,
    ) -> Self {
        let is_size = (1..=usize::from(MAX_PAGE_ROWS)).contains(&size);
        let query = if is_size { query.map_err(Error::from) } else { Err(Error::PageSize(size)) };
        Self { client, query, size, left: limit, place: Place::Start, row: PhantomData }
    }

    /// Continues with the page of `token`. The next call fails with [`Error::Token`] when the token belongs to another
    /// query, or to one of `Repo`. A limit counts from here.
    pub fn resume(mut self, token: PageToken) -> Self {
        if let Ok((keys, filter)) = &self.query {
            let start = token.open(&self.bound(keys, filter.as_ref()));
            match start.map(|place| place.start.continuation.next_row_key) {
                Ok(Some(row_key)) => self.place = Place::Behind(row_key),
                Ok(None) => {}
                Err(error) => self.query = Err(error.into()),
            }
        }
        self
    }

    /// The query that tokens are bound to. No other has this condition.
    fn bound(&self, keys: &KeyRange, filter: Option<&Filter>) -> RowQuery {
        let query = self.client.new.client.query_of::<R>(keys.clone());
        let query = query.and(Filter::is_present(MOVED_TO, EdmType::String));
        filter.cloned().into_iter().fold(query, RowQuery::and)
    }

    /// Reads the next page. Returns `None` after the last one.
    ///
    /// # Errors
    /// - [`Error::PageSize`] and [`Error::Token`] for what was given to `pages` and `resume`.
    /// - [`MigrationError::ManyPartitions`] when the old rows may be in any partition.
    /// - When the store rejects a request, or a row cannot be read. The next call reads the same page again.
    pub async fn next(&mut self) -> Result<Option<RowPage<E>>>
    where
        R: RowOf<E> + 'static,
        E: FromRow<R>,
    {
        let after = match &self.place {
            _ if self.left == Some(0) => return Ok(None),
            Place::Start => None,
            Place::Behind(row_key) => Some(row_key.as_str()),
            Place::End => return Ok(None),
        };
        let (keys, filter) = match &self.query {
            Ok((keys, filter)) => (keys, filter.as_ref()),
            Err(_) => {
                self.place = Place::End;
                let ended = Err(Error::PageSize(self.size));
                return std::mem::replace(&mut self.query, ended).map(|_| None);
            }
        };
        let most = self.left.map_or(self.size, |left| left.min(self.size));
        let mut part = self.client.read_parts::<R>(keys, filter, after, most).await?;
        if let Some(left) = &mut self.left {
            part.entities.truncate(*left);
            *left -= part.entities.len();
        }
        let next = part.next.filter(|_| self.left != Some(0));
        let token = next.as_ref().map(|row_key| {
            let start = Continuation {
                next_partition_key: partition_of(keys),
                next_row_key: Some(row_key.clone()),
            };
            PageToken::new(
                fingerprint(&self.bound(keys, filter)),
                PagePlace::from(PageStart::from(start)),
            )
        });
        self.place = next.map_or(Place::End, Place::Behind);
        Ok(Some(RowPage { items: part.entities, next: token, previous: None }))
    }
}

pub(super) fn partition_of(keys: &KeyRange) -> Option<String> {
    match &keys.partition {
        Span::Exact(key) => Some(key.clone()),
        _ => None,
    }
}

impl<E: Migrates> Migrating<E> {
    /// Reads that many entities of a query after a RowKey, or all that are there; more, where several have the last key.
    pub(super) async fn read_parts<R: RowOf<E> + 'static>(
        &self,
        keys: &KeyRange,
        filter: Option<&Filter>,
        after: Option<&str>,
        most: usize,
    ) -> Result<Part<E>>
    where
        E: FromRow<R>,
    {
        if most == 0 {
            return Ok(Part { entities: Vec::new(), next: None });
        }
        let mut all = self.read_part::<R>(keys, filter, after, most).await?;
        // A partition may hold rows of entities that will leave it.
        while all.entities.len() < most
            && let Some(after) = all.next.take()
        {
            let left = most - all.entities.len();
            let part = self.read_part::<R>(keys, filter, Some(&after), left).await?;
            all.entities.extend(part.entities);
            all.next = part.next;
        }
        Ok(all)
    }

    /// Reads at most that many entities of a query after a RowKey.
    async fn read_part<R: RowOf<E> + 'static>(
        &self,
        keys: &KeyRange,
        filter: Option<&Filter>,
        after: Option<&str>,
        most: usize,
    ) -> Result<Part<E>>
    where
        E: FromRow<R>,
    {
        let Some(row) = behind(&keys.row, after) else {
            return Ok(Part { entities: Vec::new(), next: None });
        };
        let keys = KeyRange { partition: keys.partition.clone(), row };
        if eventual_at::<E>(R::INDEX).is_some() {
            return self.read_eventual_part::<R>(keys, filter, most).await;
        }
        let places = partition_of(&keys).and_then(|new| Some((old_partitions::<E>(&new)?, new)));
        let Some((old, new)) = places else {
            return Err(MigrationError::ManyPartitions { entity: E::NAME }.into());
        };
        let mut readings = Readings::of(keys, R::INDEX, self.only_alive(filter), most);
        let (mut until, mut travels) = (None, false);
        for partition_key in old {
            let old = CanonicalKey { partition_key, row_key: String::new() };
            travels = travels || !self.is_together(&old, &new) || self.may_be_many();
            let read = self.read_old(old.partition_key, &new, most, &mut readings).await?;
            until = earlier(until, read);
        }
        if travels {
            self.read_parcels(Span::Exact(new), &mut readings).await?;
        }
        let mut list = self.new.list_keys::<R, TableScan>(Ok(readings.keys.clone()));
        if let Some(filter) = filter {
            list = list.filter(|_| Condition::from(filter.clone()));
        }
        if most < usize::MAX {
            list = list.take(most);
        }
        let (mut count, mut last) = (0, None);
        for (head, entity) in list.with_heads().collect().await? {
            (count, last) = (count + 1, Some(head.row_key.clone()));
            readings.take_row(head, entity)?;
        }
        let until = earlier(until, last.filter(|_| count >= most));
        let until = earlier(until, readings.cut.clone());
        Ok(Part::of(readings, until, most))
    }

    /// Reads the parcels of a partition whose entities are on their way.
    async fn read_parcels(&self, partition: Span, readings: &mut Readings<E>) -> Result<()> {
        let mut parcels = self.parcels(partition);
        while let Some(parcel) = parcels.next().await? {
            if self.origin(&parcel).await?.names(&parcel.place.row_key) {
                readings.take(&parcel.entity, &parcel.rows, &parcel.stored);
            }
        }
        Ok(())
    }

    /// Reads old rows. Where their keys sort like the new ones it reads those of the range, and ends when there are
    /// enough; it returns the last new RowKey up to which all were read.
    async fn read_old(
        &self,
        old: String,
        new: &str,
        most: usize,
        readings: &mut Readings<E>,
    ) -> Result<Option<String>> {
        let is_sorted = readings.row == canonical::<E>() && sorts_alike::<E>();
        let mut row = canonical_rows::<E::Old>();
        if is_sorted && let Some(lower) = old_bound::<E>(new, &readings.keys.row) {
            row = from(row, lower);
        }
        let client = &self.old.client;
        let query = client.query(KeyRange { partition: Span::Exact(old), row });
        let mut pages = client.pages(RowQuery { metadata: Metadata::Minimal, ..query });
        let (mut taken, mut last) = (0, None);
        while let Some(body) = pages.next().await? {
            for row in self.old_rows(&body)? {
                if let AtOld::Entity(stored) = row.is? {
                    let old = OldEntity::<E>::of(&stored)?;
                    last = Some(old.new_key().row_key);
                    taken += usize::from(readings.take(&old.entity, &old.rows, old.stored()));
                }
            }
            if is_sorted && behind(&readings.keys.row, last.as_deref()).is_none() {
                return Ok(None);
            }
            if is_sorted && pages.continues() && taken >= most {
                return Ok(last);
            }
        }
        Ok(None)
    }
}

impl<E> Part<E> {
    /// The first readings, up to a key.
    pub(super) fn of(readings: Readings<E>, until: Option<String>, most: usize) -> Self {
        let mut found = readings.in_order();
        if let Some(until) = &until {
            found.retain(|(head, _)| order::compare(&head.row_key, until) != Ordering::Greater);
        }
        // Entities that share an index key come together, since the next part starts behind that key.
        let mut kept = most.min(found.len());
        while kept > 0 && kept < found.len() && found[kept].0 == found[kept - 1].0 {
            kept += 1;
        }
        let is_cut = found.len() > kept;
        found.truncate(kept);
        let last = found.last().map(|(head, _)| head.row_key.clone());
        let next = if is_cut || found.len() >= most && until.is_some() { last } else { until };
        Self { entities: found.into_iter().map(|(_, entity)| entity).collect(), next }
    }
}

/// The old RowKey from which the old rows of a range are; `None` where it is not known.
fn old_bound<E: Migrates>(new: &str, range: &Span) -> Option<Bound<String>> {
    lower_bound(range, |row_key| {
        let new = CanonicalKey { partition_key: new.to_owned(), row_key: row_key.to_owned() };
        key_of::<E::Old, E>(&new).map(|key| key.row_key)
    })
}

/// The lower bound of a range, in the old RowKeys that these new ones have.
pub(super) fn lower_bound(
    range: &Span,
    old: impl Fn(&str) -> Option<String>,
) -> Option<Bound<String>> {
    match range {
        Span::Exact(key) | Span::Between(Bound::Included(key), _) => old(key).map(Bound::Included),
        Span::Between(Bound::Excluded(key), _) => old(key).map(Bound::Excluded),
        Span::Between(Bound::Unbounded, _) | Span::All => None,
    }
}

/// The keys of a range from there on.
pub(super) fn from(range: Span, lower: Bound<String>) -> Span {
    match range {
        Span::All => Span::Between(lower, Bound::Unbounded),
        Span::Between(_, upper) => Span::Between(lower, upper),
        exact @ Span::Exact(_) => exact,
    }
}

/// The keys of a range after that one; `None` where there is none.
pub(super) fn behind(range: &Span, after: Option<&str>) -> Option<Span> {
    let Some(after) = after else { return Some(range.clone()) };
    let is_behind = |key: &str| order::compare(key, after) == Ordering::Greater;
    let lower = || Bound::Excluded(after.to_owned());
    match range {
        Span::All => Some(Span::Between(lower(), Bound::Unbounded)),
        Span::Exact(key) => is_behind(key).then(|| range.clone()),
        Span::Between(_, Bound::Included(upper) | Bound::Excluded(upper)) if !is_behind(upper) => {
            None
        }
        Span::Between(Bound::Included(own) | Bound::Excluded(own), _) if is_behind(own) => {
            Some(range.clone())
        }
        Span::Between(_, upper) => Some(Span::Between(lower(), upper.clone())),
    }
}

pub(super) fn earlier(one: Option<String>, other: Option<String>) -> Option<String> {
    match (one, other) {
        (Some(one), Some(other)) => {
            Some(if order::compare(&one, &other) == Ordering::Greater { other } else { one })
        }
        (one, other) => one.or(other),
    }
}
