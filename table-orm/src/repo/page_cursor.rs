//! Where the pages of a query are, and the requests that read them. What the rows are read into is not known here.

use super::read_ahead::PageAhead;
use crate::entity::{OwnRows, RowHead, SkipUnreadable, cut_page, first_head};
use crate::error::{Error, Result};
use crate::model::{Continuation, MAX_PAGE_ROWS};
use crate::plan::{Plan, Step, TableClient};
use crate::query::{PagePlace, PageStart, PageToken, RowQuery, fingerprint, fingerprint_of_many};
use bytes::Bytes;
use futures_core::future::BoxFuture;

/// The next page of a query.
#[derive(Debug)]
pub struct PageCursor {
    client: TableClient,
    /// What to read, without a place; `None` after an error that ends the pages. An invalid query stays
    /// here for the next call.
    query: Option<Result<RowQuery>>,
    /// Where the next page is; `None` at the end.
    place: Option<PagePlace>,
    /// The most rows to read, and those still to read.
    limit: Option<usize>,
    left: Option<usize>,
    /// Whether rows that cannot be read are left out.
    pub skip: Option<SkipUnreadable>,
    /// Whether a page had rows that were left out. The next request then asks for a full page, even if
    /// few rows are wanted. Otherwise many left-out rows would cost many small requests.
    left_out: bool,
    /// The next page, where a stream reads ahead.
    ahead: PageAhead,
}

/// Where a cursor was.
#[derive(Debug)]
pub struct CursorPlace {
    query: Option<RowQuery>,
    place: Option<PagePlace>,
    left: Option<usize>,
}

/// A page as the store returned it.
#[derive(Debug)]
pub struct RawPage {
    /// The JSON of its rows.
    pub body: Bytes,
    place: PagePlace,
    /// Where the page after it starts, as far as the store said.
    next: Option<PageStart>,
    /// What binds a token to the query.
    query: u64,
}

impl RawPage {
    /// The keys of its first row.
    fn first(&self) -> Option<(String, String)> {
        first_head(&self.body).map(|head| (head.partition_key, head.row_key))
    }
}

impl PageCursor {
    /// `size` is the most rows of a page, `None` for the page size of the store.
    pub fn new(
        client: TableClient,
        query: Result<RowQuery>,
        limit: Option<usize>,
        size: Option<usize>,
    ) -> Self {
        let query = query.and_then(|mut query| {
            query.top = size.map(page_size).transpose()?;
            Ok(query)
        });
        let (query, place) = (Some(query), Some(PagePlace::default()));
        let (skip, left_out, ahead) = (None, false, PageAhead::default());
        Self { client, query, place, limit, left: limit, skip, left_out, ahead }
    }

    /// Continues with the page of `token`, or fails the next call.
    pub fn resume(&mut self, token: PageToken) {
        if let Some(Ok(query)) = &self.query {
            match token.open(query) {
                Ok(place) => self.place = Some(place),
                Err(error) => self.query = Some(Err(error.into())),
            }
        }
    }

    /// The hash that binds a token to the query and its limit, whose rows the token counts; the error of an invalid
    /// one, which ends the pages.
    pub fn fingerprint(&mut self) -> Result<u64> {
        let query = match self.query.take_if(|query| query.is_err()) {
            Some(error) => error.map(|query| fingerprint(&query))?,
            None => self.hash(),
        };
        Ok(match self.limit {
            None => query,
            Some(rows) => fingerprint_of_many([query, rows as u64]),
        })
    }

    fn hash(&self) -> u64 {
        self.query.iter().flatten().map(fingerprint).next().unwrap_or_default()
    }

    /// Whether no page follows.
    pub fn is_done(&self) -> bool {
        self.request().is_none()
    }

    /// Where the next page starts, and how many rows a limit counts before it.
    pub fn start(&self) -> Option<(PageStart, usize)> {
        let read = self.limit.zip(self.left).map_or(0, |(limit, left)| limit - left);
        Some((self.place.as_ref()?.start.clone(), read))
    }

    /// Continues at a [`start`](Self::start).
    pub fn start_at(&mut self, start: PageStart, read: usize) {
        self.place = Some(start.into());
        self.left = self.limit.map(|limit| limit.saturating_sub(read));
    }

    /// The cursor's place, to which [`rewind`](Self::rewind) returns.
    pub fn here(&self) -> CursorPlace {
        let query = self.query.as_ref().and_then(|query| query.as_ref().ok()).cloned();
        CursorPlace { query, place: self.place.clone(), left: self.left }
    }

    /// Returns to a place, also after an error that ended the pages.
    pub fn rewind(&mut self, to: CursorPlace) {
        (self.query, self.place, self.left) = (to.query.map(Ok), to.place, to.left);
    }

    /// Whether a page had rows that were left out.
    pub const fn leaves_out(&self) -> bool {
        self.left_out
    }

    /// Ends the next page there at the latest.
    pub fn end_at(&mut self, end: &PageStart) {
        if let Some(place) = &mut self.place {
            place.end = Some(end.clone());
        }
    }

    /// The most rows of the next page.
    pub fn set_size(&mut self, rows: usize) {
        if let (Some(Ok(query)), Ok(rows)) = (&mut self.query, page_size(rows)) {
            query.top = Some(rows);
        }
    }

    /// The request for the next page. The plan is empty after the last page, and when the next call would fail.
    pub fn plan(&self) -> Plan {
        match self.request() {
            Some((query, _)) => Step::Read { query, limit: self.left, reason: None }.into(),
            None => Plan::default(),
        }
    }

    /// The plan of the first request.
    pub fn first_request(mut self) -> Result<Plan> {
        if let Some(Err(error)) = self.query.take_if(|query| query.is_err()) {
            return Err(error);
        }
        Ok(self.plan())
    }

    /// The request for no more rows than are wanted, and where its page is. `None` at the end.
    fn request(&self) -> Option<(RowQuery, &PagePlace)> {
        let (Some(Ok(query)), Some(place)) = (&self.query, &self.place) else { return None };
        if self.left == Some(0) {
            return None;
        }
        let mut request = self.client.only_alive(query.clone());
        let start = &place.start.continuation;
        request.continuation =
            Some(start.clone()).filter(|start| *start != Continuation::default());
        if let Some(left) = self.left.and_then(|left| u16::try_from(left).ok())
            && !self.left_out
        {
            request.top = Some(left.min(request.top.unwrap_or(MAX_PAGE_ROWS)).min(MAX_PAGE_ROWS));
        }
        Some((request, place))
    }

    /// The most rows to read of the next page.
    pub fn most(&self) -> usize {
        self.left.unwrap_or(usize::MAX)
    }

    /// These rows without those that have expired.
    pub fn alive(&self, own: OwnRows) -> OwnRows {
        self.client.alive(own)
    }

    /// Reads the next page: one request. Returns `None` after the last one.
    pub fn next(&mut self) -> BoxFuture<'_, Result<Option<RawPage>>> {
        Box::pin(async move {
            if let Some(Err(error)) = self.query.take_if(|query| query.is_err()) {
                return Err(error);
            }
            let Some((request, place)) = self.request() else { return Ok(None) };
            let place = place.clone();
            let page = match self.ahead.take().await {
                Some(page) => page?,
                None => self.client.page(&request).await?,
            };
            let (from, before) = (head_of(Some(&place.start)), head_of(place.end.as_ref()));
            let cut = match cut_page(page.body, from.as_ref(), before.as_ref()) {
                Ok(cut) => cut,
                Err(error) => {
                    self.end();
                    return Err(error.into());
                }
            };
            let first = || first_head(&cut.body).map(|head| (head.partition_key, head.row_key));
            let next = match page.continuation {
                _ if cut.is_cut => place.end.clone(),
                next => next.map(|next| place.start.followed_by(next, first)),
            };
            // What has expired changes from page to page, and a token opens the next one all the same.
            Ok(Some(RawPage { body: cut.body, place, next, query: self.hash() }))
        })
    }

    /// No page follows one that cannot be read.
    pub fn end(&mut self) {
        self.query = None;
    }

    /// Goes on behind a page of which that many rows were read, `whole` if none was left out. Returns the tokens of
    /// the pages after and before it.
    pub fn advance(
        &mut self,
        page: &RawPage,
        rows: usize,
        whole: bool,
    ) -> (Option<PageToken>, Option<PageToken>) {
        self.left_out |= !whole;
        if let Some(left) = &mut self.left {
            *left -= rows;
        }
        let place = &page.place;
        self.place =
            page.next.clone().filter(|_| self.left != Some(0)).map(|next| place.after(next));
        let token = |place| PageToken::new(page.query, place);
        (self.place.clone().map(token), place.before(|| page.first()).map(token))
    }

    /// Asks for the next page, before it is wanted.
    pub fn ask_ahead(&mut self) {
        if let Some((request, _)) = self.request() {
            self.ahead.ask(&self.client, request);
        }
    }
}

/// The keys at which a page starts, if they are known.
fn head_of(start: Option<&PageStart>) -> Option<RowHead> {
    let (partition_key, row_key) = start?.key.clone()?;
    Some(RowHead { partition_key, row_key })
}

fn page_size(size: usize) -> Result<u16> {
    match u16::try_from(size) {
        Ok(size @ 1..=MAX_PAGE_ROWS) => Ok(size),
        _ => Err(Error::PageSize(size)),
    }
}
