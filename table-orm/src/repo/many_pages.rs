//! The pages of several queries, which are read one after another.
//!
//! Invariants: forward, a page is full unless it is the last. Back, a page ends before the first row of the page
//! that was left. A row that was read is on one page, even where a request failed between the rows of a page.

use super::pages::{Pages, RowPage};
use crate::entity::first_head;
use crate::error::Result;
use crate::model::MAX_PAGE_ROWS;
use crate::plan::Plan;
use crate::query::{ManyPlace, ManyStart, PageStart, PageToken, fingerprint_of_many};
use std::{iter, mem};

/// The pages of several queries, such as one for each shard. The rows come query by query, in the order of
/// the queries.
///
/// Each page but the last has exactly its size of rows. A query that ends within a page costs one request,
/// and so does each that has no row. The requests of a page are sent one after another. Where rows of other types lie
/// between, a request reads twice as many rows as the one before; one that then finds more rows than the page lacks is
/// sent again for fewer.
///
/// A [`previous`](RowPage::previous) page starts where it started before, and ends before the first row of the
/// page that was left. It has the rows that are there now, at most its size of them; [`next`](RowPage::next)
/// continues with the others. If rows were deleted, it may have fewer.
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
/// let second = all().resume(token.clone()).next().await?.unwrap();
/// let back = all().resume(second.previous.unwrap()).next().await?.unwrap();
/// assert_eq!((back.len(), back.next), (30, Some(token.clone())));
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
    /// The fewest rows of its next request: more than the page lacks, where those before were mostly of other types.
    sparse: usize,
    /// The next page.
    page: ManyPlace,
    /// Its rows that are read already.
    items: Vec<T>,
    /// Where the first of them is.
    first: Option<ManyStart>,
}

impl<T> ManyPages<T> {
    /// Each query has pages of at most `size` rows.
    pub(super) fn new(mut queries: Vec<Pages<T>>, size: usize) -> Self {
        let hash = |pages: &mut Pages<T>| pages.cursor.fingerprint();
        let hashes: Result<Vec<_>> = queries.iter_mut().map(hash).collect();
        let hash = Some(hashes.map(fingerprint_of_many));
        let (page, items) = (ManyPlace::default(), Vec::new());
        let mut pages = Self { queries, hash, size, at: 0, sparse: 0, page, items, first: None };
        pages.settle();
        pages
    }

    /// Continues with the page of `token`: the [`next`](RowPage::next) or the [`previous`](RowPage::previous) one
    /// of a page that was read. The next call fails with [`Error::Token`](crate::Error::Token) when the token
    /// belongs to other queries.
    pub fn resume(mut self, token: PageToken) -> Self {
        if let Some(Ok(hash)) = self.hash {
            match token.open_many(hash) {
                Ok(page) => {
                    let ManyStart { query, read, start } = page.start.clone();
                    (self.at, self.sparse, self.page, self.first) = (query, 0, page, None);
                    self.items.clear();
                    let starts =
                        iter::once((start, read)).chain(iter::repeat_with(Default::default));
                    for (pages, (start, read)) in self.queries.iter_mut().skip(query).zip(starts) {
                        pages.cursor.start_at(start, read);
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

    /// Reads the next page. Returns `None` after the last one.
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
            let end = self.page.end.as_ref();
            if end.is_some_and(|end| end.query < self.at) {
                break;
            }
            let end = end.filter(|end| end.query == self.at).map(|end| &end.start);
            if let Some(end) = end {
                pages.cursor.end_at(end);
            }
            let (start, lacks) = (pages.cursor.start(), self.size - self.items.len());
            let asked = rows_to_ask(pages, lacks, self.sparse);
            let here = (asked > lacks).then(|| pages.cursor.here());
            let answer = pages.next_with_body().await;
            // A row behind the page that cannot be read is one of a later page.
            let is_too_long = match &answer {
                Ok(page) => page.as_ref().is_some_and(|(page, _)| page.items.len() > lacks),
                Err(_) => pages.cursor.is_done(),
            };
            if let (true, Some(here)) = (is_too_long, here) {
                pages.cursor.rewind(here);
                self.sparse = asked / 2;
                self.settle();
                continue;
            }
            match answer {
                Ok(Some((page, body))) => {
                    if page.items.len() < lacks && pages.cursor.leaves_out() {
                        self.sparse = (2 * asked).min(MAX_PAGE_ROWS.into());
                    }
                    if self.first.is_none() {
                        self.first = start.and_then(|start| first_row(self.at, start, &body));
                    }
                    self.items.extend(page.items);
                }
                Ok(None) => {}
                Err(error) => {
                    if pages.cursor.is_done() {
                        self.hash = None;
                    }
                    return Err(error);
                }
            }
            let is_end = |end: &PageStart| {
                pages.cursor.start().is_none_or(|(next, _)| next.continuation == end.continuation)
            };
            if end.is_some_and(is_end) {
                break;
            }
            self.settle();
        }
        let items = mem::take(&mut self.items);
        let page = mem::take(&mut self.page);
        let previous = page.before(self.first.take());
        self.settle();
        let next = self.start().map(|start| page.after(start));
        self.page = next.clone().unwrap_or_default();
        let token = |place| PageToken::of_many(hash, place);
        Ok(Some(RowPage { items, next: next.map(token), previous: previous.map(token) }))
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

    /// Moves on to the first query that has another page, and asks it for the rows that the page lacks.
    fn settle(&mut self) {
        while self.queries.get(self.at).is_some_and(|pages| pages.cursor.is_done()) {
            self.at += 1;
            self.sparse = 0;
        }
        let lacks = self.size.saturating_sub(self.items.len()).max(1);
        if let Some(pages) = self.queries.get_mut(self.at) {
            let rows = rows_to_ask(pages, lacks, self.sparse);
            pages.cursor.set_size(rows);
        }
    }

    /// Where the next page starts.
    fn start(&self) -> Option<ManyStart> {
        let (start, read) = self.queries.get(self.at)?.cursor.start()?;
        Some(ManyStart { query: self.at, read, start })
    }
}

/// How many rows to ask for. Where rows that cannot be read are reported, no more than are lacking: a request that is sent
/// again would report some twice.
fn rows_to_ask<T>(pages: &Pages<T>, lacks: usize, sparse: usize) -> usize {
    if pages.cursor.skip.is_some() { lacks } else { lacks.max(sparse) }
}

/// Where the first row of a page is, which starts there in its query; `None` for a page without rows.
fn first_row(query: usize, (start, read): (PageStart, usize), body: &[u8]) -> Option<ManyStart> {
    let head = first_head(body)?;
    let key = Some((head.partition_key, head.row_key));
    Some(ManyStart { query, read, start: PageStart { key, ..start } })
}
