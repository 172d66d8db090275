//! The pages of a checked query, whatever rows it reads.

use super::found_row::{read_canonical, read_copies, read_eventual, read_point};
use super::other_rows::OtherRows;
use crate::entity::{Loaded, OwnRows, Row, TableEntity, canonical};
use crate::error::Result;
use crate::plan::Plan;
use crate::query::{PageToken, RowQuery, Span};
use crate::repo::get::reading_heads;
use crate::repo::listing::Listing;
use crate::repo::pages::{PageReader, Pages, RowPage};
use futures_core::future::BoxFuture;
use std::fmt;

/// Where a checked query reads its entities.
pub enum Source<R: Row> {
    /// The canonical rows themselves.
    Canonical(Box<Pages<Loaded<R::Entity>>>),
    /// Other rows, each followed by the canonical row of its entity.
    Other(Box<OtherRows<R>>),
}

impl<R: Row> Source<R> {
    pub fn canonical(mut listing: Listing, size: Option<usize>) -> Self {
        listing.query = listing.query.map(whole::<R::Entity>);
        let is_point = |query: &RowQuery| matches!(query.keys.row, Span::Exact(_));
        let read = match listing.query.as_ref().is_ok_and(is_point) {
            true => read_point,
            false => read_canonical,
        };
        Self::Canonical(Box::new(listing.pages(PageReader::some(read), size)))
    }

    /// Rows in another partition, which it brings in step: an entity for each row.
    pub fn checked_row(listing: Listing, size: Option<usize>) -> Self {
        Self::Other(Box::new(eventual(listing, size).settling()))
    }

    /// The same: each entity once.
    pub fn checked_entity(listing: Listing, size: Option<usize>) -> Self {
        Self::Other(Box::new(eventual(listing, size).settling().once()))
    }

    /// Rows in another partition: each entity once.
    pub fn eventual_entity(listing: Listing, size: Option<usize>) -> Self {
        Self::Other(Box::new(eventual(listing, size).once()))
    }

    /// Full copies in the entity's own partition: each entity once.
    pub fn entity(listing: Listing, size: Option<usize>) -> Self {
        let reader = PageReader::some(read_copies::<R>);
        Self::Other(Box::new(OtherRows::new(listing, size, reader, whole::<R::Entity>).once()))
    }
}

/// The query of all properties.
fn whole<E: TableEntity>(query: RowQuery) -> RowQuery {
    RowQuery { metadata: E::METADATA, ..query }
}

fn eventual<R: Row>(listing: Listing, size: Option<usize>) -> OtherRows<R> {
    let own = const { OwnRows::of::<R>() };
    let reader = PageReader::of(own, read_eventual::<R>);
    OtherRows::new(listing, size, reader, |query| reading_heads::<R>(query, &own))
}

/// The pages of a query whose entities are read from their canonical rows. Each is one request for rows, and
/// one for the entity of each row that is not canonical.
#[must_use = "nothing is sent until `next`"]
pub struct CheckedPages<R: Row, T = <R as Row>::Entity> {
    source: Source<R>,
    give: fn(Vec<Loaded<R::Entity>>) -> Vec<T>,
}

impl<R: Row, T> fmt::Debug for CheckedPages<R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckedPages").finish_non_exhaustive()
    }
}

impl<E, R, T> CheckedPages<R, T>
where
    E: TableEntity + 'static,
    R: Row<Entity = E> + 'static,
{
    pub(super) const fn new(source: Source<R>, give: fn(Vec<Loaded<E>>) -> Vec<T>) -> Self {
        Self { source, give }
    }

    pub(super) fn first_request(self) -> Result<Plan> {
        match self.source {
            Source::Canonical(rows) => rows.first_request(),
            Source::Other(rows) => rows.first_request(),
        }
    }

    /// Continues after the page that returned `token`. The next call fails with
    /// [`Error::Token`](crate::Error::Token) when the token belongs to another query.
    ///
    /// An entity of several rows comes once in the pages that one value reads. It may come again after a
    /// token.
    pub fn resume(self, token: PageToken) -> Self {
        let source = match self.source {
            Source::Canonical(rows) => Source::Canonical(Box::new(rows.resume(token))),
            Source::Other(rows) => Source::Other(Box::new(rows.resume(token))),
        };
        Self { source, ..self }
    }

    /// Reads the next page. Returns `None` after the last one. A page may hold fewer entities than rows
    /// were found. A page that reaches the limit of `take` is the last one, and has no token of a next one.
    ///
    /// # Errors
    /// When a key or filter cannot hold one of the values, or a canonical row cannot be read. When the store
    /// rejects a request; the next call continues there.
    pub async fn next(&mut self) -> Result<Option<RowPage<T>>> {
        let page = match &mut self.source {
            Source::Canonical(rows) => rows.next().await?,
            // Canonical rows are read from nowhere else, and the compiler need not build it for them.
            Source::Other(_) if const { R::INDEX == canonical::<E>() } => None,
            Source::Other(rows) => {
                let next: BoxFuture<'_, _> = Box::pin(rows.next());
                next.await?
            }
        };
        let Some(RowPage { items, next, previous }) = page else { return Ok(None) };
        Ok(Some(RowPage { items: (self.give)(items), next, previous }))
    }
}
