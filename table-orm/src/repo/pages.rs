//! The answers of a query, page by page or row by row.

use crate::entity::{ReadRow, SkipUnreadable, read_rows};
use crate::error::{Error, Result};
use crate::model::MAX_PAGE_ROWS;
use crate::plan::{Plan, Step, TableClient};
use crate::query::{PageToken, RowQuery};
use futures_core::Stream;
use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use std::ops::Deref;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The pages of a query, each asked for when it is wanted.
///
/// A page may hold fewer rows than asked for, even none, and still not be the last: the service
/// ends a page at 1000 rows, after 5 seconds, or where a partition range ends. It is the last when
/// its token is `None`.
#[must_use = "nothing is sent until `next`"]
#[derive(Debug)]
pub struct Pages<T> {
    client: TableClient,
    reader: PageReader<T>,
    /// The next request; `None` at the end. An error waits here for the next call.
    query: Option<Result<RowQuery>>,
    /// The most rows still to read.
    left: Option<usize>,
    /// Whether rows that cannot be read are left out.
    skip: Option<SkipUnreadable>,
    /// Whether the last page may have left rows out. A full page is asked for then, even where few
    /// more are wanted: as many as there are rows to leave out would be read one by one.
    left_out: bool,
}

/// What a page's rows are read into.
#[derive(Debug)]
pub(crate) struct PageReader<T> {
    /// The key template that the rows are written from.
    row: usize,
    read: ReadPage<T>,
    /// Whether it leaves none out but those that cannot be read.
    every: bool,
}

/// Reads so many rows of a page at most.
type ReadPage<T> = fn(usize, &[u8], Option<&SkipUnreadable>, usize) -> Result<Vec<T>>;

impl<T> PageReader<T> {
    /// What `read` makes of a page; not of every row, maybe.
    pub const fn some(read: ReadPage<T>) -> Self {
        Self { row: 0, read, every: false }
    }
}

impl<T: ReadRow> PageReader<T> {
    /// A `T` of each row.
    pub fn each(row: usize) -> Self {
        let read: ReadPage<T> = |row, page, skip, most| Ok(read_rows(row, page, skip, most)?);
        Self { row, read, every: true }
    }
}

/// One page.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RowPage<T> {
    /// The rows, in key order.
    pub items: Vec<T>,
    /// Where the next page starts; `None` after the last one.
    pub token: Option<PageToken>,
}

impl<T> Deref for RowPage<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<T> Pages<T> {
    /// `size` is the most rows of a page, `None` for as many as the store returns.
    pub(crate) fn read_by(
        client: TableClient,
        reader: PageReader<T>,
        query: Result<RowQuery>,
        limit: Option<usize>,
        size: Option<usize>,
    ) -> Self {
        let query = query.and_then(|mut query| {
            query.top = size.map(page_size).transpose()?;
            Ok(query)
        });
        let query = Some(query).filter(|query| query.is_err() || limit != Some(0));
        Self { client, reader, query, left: limit, skip: None, left_out: false }
    }

    /// The same, without rows that cannot be read.
    pub(crate) fn skipping(self, skip: Option<SkipUnreadable>) -> Self {
        Self { skip, ..self }
    }

    /// Goes on behind the page that gave `token`. A token of another query is an error of the next
    /// call, [`Error::Token`].
    pub fn resume(mut self, token: PageToken) -> Self {
        if let Some(Ok(query)) = &mut self.query {
            match token.open(query) {
                Ok(continuation) => query.continuation = Some(continuation),
                Err(error) => self.query = Some(Err(error.into())),
            }
        }
        self
    }

    /// The request for the next page; empty after the last one, or when the next call is an error.
    #[must_use]
    pub fn plan(&self) -> Plan {
        match &self.query {
            Some(Ok(query)) => {
                Step::Read { query: self.request(query), limit: self.left, reason: None }.into()
            }
            _ => Plan::default(),
        }
    }

    /// The plan of the first request.
    pub(super) fn first_request(mut self) -> Result<Plan> {
        if let Some(Err(error)) = self.query.take_if(|query| query.is_err()) {
            return Err(error);
        }
        Ok(self.plan())
    }

    /// The number of items of all pages from here on.
    pub(super) async fn count(mut self) -> Result<usize> {
        let mut count = 0;
        while let Some(page) = self.next().await? {
            count += page.len();
        }
        Ok(count)
    }

    /// Asks for no more rows than are wanted.
    fn request(&self, query: &RowQuery) -> RowQuery {
        let mut request = query.clone();
        if let Some(left) = self.left.and_then(|left| u16::try_from(left).ok())
            && !self.left_out
        {
            request.top = Some(left.min(request.top.unwrap_or(MAX_PAGE_ROWS)).min(MAX_PAGE_ROWS));
        }
        request
    }

    /// The next page: one request. `None` after the last one. The page that reaches a limit is the
    /// last one, and has no token.
    ///
    /// # Errors
    /// A value that a key or filter cannot hold, or a row that cannot be read, after which there are
    /// no pages: it would be the same row again. The store's refusal; the next call asks for the same
    /// page again then.
    pub async fn next(&mut self) -> Result<Option<RowPage<T>>> {
        let request = match &self.query {
            Some(Ok(query)) => self.request(query),
            _ => return self.query.take().map_or(Ok(None), |failed| failed.map(|_| None)),
        };
        let page = self.client.page(&request).await?;
        let (reader, most) = (&self.reader, self.left.unwrap_or(usize::MAX));
        let read = (reader.read)(reader.row, &page.body, self.skip.as_ref(), most);
        let Ok(items) = read else {
            self.query = None;
            return read.map(|_| None);
        };
        self.left_out = !self.reader.every || self.skip.is_some();
        if let Some(left) = &mut self.left {
            *left -= items.len();
        }
        let next = page.continuation.filter(|_| self.left != Some(0));
        let token = match (&mut self.query, next) {
            (Some(Ok(query)), Some(next)) => {
                query.continuation = Some(next.clone());
                Some(PageToken::new(query, next))
            }
            (ended, _) => {
                *ended = None;
                None
            }
        };
        Ok(Some(RowPage { items, token }))
    }

    /// The rows of all pages from here on.
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

    pub(super) fn into_stream(self) -> RowStream<T>
    where
        T: Send + 'static,
    {
        let pages = stream::try_unfold(self, |mut pages| async move {
            Ok::<_, Error>(pages.next().await?.map(|page| (page.items, pages)))
        });
        let rows = pages.flat_map(|page| {
            let (items, error) = match page {
                Ok(items) => (items, None),
                Err(error) => (Vec::new(), Some(error)),
            };
            stream::iter(items.into_iter().map(Ok).chain(error.map(Err)))
        });
        RowStream::new(rows)
    }
}

fn page_size(size: usize) -> Result<u16> {
    match u16::try_from(size) {
        Ok(size @ 1..=MAX_PAGE_ROWS) => Ok(size),
        _ => Err(Error::PageSize(size)),
    }
}

/// The rows of a query one after another; a page is asked for when the one before has been given.
pub struct RowStream<T>(BoxStream<'static, Result<T>>);

impl<T> RowStream<T> {
    pub(super) fn new(rows: impl Stream<Item = Result<T>> + Send + 'static) -> Self {
        Self(rows.boxed())
    }

    /// The next row; `None` at the end, or after an error.
    ///
    /// # Errors
    /// When the store fails, or a row cannot be read. The stream has ended then.
    pub async fn next(&mut self) -> Result<Option<T>> {
        self.0.next().await.transpose()
    }
}

impl<T> std::fmt::Debug for RowStream<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowStream").finish_non_exhaustive()
    }
}

impl<T> Stream for RowStream<T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(cx)
    }
}
