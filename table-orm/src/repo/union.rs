//! Queries of one partition that stores entities of several types.

use super::get::reading;
use super::listing::{Listing, last_methods};
use super::maintenance::verify::VersionedRow;
use super::pages::{PageReader, Pages};
use crate::entity::{
    InvalidEntity, MemberOf, OwnRows, Row, RowHead, SkipUnreadable, TableUnion, UnionScope,
    is_alive_in, split_page,
};
use crate::error::Result;
use crate::model::{DateTime, Metadata, TableName};
use crate::plan::{Connection, TableClient};
use crate::property::PropertyError;
use crate::query::class::Scope;
use crate::query::{KeyRange, RowQuery, Span};
use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::sync::Arc;

/// A query of the entities in one partition whose type is a variant of `U`, in key order. One of the last
/// methods sends it.
///
/// It is one query, of the range that holds the canonical rows of all types, or of a row and those below
/// it. The query returns each entity once: it reads the index rows in that range and leaves them out. It
/// also leaves out rows of other types, so that a later version of the app can store a further type in the
/// partition. A row that has the key of a type but cannot be read as that type fails the call, unless
/// [`skip_unreadable`](Self::skip_unreadable) leaves it out.
///
/// ```
/// # use table_orm::{TableEntity, TableUnion, Tables};
/// # #[derive(Debug, PartialEq, TableEntity)]
/// # #[table(name = "orders", partition = "{order}", row = "LINE:{number:03}")]
/// # struct Line { order: String, number: u32, cents: u32 }
/// # #[derive(Debug, PartialEq, TableEntity)]
/// # #[table(name = "orders", partition = "{order}", row = "HEAD")]
/// # struct Head { order: String, customer: String }
/// # #[derive(Debug, PartialEq, TableUnion)]
/// # enum Part { Head(Head), Line(Line) }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let tables = Tables::in_memory()?;
/// # let (heads, lines) = (tables.repo::<Head>(), tables.repo::<Line>());
/// # heads.create_table().await?;
/// # heads.insert(&Head { order: "A1".into(), customer: "acme".into() }).await?;
/// # for number in [1, 2] {
/// #     lines.insert(&Line { order: "A1".into(), number, cents: 900 }).await?;
/// # }
/// // `Part` is an enum with the variants `Head(Head)` and `Line(Line)`.
/// let order = tables.union::<Part>(Head::partition("A1"));
/// assert_eq!(order.clone().count().await?, 3);
/// let parts = order.take(2).collect().await?;
/// assert!(matches!(&parts[0], Part::Head(head) if head.customer == "acme"));
/// assert!(matches!(&parts[1], Part::Line(line) if line.number == 1));
/// # Ok(())
/// # }
/// ```
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
        Q: UnionScope,
        <Q::Row as Row>::Entity: MemberOf<U>,
    {
        let client = TableClient::untyped(connection, table, U::NAME);
        let canonical = U::MEMBERS.iter().filter_map(|member| member.rows.get(member.canonical));
        let row = canonical.map(|row| row.span()).reduce(Span::hull).unwrap_or(Span::All);
        let open = U::MEMBERS.iter().any(|member| member.metadata == Metadata::Minimal);
        let metadata = if open { Metadata::Minimal } else { Metadata::None };
        let query = partition
            .into_keys()
            .map(|keys| match <Q::Class as Scope>::IS_PARTITION {
                true => client.query(KeyRange { row, ..keys }),
                false => client.query(keys),
            })
            .map(|query| RowQuery { metadata, ..query })
            .map_err(InvalidEntity::from);
        Self { listing: Listing::new(client, query), union: PhantomData }
    }

    /// The same query of another table.
    pub(crate) fn in_table(mut self, table: TableName) -> Self {
        self.listing.client.table = table.clone();
        self.listing.query = self.listing.query.map(|query| RowQuery { table, ..query });
        self
    }

    /// Includes entities that have expired.
    pub fn including_expired(mut self) -> Self {
        self.listing.client.expiry.included = true;
        self
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

    /// Returns whether the query finds an entity of one of the types.
    ///
    /// # Errors
    /// As [`count`](Self::count).
    pub async fn exists(self) -> Result<bool> {
        Ok(self.take(1).count().await? > 0)
    }

    /// Returns the number of entities. Reads the keys of all rows in their range, 1000 a request.
    ///
    /// # Errors
    /// When a key cannot hold one of the values, or the store rejects a request.
    pub async fn count(self) -> Result<usize> {
        let reader = PageReader::some(|own, page, _, most| {
            let (rows, whole) = canonical_rows::<U>(own.now, page)?;
            Ok((rows.into_iter().take(most).map(drop).collect::<Vec<()>>(), whole))
        });
        self.keys_only().may_be_old().pages(reader, None).count().await
    }

    /// The query of the keys and marks of its rows.
    pub(super) fn keys_only(self) -> Listing {
        let mut listing = self.listing;
        listing.query = listing.query.map(|query| {
            let mut query = reading::<RowHead>(query, &OwnRows::ANY);
            let marks = U::MEMBERS.iter().flat_map(|member| member.own.marks());
            // Each name once.
            let marks = BTreeSet::from_iter(marks).into_iter().map(Into::into);
            query.select = query.select.map(|names| names.into_iter().chain(marks).collect());
            query
        });
        listing
    }

    /// A page reads at most `size` rows, index rows included. It may hold fewer entities or no entity,
    /// and not be the last.
    fn ask(self, size: Option<usize>) -> Pages<U> {
        let reader =
            PageReader::some(|own, page, skip, most| read_union(own.now, page, skip, most));
        self.listing.may_be_old().pages(reader, size)
    }

    last_methods! { U, U::NAME, "entities" where [U: TableUnion,] [U: Send + 'static,] }
}

/// The index of an entity type, and a canonical row of it.
type MemberRow<'a> = (usize, &'a [u8]);

/// The canonical rows of a page that are of one of the types, each with the index of its type, and
/// whether these are all rows of the page.
pub(super) fn canonical_rows<U: TableUnion>(
    now: Option<DateTime>,
    page: &[u8],
) -> Result<(Vec<MemberRow<'_>>, bool)> {
    let (mut rows, mut whole) = (Vec::new(), true);
    for row in split_page(page)? {
        let row = VersionedRow::read(row.get().as_bytes())?;
        let member = U::MEMBERS.iter().position(|member| member.own.take(&row.context));
        let member =
            member.filter(|member| is_alive_in(&U::MEMBERS[*member].own.at(now), row.body));
        whole &= member.is_some();
        rows.extend(member.map(|member| (member, row.body)));
    }
    Ok((rows, whole))
}

/// The entities of a page. Leaves out index rows and rows of other types.
fn read_union<U: TableUnion>(
    now: Option<DateTime>,
    page: &[u8],
    skip: Option<&SkipUnreadable>,
    most: usize,
) -> Result<(Vec<U>, bool)> {
    let mut entities = Vec::new();
    let (rows, mut whole) = canonical_rows::<U>(now, page)?;
    for (member, body) in rows {
        if entities.len() == most {
            break;
        }
        let entity = SkipUnreadable::take(skip, U::read_member(member, body))?;
        whole &= entity.is_some();
        entities.extend(entity);
    }
    Ok((entities, whole))
}
