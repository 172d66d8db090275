//! Queries of many rows, of which only what a function makes of each is kept.

use super::get::selecting;
use super::list::List;
use super::listing::{Listing, last_methods};
use super::pages::{PageReader, Pages};
use crate::entity::{BorrowedFrom, BorrowedRow, MapRows, OwnRows, Row};
use crate::model::Metadata;
use std::fmt;
use std::marker::PhantomData;

impl<R: Row, C, T> List<R, C, T> {
    /// Reads each row as `P`, whose texts are slices of the page, and keeps what `map` returns: no text of a
    /// row takes memory of its own.
    ///
    /// `P` is a struct with `#[derive(Projection)]`, `#[projection(of = Entity, borrow)]` and one lifetime, with
    /// `Cow<'_, str>` for its texts. `map` may be called for rows of a page that are not returned, such as those
    /// after [`take`](Self::take).
    ///
    /// ```
    /// # use std::borrow::Cow;
    /// # use table_orm::{Projection, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "tracks", partition = "{album}", row = "{number:02}")]
    /// # struct Track { album: String, number: u8, title: String }
    /// #[derive(Projection)]
    /// #[projection(of = Track, borrow)]
    /// struct Title<'a> {
    ///     title: Cow<'a, str>,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tracks = Tables::in_memory()?.repo::<Track>();
    /// # tracks.create_table().await?;
    /// # for (number, title) in [(1, "All I Want"), (2, "My Old Man")] {
    /// #     tracks.insert(&Track { album: "Blue".into(), number, title: title.into() }).await?;
    /// # }
    /// let blue = tracks.list(Track::partition("Blue"));
    /// let lengths = blue.map::<Title<'_>, _>(|row| row.title.len()).collect().await?;
    /// assert_eq!(lengths, [10, 10]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn map<P: BorrowedFrom<R>, U>(
        self,
        map: impl Fn(P::Of<'_>) -> U + Send + Sync + 'static,
    ) -> MappedList<P, U> {
        let own = const { OwnRows::of::<R>() };
        MappedList { listing: self.listing, own, map: MapRows::new::<R, P>(map), read: PhantomData }
    }
}

/// A query of rows that are read as `P`, of which a function makes a `U` each. One of the last methods sends
/// it.
#[must_use = "nothing is sent until `stream`, `pages`, `collect` or another last method"]
pub struct MappedList<P, U> {
    listing: Listing,
    own: OwnRows,
    map: MapRows<U>,
    read: PhantomData<fn() -> P>,
}

impl<P, U> Clone for MappedList<P, U> {
    fn clone(&self) -> Self {
        let (listing, own, map) = (self.listing.clone(), self.own, self.map.clone());
        Self { listing, own, map, read: PhantomData }
    }
}

impl<P, U> fmt::Debug for MappedList<P, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MappedList").field("listing", &self.listing).finish_non_exhaustive()
    }
}

impl<P: BorrowedRow<'static>, U> MappedList<P, U> {
    /// Reads at most `rows` rows in all, and asks the store for no more, as [`List::take`].
    pub fn take(self, rows: usize) -> Self {
        Self { listing: self.listing.take(rows), ..self }
    }

    fn ask(mut self, size: Option<usize>) -> Pages<U> {
        let query = self.listing.query;
        self.listing.query =
            query.map(|query| selecting(query, P::select(), Metadata::None, &self.own));
        self.listing.may_be_old().pages(PageReader::mapped(self.own, self.map), size)
    }

    last_methods! { U, P::NAME, "values" where [] [U: Send + 'static,] }
}
