//! The pages of several queries, which are read one after another.
//!
//! Invariants: a page is full unless it is the last. A row that was read is on one page, even where a
//! request failed between the rows of a page.

use super::pages::{Pages, RowPage};
use crate::error::Result;
use crate::plan::Plan;
use crate::query::{ManyPlace, PageToken, fingerprint_of_many};
use std::iter;

/// The pages of several queries, such as one for each shard. The rows come query by query, in the order of
/// the queries.
///
/// Each page but the last has exactly its size of rows. A query that ends within a page costs one request,
/// and so does each that has no row. The requests of a page are sent one after another.
///
/// ```
/// # use table_orm::{TableEntity, Tables};
/// # #[derive(Debug, TableEntity)]
/// # #[table(name = "events", partition = "{share}", row = "{id:010}")]
/// # #[component(share = shard(id, 8))]
/// # struct Event { id: u32 }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let events = Tables::in_memory()?.repo::<Event>();
/// # events.create_table().await?;
/// # events.insert_many((0..100).map(|id| Event { id })).await.all()?;
/// let all = || events.list_many(Event::partitions()).pages(30);
/// let first = all().next().await?.unwrap();
/// assert_eq!(first.len(), 30);
/// // Later, maybe in another process: one token, however many shards there are.
/// let token = first.next.unwrap();
/// let rest = all().resume(token).collect().await?;
/// assert_eq!(rest.len(), 70);
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is sent until `next` or `collect`"]
#[derive(Debug)]
pub struct ManyPages<T> {
    /// Those of each query. Empty after an error that ends the pages.
    queries: Vec<Pages<T>>,
    /// The hash of the queries, or the error of the first that is invalid.
    hash: Option<Result<u64>>,
    size: usize,
    /// The number of the query that is being read.
    at: usize,
    /// The rows of the next page that are read already.
    items: Vec<T>,
}

impl<T> ManyPages<T> {
    /// Each query has pages of at most `size` rows.
    pub(super) fn new(mut queries: Vec<Pages<T>>, size: usize) -> Self {
        let hashes: Result<Vec<_>> = queries.iter_mut().map(Pages::fingerprint).collect();
        let hash = Some(hashes.map(fingerprint_of_many));
        let mut pages = Self { queries, hash, size, at: 0, items: Vec::new() };
        pages.settle();
        pages
    }

    /// Continues with the page of `token`: the [`next`](RowPage::next) one of a page that was read. The next
    /// call fails with [`Error::Token`](crate::Error::Token) when the token belongs to other queries.
    pub fn resume(mut self, token: PageToken) -> Self {
        if let Some(Ok(hash)) = self.hash {
            match token.open_many(hash) {
                Ok(ManyPlace { query, read, start }) => {
                    self.at = query;
                    self.items.clear();
                    let starts =
                        iter::once((start, read)).chain(iter::repeat_with(Default::default));
                    for (pages, (start, read)) in self.queries.iter_mut().skip(query).zip(starts) {
                        pages.start_at(start, read);
                    }
                    self.settle();
                }
                Err(error) => self.hash = Some(Err(error.into())),
            }
        }
        self
    }

    /// Returns the first request of the next page. The plan is empty after the last page, and when the next
    /// call would fail.
    #[must_use]
    pub fn plan(&self) -> Plan {
        let pages = self.queries.get(self.at).filter(|_| matches!(self.hash, Some(Ok(_))));
        pages.map(Pages::plan).unwrap_or_default()
    }

    /// Reads the next page. Returns `None` after the last one. A page has no
    /// [`previous`](RowPage::previous) one.
    ///
    /// # Errors
    /// When a key or filter cannot hold one of the values, or a row cannot be read; no page follows. When the
    /// store rejects a request; the next call sends that request again, and keeps the rows that it has.
    pub async fn next(&mut self) -> Result<Option<RowPage<T>>> {
        let Some(hash) = self.hash.take() else { return Ok(None) };
        let hash = hash?;
        self.hash = Some(Ok(hash));
        if self.at >= self.queries.len() {
            return Ok(None);
        }
        while self.items.len() < self.size
            && let Some(pages) = self.queries.get_mut(self.at)
        {
            match pages.next().await {
                Ok(page) => self.items.extend(page.into_iter().flat_map(|page| page.items)),
                Err(error) => {
                    if pages.is_done() {
                        self.hash = None;
                    }
                    return Err(error);
                }
            }
            self.settle();
        }
        let items = std::mem::take(&mut self.items);
        self.settle();
        let next = self.place().map(|place| PageToken::of_many(hash, place));
        Ok(Some(RowPage { items, next, previous: None }))
    }

    /// Reads the rows of all further pages.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub async fn collect(mut self) -> Result<Vec<T>> {
        let mut rows = Vec::new();
        while let Some(page) = self.next().await? {
            rows.extend(page.items);
        }
        Ok(rows)
    }

    /// Moves on to the first query that has another page, and asks it for no more rows than the page lacks.
    fn settle(&mut self) {
        while self.queries.get(self.at).is_some_and(Pages::is_done) {
            self.at += 1;
        }
        let lacks = self.size.saturating_sub(self.items.len()).max(1);
        if let Some(pages) = self.queries.get_mut(self.at) {
            pages.set_size(lacks);
        }
    }

    /// Where the next page starts.
    fn place(&self) -> Option<ManyPlace> {
        let (start, read) = self.queries.get(self.at)?.start()?;
        Some(ManyPlace { query: self.at, read, start })
    }
}
