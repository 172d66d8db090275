//! The answers of a query, page by page or row by row.

use super::page_cursor::PageCursor;
use crate::entity::{MapRows, OwnRows, PageRows, ReadRow, SkipUnreadable, read_page};
use crate::error::{Error, Result};
use crate::plan::{Plan, TableClient};
use crate::property::PropertyError;
use crate::query::{PageToken, RowQuery};
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
    pub(super) cursor: PageCursor,
    reader: PageReader<T>,
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
        Self { cursor: PageCursor::new(client, query, limit, size), reader }
    }

    /// The same, without rows that cannot be read.
    pub(crate) fn skipping(mut self, skip: Option<SkipUnreadable>) -> Self {
        self.cursor.skip = skip;
        self
    }

    /// Continues with the page of `token`: the [`next`](RowPage::next) or the
    /// [`previous`](RowPage::previous) one of a page that was read. The next call fails with
    /// [`Error::Token`] when the token belongs to another query.
    pub fn resume(mut self, token: PageToken) -> Self {
        self.cursor.resume(token);
        self
    }

    /// Returns the request for the next page. The plan is empty after the last page, and when the next call
    /// would fail.
    #[must_use]
    pub fn plan(&self) -> Plan {
        self.cursor.plan()
    }

    /// The plan of the first request.
    pub(super) fn first_request(self) -> Result<Plan> {
        self.cursor.first_request()
    }

    /// The number of items of all pages from here on.
    pub(super) async fn count(mut self) -> Result<usize> {
        let mut count = 0;
        while let Some(page) = self.next().await? {
            count += page.len();
        }
        Ok(count)
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
        let Some(page) = self.cursor.next().await? else { return Ok(None) };
        let (own, most) = (self.cursor.alive(self.reader.own), self.cursor.most());
        match self.reader.read(&own, &page.body, self.cursor.skip.as_ref(), most) {
            Ok((items, whole)) => {
                let (next, previous) = self.cursor.advance(&page, items.len(), whole);
                Ok(Some((RowPage { items, next, previous }, page.body)))
            }
            Err(error) => {
                self.cursor.end();
                Err(error)
            }
        }
    }

    /// Reads the rows of all further pages.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub async fn collect(mut self) -> Result<Vec<T>> {
        let mut rows = Vec::new();
        while let Some(mut page) = self.next().await? {
            rows.append(&mut page.items);
        }
        Ok(rows)
    }

    pub(super) fn into_stream(self) -> RowStream<T>
    where
        T: Send + 'static,
    {
        let pages = stream::try_unfold(self, |mut pages| async move {
            let page = pages.next().await?;
            // An empty page is used up at once.
            if page.as_ref().is_some_and(|page| !page.items.is_empty()) {
                pages.cursor.ask_ahead();
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
