//! The answers of a query, page by page or row by row.

use super::read_ahead::PageAhead;
use crate::entity::{
    MapRows, OwnRows, PageRows, ReadRow, RowHead, SkipUnreadable, cut_page, first_head, read_page,
};
use crate::error::{Error, Result};
use crate::model::{Continuation, MAX_PAGE_ROWS};
use crate::plan::{Plan, Step, TableClient};
use crate::property::PropertyError;
use crate::query::{PagePlace, PageStart, PageToken, RowQuery, fingerprint, fingerprint_of_many};
use crate::store::Page;
use bytes::Bytes;
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
/// The last page has no token of a next page.
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
/// let token = first.next.clone().unwrap();
/// let mut pages = readings.list(&roof).pages(3).resume(token);
/// let second = pages.next().await?.unwrap();
/// assert_eq!(second.len(), 2);
/// // And back again.
/// let token = second.previous.unwrap();
/// let back = readings.list(&roof).pages(3).resume(token).next().await?.unwrap();
/// assert_eq!((back.items, back.previous), (first.items, None));
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is sent until `next`"]
#[derive(Debug)]
pub struct Pages<T> {
    client: TableClient,
    reader: PageReader<T>,
    /// What to read, without a place; `None` after an error that ends the pages. An invalid query stays
    /// here for the next call.
    query: Option<Result<RowQuery>>,
    /// Where the next page is; `None` at the end.
    place: Option<PagePlace>,
    /// The most rows to read, and those still to read.
    limit: Option<usize>,
    left: Option<usize>,
    /// Whether rows that cannot be read are left out.
    skip: Option<SkipUnreadable>,
    /// Whether a page had rows that were left out. The next request then asks for a full page, even if
    /// few rows are wanted. Otherwise many left-out rows would cost many small requests.
    left_out: bool,
    /// The next page, where a stream reads ahead.
    ahead: PageAhead,
}

/// What a page's rows are read into.
#[derive(Debug)]
pub(crate) struct PageReader<T> {
    own: OwnRows,
    read: PageRead<T>,
}

#[derive(Debug)]
enum PageRead<T> {
    By(ReadPage<T>),
    /// All rows of the page.
    Whole(ReadWhole<T>),
    Mapped(MapRows<T>),
}

type ReadWhole<T> = fn(&OwnRows, &[u8]) -> Result<PageRows<T>, PropertyError>;

/// Reads at most a number of rows of a page, the last argument. Returns whether these are all.
type ReadPage<T> = fn(&OwnRows, &[u8], Option<&SkipUnreadable>, usize) -> Result<(Vec<T>, bool)>;

impl<T> PageReader<T> {
    /// Reads pages with `read`, which finds its rows itself.
    pub const fn some(read: ReadPage<T>) -> Self {
        Self::of(OwnRows::ANY, read)
    }

    /// Reads pages with `read`, which is given the own rows.
    pub const fn of(own: OwnRows, read: ReadPage<T>) -> Self {
        Self { own, read: PageRead::By(read) }
    }

    /// Reads all own rows of a page with `read`.
    pub const fn whole(own: OwnRows, read: ReadWhole<T>) -> Self {
        Self { own, read: PageRead::Whole(read) }
    }

    /// Reads what a function makes of each own row.
    pub const fn mapped(own: OwnRows, map: MapRows<T>) -> Self {
        Self { own, read: PageRead::Mapped(map) }
    }

    fn read(
        &self,
        own: &OwnRows,
        page: &[u8],
        skip: Option<&SkipUnreadable>,
        most: usize,
    ) -> Result<(Vec<T>, bool)> {
        match &self.read {
            PageRead::By(read) => read(own, page, skip, most),
            PageRead::Whole(read) => Ok(read(own, page)?.at_most(most, skip)?),
            PageRead::Mapped(map) => Ok(map.read(own, page)?.at_most(most, skip)?),
        }
    }
}

impl<T: ReadRow> PageReader<T> {
    /// Reads a `T` from each own row.
    pub fn each(own: OwnRows) -> Self {
        Self::whole(own, read_page)
    }
}

/// One page of rows.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RowPage<T> {
    /// The rows, in key order.
    pub items: Vec<T>,
    /// The next page; `None` after the last one.
    pub next: Option<PageToken>,
    /// The page before, as it was read. `None` for the first page, and where a token has no more room
    /// for [earlier pages](crate::guide::work::pages#backward).
    pub previous: Option<PageToken>,
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
        let (query, place) = (Some(query), Some(PagePlace::default()));
        let (skip, left_out, ahead) = (None, false, PageAhead::default());
        Self { client, reader, query, place, limit, left: limit, skip, left_out, ahead }
    }

    /// The same, without rows that cannot be read.
    pub(crate) fn skipping(self, skip: Option<SkipUnreadable>) -> Self {
        Self { skip, ..self }
    }

    /// Continues with the page of `token`: the [`next`](RowPage::next) or the
    /// [`previous`](RowPage::previous) one of a page that was read. The next call fails with
    /// [`Error::Token`] when the token belongs to another query.
    pub fn resume(mut self, token: PageToken) -> Self {
        if let Some(Ok(query)) = &self.query {
            match token.open(query) {
                Ok(place) => self.place = Some(place),
                Err(error) => self.query = Some(Err(error.into())),
            }
        }
        self
    }

    /// The hash that binds a token to the query and its limit, whose rows the token counts; the error of an invalid
    /// one, which ends the pages.
    pub(super) fn fingerprint(&mut self) -> Result<u64> {
        let query = match self.query.take_if(|query| query.is_err()) {
            Some(error) => error.map(|query| fingerprint(&query))?,
            None => self.query.iter().flatten().map(fingerprint).next().unwrap_or_default(),
        };
        Ok(match self.limit {
            None => query,
            Some(rows) => fingerprint_of_many([query, rows as u64]),
        })
    }

    /// Whether no page follows.
    pub(super) fn is_done(&self) -> bool {
        self.request().is_none()
    }

    /// Where the next page starts, and how many rows a limit counts before it.
    pub(super) fn start(&self) -> Option<(PageStart, usize)> {
        let read = self.limit.zip(self.left).map_or(0, |(limit, left)| limit - left);
        Some((self.place.as_ref()?.start.clone(), read))
    }

    /// Continues at a [`start`](Self::start).
    pub(super) fn start_at(&mut self, start: PageStart, read: usize) {
        self.place = Some(start.into());
        self.left = self.limit.map(|limit| limit.saturating_sub(read));
    }

    /// Ends the next page there at the latest.
    pub(super) fn end_at(&mut self, end: &PageStart) {
        if let Some(place) = &mut self.place {
            place.end = Some(end.clone());
        }
    }

    /// The most rows of the next page.
    pub(super) fn set_size(&mut self, rows: usize) {
        if let (Some(Ok(query)), Ok(rows)) = (&mut self.query, page_size(rows)) {
            query.top = Some(rows);
        }
    }

    /// Returns the request for the next page. The plan is empty after the last page, and when the next call
    /// would fail.
    #[must_use]
    pub fn plan(&self) -> Plan {
        match self.request() {
            Some((query, _)) => Step::Read { query, limit: self.left, reason: None }.into(),
            None => Plan::default(),
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
        Ok(self.next_with_body().await?.map(|(page, _)| page))
    }

    /// The same, with the JSON of the page.
    pub(super) async fn next_with_body(&mut self) -> Result<Option<(RowPage<T>, Bytes)>> {
        if let Some(Err(error)) = self.query.take_if(|query| query.is_err()) {
            return Err(error);
        }
        let Some((request, place)) = self.request() else { return Ok(None) };
        let place = place.clone();
        let page = match self.ahead.take().await {
            Some(page) => page?,
            None => self.client.page(&request).await?,
        };
        // What has expired changes from page to page, and a token opens the next one all the same.
        let query = self.query.iter().flatten().map(fingerprint).next().unwrap_or_default();
        let page = self.read(query, &place, page);
        if page.is_err() {
            self.query = None;
        }
        page.map(Some)
    }

    /// Reads the rows of a page, and finds the pages beside it.
    fn read(&mut self, query: u64, place: &PagePlace, page: Page) -> Result<(RowPage<T>, Bytes)> {
        let end = place.end.as_ref();
        let (from, before) = (head_of(Some(&place.start)), head_of(end));
        let cut = cut_page(page.body, from.as_ref(), before.as_ref())?;
        let (reader, most) = (&self.reader, self.left.unwrap_or(usize::MAX));
        let own = self.client.alive(reader.own);
        let (items, whole) = reader.read(&own, &cut.body, self.skip.as_ref(), most)?;
        self.left_out |= !whole;
        if let Some(left) = &mut self.left {
            *left -= items.len();
        }
        let first = || first_head(&cut.body).map(|head| (head.partition_key, head.row_key));
        let next = match page.continuation {
            _ if cut.is_cut => end.cloned(),
            next => next.map(|next| place.start.followed_by(next, first)),
        };
        self.place = next.filter(|_| self.left != Some(0)).map(|next| place.after(next));
        let token = |place| PageToken::new(query, place);
        let previous = place.before(first);
        let next = self.place.clone().map(token);
        Ok((RowPage { items, next, previous: previous.map(token) }, cut.body))
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

    /// Asks for the next page, before it is wanted.
    fn ask_ahead(&mut self) {
        if let Some((request, _)) = self.request() {
            self.ahead.ask(&self.client, request);
        }
    }

    pub(super) fn into_stream(self) -> RowStream<T>
    where
        T: Send + 'static,
    {
        let pages = stream::try_unfold(self, |mut pages| async move {
            let page = pages.next().await?;
            // An empty page is used up at once.
            if page.as_ref().is_some_and(|page| !page.items.is_empty()) {
                pages.ask_ahead();
            }
            Ok::<_, Error>(page.map(|page| (page.items, pages)))
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

/// The rows of a query, one after another. The next page is read while the rows of the one before are
/// used, where a tokio runtime runs; dropping the stream ends that request. Implements `futures::Stream` too.
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
    pub(crate) fn new(rows: impl Stream<Item = Result<T>> + Send + 'static) -> Self {
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

/// The items up to the first error, with it. Nothing is asked for after it.
pub(crate) fn until_error<T: Send + 'static>(
    items: impl Stream<Item = Result<T>> + Send + 'static,
) -> impl Stream<Item = Result<T>> + Send + 'static {
    stream::unfold(Some(items.boxed()), |items| async {
        let mut items = items?;
        let item = items.next().await?;
        let rest = item.is_ok().then_some(items);
        Some((item, rest))
    })
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
