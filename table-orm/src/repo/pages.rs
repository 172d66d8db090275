//! The answers of a query, page by page or row by row.

use crate::entity::{OwnRows, ReadRow, SkipUnreadable, read_rows};
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

/// The pages of a query. Each is one request, sent when it is asked for.
///
/// A page may hold fewer rows than its size, or no row, and not be the last: the service ends a page at
/// 1000 rows, after 5 seconds, or at the end of a partition range, and rows of other types are left out.
/// The last page has no token.
///
/// ```
/// # use table_orm::{TableEntity, Tables};
/// # #[derive(Debug, Clone, PartialEq, TableEntity)]
/// # #[table(name = "readings", partition = "{sensor}", row = "{minute:06}")]
/// # struct Reading { sensor: String, minute: u32, celsius: f64 }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let readings = Tables::in_memory()?.repo::<Reading>();
/// # readings.create_table().await?;
/// # for minute in 0..5 {
/// #     readings.insert(&Reading { sensor: "roof".into(), minute, celsius: 20.0 }).await?;
/// # }
/// let roof = Reading::partition("roof");
/// let mut pages = readings.list(&roof).pages(3);
/// let first = pages.next().await?.unwrap();
/// assert_eq!(first.len(), 3);
/// // Later, maybe in another process.
/// let token = first.token.unwrap();
/// let rest = readings.list(&roof).pages(3).resume(token).collect().await?;
/// assert_eq!(rest.len(), 2);
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is sent until `next`"]
#[derive(Debug)]
pub struct Pages<T> {
    client: TableClient,
    reader: PageReader<T>,
    /// The next request; `None` at the end. An error stays here for the next call.
    query: Option<Result<RowQuery>>,
    /// The most rows still to read.
    left: Option<usize>,
    /// Whether rows that cannot be read are left out.
    skip: Option<SkipUnreadable>,
    /// Whether a page had rows that were left out. The next request then asks for a full page, even if
    /// few rows are wanted. Otherwise many left-out rows would cost many small requests.
    left_out: bool,
}

/// What a page's rows are read into.
#[derive(Debug)]
pub(crate) struct PageReader<T> {
    own: OwnRows,
    read: ReadPage<T>,
}

/// Reads at most a number of rows of a page, the last argument. Returns whether these are all.
type ReadPage<T> = fn(&OwnRows, &[u8], Option<&SkipUnreadable>, usize) -> Result<(Vec<T>, bool)>;

impl<T> PageReader<T> {
    /// Reads pages with `read`, which finds its rows itself.
    pub const fn some(read: ReadPage<T>) -> Self {
        Self { own: OwnRows::ANY, read }
    }
}

impl<T: ReadRow> PageReader<T> {
    /// Reads a `T` from each own row.
    pub fn each(own: OwnRows) -> Self {
        let read: ReadPage<T> = |own, page, skip, most| Ok(read_rows(own, page, skip, most)?);
        Self { own, read }
    }
}

/// One page of rows.
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
    /// `size` is the most rows of a page, `None` for the page size of the store.
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

    /// Continues after the page that returned `token`. The next call fails with [`Error::Token`] when the
    /// token belongs to another query.
    pub fn resume(mut self, token: PageToken) -> Self {
        if let Some(Ok(query)) = &mut self.query {
            match token.open(query) {
                Ok(continuation) => query.continuation = Some(continuation),
                Err(error) => self.query = Some(Err(error.into())),
            }
        }
        self
    }

    /// Returns the request for the next page. The plan is empty after the last page, and when the next call
    /// would fail.
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

    /// The request for no more rows than are wanted.
    fn request(&self, query: &RowQuery) -> RowQuery {
        let mut request = query.clone();
        if let Some(left) = self.left.and_then(|left| u16::try_from(left).ok())
            && !self.left_out
        {
            request.top = Some(left.min(request.top.unwrap_or(MAX_PAGE_ROWS)).min(MAX_PAGE_ROWS));
        }
        request
    }

    /// Reads the next page: one request. Returns `None` after the last one. A page that reaches the limit of
    /// `take` is the last one, and has no token.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "tracks", partition = "{album}", row = "{number:02}")]
    /// # struct Track { album: String, number: u8, title: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tracks = Tables::in_memory()?.repo::<Track>();
    /// # tracks.create_table().await?;
    /// # for number in 1..=5 {
    /// #     tracks.insert(&Track { album: "Blue".into(), number, title: "-".into() }).await?;
    /// # }
    /// let mut pages = tracks.list(Track::partition("Blue")).pages(2);
    /// let mut sizes = Vec::new();
    /// while let Some(page) = pages.next().await? {
    ///     sizes.push(page.items.len());
    /// }
    /// assert_eq!(sizes, [2, 2, 1]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When a key or filter cannot hold one of the values, or a row cannot be read; no page follows. When the
    /// store rejects the request; the next call sends the same request again.
    pub async fn next(&mut self) -> Result<Option<RowPage<T>>> {
        let request = match &self.query {
            Some(Ok(query)) => self.request(query),
            _ => return self.query.take().map_or(Ok(None), |failed| failed.map(|_| None)),
        };
        let page = self.client.page(&request).await?;
        let (reader, most) = (&self.reader, self.left.unwrap_or(usize::MAX));
        let read = (reader.read)(&reader.own, &page.body, self.skip.as_ref(), most);
        let Ok((items, whole)) = read else {
            self.query = None;
            return read.map(|_| None);
        };
        self.left_out |= !whole;
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

/// The rows of a query, one after another. The next page is read when the rows of the one before are
/// used up. Implements `futures::Stream` too.
///
/// ```
/// # use table_orm::{TableEntity, Tables};
/// # #[derive(Debug, Clone, PartialEq, TableEntity)]
/// # #[table(name = "notes", partition = "{owner}", row = "{id:05}")]
/// # struct Note { owner: String, id: u32, text: String }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let notes = Tables::in_memory()?.repo::<Note>();
/// # notes.create_table().await?;
/// # for id in [1, 2] {
/// #     notes.insert(&Note { owner: "ann".into(), id, text: "milk".into() }).await?;
/// # }
/// let mut rows = notes.list(Note::partition("ann")).stream();
/// assert_eq!(rows.next().await?.map(|note| note.id), Some(1));
/// assert_eq!(rows.next().await?.map(|note| note.id), Some(2));
/// assert_eq!(rows.next().await?, None);
/// # Ok(())
/// # }
/// ```
pub struct RowStream<T>(BoxStream<'static, Result<T>>);

impl<T> RowStream<T> {
    pub(super) fn new(rows: impl Stream<Item = Result<T>> + Send + 'static) -> Self {
        Self(rows.boxed())
    }

    /// Returns the next row; `None` at the end, and after an error.
    ///
    /// # Errors
    /// When the store rejects a request, or a row cannot be read. The stream ends then.
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
