//! Queries of one partition in which entities of several types stand.

use super::get::reading;
use super::listing::{Listing, last_methods};
use super::maintenance::verify::Found;
use super::pages::{PageReader, Pages};
use crate::entity::{
    Invalid, MemberOf, Row, RowHead, SkipUnreadable, TableUnion, WholePartition, split_page,
};
use crate::error::Result;
use crate::model::{Metadata, TableName};
use crate::plan::{Connection, TableClient};
use crate::property::PropertyError;
use crate::query::{KeyRange, RowQuery, Span};
use std::marker::PhantomData;
use std::sync::Arc;

/// A query of every entity of one partition that is of one of the types of `U`, in key order. One
/// of the last methods sends it.
///
/// It is one query, of the range that holds the canonical rows of all types. Each entity is given
/// once: index rows that stand in that range are read and left out. So are rows that are of none of
/// the types. A partition is shared on purpose, and who reads two types of it must not fail when a
/// third one is stored there, by a later version of the app for one; where its keys start
/// otherwise, `list` of a single type does not see it either. A row that has the key of a type and
/// cannot be read as it is an error, or with [`skip_unreadable`](Self::skip_unreadable) left out.
#[must_use = "nothing is sent until `stream`, `pages`, `collect` or another last method"]
#[derive(Debug)]
pub struct UnionList<U> {
    listing: Listing,
    union: PhantomData<fn() -> U>,
}

impl<U> Clone for UnionList<U> {
    fn clone(&self) -> Self {
        Self { listing: self.listing.clone(), union: PhantomData }
    }
}

impl<U: TableUnion> UnionList<U> {
    pub(crate) fn new<Q>(connection: Arc<Connection>, table: TableName, partition: Q) -> Self
    where
        Q: WholePartition,
        <Q::Row as Row>::Entity: MemberOf<U>,
    {
        let client = TableClient::untyped(connection, table, U::NAME);
        let canonical = U::MEMBERS.iter().filter_map(|member| member.rows.get(member.canonical));
        let row = canonical.map(|row| row.span()).reduce(Span::hull).unwrap_or(Span::All);
        let open = U::MEMBERS.iter().any(|member| member.metadata == Metadata::Minimal);
        let metadata = if open { Metadata::Minimal } else { Metadata::None };
        let query = partition
            .into_keys()
            .map(|keys| client.query(KeyRange { partition: keys.partition, row }))
            .map(|query| RowQuery { metadata, ..query })
            .map_err(Invalid::from);
        Self { listing: Listing::new(client, query), union: PhantomData }
    }

    /// Leaves out entities that cannot be read, as
    /// [`List::skip_unreadable`](super::List::skip_unreadable) does.
    pub fn skip_unreadable(self, on_skip: impl Fn(&PropertyError) + Send + Sync + 'static) -> Self {
        Self { listing: self.listing.skip_unreadable(on_skip), ..self }
    }

    /// Reads at most `entities` entities in all.
    pub fn take(self, entities: usize) -> Self {
        Self { listing: self.listing.take(entities), ..self }
    }

    /// Returns whether there is any entity.
    ///
    /// # Errors
    /// As [`count`](Self::count).
    pub async fn exists(self) -> Result<bool> {
        Ok(self.take(1).count().await? > 0)
    }

    /// Returns the number of entities: reads the keys of all rows in their range.
    ///
    /// # Errors
    /// When a key cannot hold one of the values, or the store refuses a request.
    pub async fn count(mut self) -> Result<usize> {
        self.listing.query = self.listing.query.map(reading::<RowHead>);
        let reader = PageReader::some(|_, page, _, most| {
            let rows = canonical_rows::<U>(page)?.into_iter();
            Ok(rows.take(most).map(drop).collect::<Vec<()>>())
        });
        self.listing.pages(reader, None).count().await
    }

    /// A page looks at `size` rows at most, index rows among them, so it may hold fewer entities,
    /// even none, and not be the last.
    fn ask(self, size: Option<usize>) -> Pages<U> {
        let reader = PageReader::some(|_, page, skip, most| read_union(page, skip, most));
        self.listing.pages(reader, size)
    }

    last_methods! { U, U::NAME, "entities" where [U: TableUnion,] [U: Send + 'static,] }
}

/// The canonical rows of a page that are of one of the types, each with the place of its type.
fn canonical_rows<U: TableUnion>(page: &[u8]) -> Result<Vec<(usize, &[u8])>> {
    let mut rows = Vec::new();
    for row in split_page(page)? {
        let row = Found::read(row.get().as_bytes())?;
        let member = U::MEMBERS.iter().position(|member| member.has_canonical(&row.row_key));
        rows.extend(member.map(|member| (member, row.body)));
    }
    Ok(rows)
}

/// The entities of a page, without rows that are of none of the types or not canonical.
fn read_union<U: TableUnion>(
    page: &[u8],
    skip: Option<&SkipUnreadable>,
    most: usize,
) -> Result<Vec<U>> {
    let mut entities = Vec::new();
    for (member, body) in canonical_rows::<U>(page)? {
        if entities.len() == most {
            break;
        }
        entities.extend(SkipUnreadable::take(skip, U::read_member(member, body))?);
    }
    Ok(entities)
}
