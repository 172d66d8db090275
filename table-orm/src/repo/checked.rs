//! Queries of rows in other partitions, checked against the canonical rows.
//!
//! Invariant: an entity is yielded only as its canonical row has it, and only if that row says that the
//! entity has the row that was found.

use super::get::{MAX_PARALLEL_GETS, reading};
use super::list::List;
use super::listing::{Listing, only};
use super::maintenance::{RowElsewhere, settle};
use super::pages::{PageReader, Pages, RowPage, RowStream};
use crate::entity::{
    Loaded, OwnRows, ReadBackError, Row, RowHead, SkipUnreadable, TableEntity, foreign_at, has_row,
    split_page,
};
use crate::error::{Error, Result};
use crate::plan::{CanonicalKey, Plan, Step, TableClient};
use crate::query::{Filter, PageToken, RowQuery};
use crate::store::StoredRow;
use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use std::marker::PhantomData;

impl<R: Row, C, T> List<R, C, T> {
    /// Reads the entity itself for each row that the query finds in another partition.
    ///
    /// Rows in other partitions follow the entity, so a query of them may find an entity as it was. The
    /// checked query reads the canonical row of each hit: one more request, at most 16 in flight. It yields
    /// the entity as it is now. It leaves out an entity that was deleted, no longer has that row, or no
    /// longer meets the filter, and brings that row in step. It may still lack an entity whose row is not
    /// written yet.
    ///
    /// It compiles only for rows that are declared `eventual`.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "members", partition = "{user}", row = "ROOM:{room}")]
    /// # #[row(by_room, partition = "{room}", key = "USER:{user}", eventual)]
    /// # struct Member { user: String, room: String, admin: bool }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let members = Tables::in_memory()?.repo::<Member>();
    /// # members.create_table().await?;
    /// let kitchen = members.list(Member::by_room("kitchen")).checked();
    /// assert_eq!(kitchen.plan()?.steps.len(), 2);
    /// let admins = kitchen.collect().await?.into_iter().filter(|member| member.admin);
    /// assert_eq!(admins.count(), 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn checked(self) -> Checked<R> {
        const {
            assert!(
                foreign_at::<R::Entity>(R::INDEX).is_some(),
                "`checked` is for rows in other partitions, declared `eventual`; rows of the entity's \
                 own partition are always in step with it"
            );
        }
        Checked { listing: self.listing, row: PhantomData }
    }
}

/// A query of rows of kind `R` in another partition, which yields the entities as they are now. One of the
/// last methods sends it.
#[must_use = "nothing is sent until `stream`, `pages`, `collect` or another last method"]
#[derive(Debug)]
pub struct Checked<R> {
    listing: Listing,
    row: PhantomData<fn() -> R>,
}

impl<R> Clone for Checked<R> {
    fn clone(&self) -> Self {
        Self { listing: self.listing.clone(), row: PhantomData }
    }
}

impl<E, R> Checked<R>
where
    E: TableEntity + 'static,
    R: Row<Entity = E> + 'static,
{
    /// Yields at most that many entities.
    pub fn take(self, entities: usize) -> Self {
        Self { listing: self.listing.take(entities), row: PhantomData }
    }

    /// Returns the first request that it will send, and the read of canonical rows. Sends nothing.
    ///
    /// # Errors
    /// When a key or filter cannot hold one of the values.
    pub fn plan(&self) -> Result<Plan> {
        let table = self.listing.client.table.clone();
        let first = self.clone().ask(None).rows.first_request()?;
        Ok([first, Step::ReadCanonical { table }.into()].into_iter().collect())
    }

    /// Returns the answer in pages that a token resumes. Each page is one request of at most `size` rows, 1
    /// to 1000, and one for each of these rows.
    pub fn pages(self, size: usize) -> CheckedPages<R> {
        self.ask(Some(size))
    }

    /// Returns the entities one after another.
    #[must_use]
    pub fn stream(self) -> RowStream<E> {
        let pages = stream::try_unfold(self.ask(None), |mut pages| async move {
            Ok::<_, Error>(pages.next().await?.map(|page| (page.items, pages)))
        });
        let items = |page: Vec<E>| stream::iter(page.into_iter().map(Ok));
        RowStream::new(pages.map_ok(items).try_flatten())
    }

    /// Reads all entities.
    ///
    /// # Errors
    /// When a key or filter cannot hold one of the values, the store rejects a request, or a canonical row
    /// cannot be read.
    pub async fn collect(self) -> Result<Vec<E>> {
        let (mut pages, mut entities) = (self.ask(None), Vec::new());
        while let Some(page) = pages.next().await? {
            entities.extend(page.items);
        }
        Ok(entities)
    }

    /// Reads the first entity in the order of the rows. Returns `None` when nothing matches.
    ///
    /// # Errors
    /// As [`collect`](Self::collect).
    pub async fn first(self) -> Result<Option<E>> {
        Ok(self.take(1).collect().await?.pop())
    }

    /// Reads the only entity.
    ///
    /// # Errors
    /// [`Error::RowCount`] when nothing or more than one matches. Otherwise as
    /// [`collect`](Self::collect).
    pub async fn one(self) -> Result<E> {
        only(E::NAME, self.take(2).collect().await?)
    }

    /// Returns the number of entities. Reads the canonical row of each.
    ///
    /// # Errors
    /// As [`collect`](Self::collect).
    pub async fn count(self) -> Result<usize> {
        let (mut pages, mut count) = (self.ask(None), 0);
        while let Some(page) = pages.next().await? {
            count += page.len();
        }
        Ok(count)
    }

    fn ask(self, size: Option<usize>) -> CheckedPages<R> {
        let Listing { client, query, limit, skip } = self.listing;
        let own = const { OwnRows::of::<R>() };
        let filter = query.as_ref().ok().and_then(|query| query.filter.clone());
        let query = query.map(|query| reading::<RowHead>(query, &own)).map_err(Error::from);
        // Some hits may be left out, so a small limit asks for some more.
        let size = size.or(limit.map(|limit| limit.clamp(MAX_PARALLEL_GETS, MAX_PAGE)));
        let nothing = (limit == Some(0)).then_some(0);
        let rows =
            Pages::read_by(client.clone(), PageReader::<RowHead>::each(own), query, nothing, size);
        let check = Check { client, filter, skip, row: PhantomData };
        CheckedPages { rows, check, found: None, left: limit }
    }
}

/// The most rows of one request.
const MAX_PAGE: usize = crate::model::MAX_PAGE_ROWS as usize;

/// The pages of a checked query. Each is one request for rows, and one for the entity of each row.
#[must_use = "nothing is sent until `next`"]
#[derive(Debug)]
pub struct CheckedPages<R> {
    rows: Pages<RowHead>,
    check: Check<R>,
    /// Rows that are found and not checked yet.
    found: Option<RowPage<RowHead>>,
    /// The most entities still to yield.
    left: Option<usize>,
}

impl<E, R> CheckedPages<R>
where
    E: TableEntity + 'static,
    R: Row<Entity = E> + 'static,
{
    /// Continues after the page that returned `token`. The next call fails with [`Error::Token`] when the
    /// token belongs to another query.
    pub fn resume(self, token: PageToken) -> Self {
        Self { rows: self.rows.resume(token), ..self }
    }

    /// Reads the next page. Returns `None` after the last one. A page may hold fewer entities than rows
    /// were found. A page that reaches the limit of `take` is the last one, and has no token of a next one.
    ///
    /// # Errors
    /// When a key or filter cannot hold one of the values, or a canonical row cannot be read. When the store
    /// rejects a request; the next call continues there.
    pub async fn next(&mut self) -> Result<Option<RowPage<E>>> {
        if self.left == Some(0) {
            return Ok(None);
        }
        if self.found.is_none() {
            self.found = self.rows.next().await?;
        }
        let Some(found) = &self.found else { return Ok(None) };
        let most = self.left.unwrap_or(usize::MAX);
        let check = &self.check;
        let items: Vec<E> = stream::iter(found.items.clone())
            .map(|row| async move { check.entity(&row).await })
            .buffered(most.min(MAX_PARALLEL_GETS))
            .try_filter_map(|entity| async { Ok(entity) })
            .take(most)
            .try_collect()
            .await?;
        let found = self.found.take();
        let (next, previous) = found.map_or((None, None), |found| (found.next, found.previous));
        if let Some(left) = &mut self.left {
            *left -= items.len();
        }
        Ok(Some(RowPage { items, next: next.filter(|_| self.left != Some(0)), previous }))
    }
}

/// What the canonical row of a hit must say.
#[derive(Debug)]
struct Check<R> {
    /// The table of the canonical rows.
    client: TableClient,
    filter: Option<Filter>,
    skip: Option<SkipUnreadable>,
    row: PhantomData<fn() -> R>,
}

impl<E: TableEntity, R: Row<Entity = E>> Check<R> {
    /// The entity of a row that was found, as it is now; `None` where it no longer has that row.
    async fn entity(&self, found: &RowHead) -> Result<Option<E>> {
        let RowHead { partition_key, row_key } = found;
        let keys = (&**partition_key, &**row_key);
        let Some(found) = RowElsewhere::of::<E>(&self.client, R::INDEX, keys) else {
            return Ok(None);
        };
        let confirmed = self.confirmed(&found).await?;
        if confirmed.is_none() {
            let home = found.home.partition_key.clone();
            // The row is left as it is where that fails: who settles its entity will find it.
            let _ = settle::<E>(&self.client, &home, &[found]).await;
        }
        Ok(confirmed)
    }

    async fn confirmed(&self, found: &RowElsewhere) -> Result<Option<E>> {
        let row = self.canonical(&found.home).await?;
        let Some(StoredRow { body, header }) = row else { return Ok(None) };
        let loaded = match Loaded::<E>::read(body, header) {
            Err(ReadBackError::Moved(_)) => return Ok(None),
            Err(ReadBackError::Property(error)) => {
                SkipUnreadable::take(self.skip.as_ref(), Err(error))?
            }
            read => read?,
        };
        let Some(entity) = loaded.map(Loaded::into_inner) else { return Ok(None) };
        let keys = (&*found.key.partition_key, &*found.key.row_key);
        Ok(has_row(&entity, R::INDEX, keys)?.then_some(entity))
    }

    /// The canonical row of that key, if it meets the filter, which the store evaluates.
    async fn canonical(&self, key: &CanonicalKey) -> Result<Option<StoredRow>> {
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
