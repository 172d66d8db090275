//! Queries of one partition in which entities of several types stand.

use super::maintenance::verify::Found;
use super::pages::{PageReader, Pages, RowStream};
use crate::entity::{MemberOf, Row, SkipUnreadable, TableUnion, WholePartition, split_page};
use crate::error::{Error, Result};
use crate::key::KeyError;
use crate::model::{Metadata, TableName};
use crate::plan::{Connection, Plan, Step, TableClient};
use crate::property::PropertyError;
use crate::query::{KeyRange, RowQuery, Span};
use futures_core::future::BoxFuture;
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
#[must_use = "nothing is sent until `stream`, `pages` or `collect`"]
#[derive(Debug)]
pub struct UnionList<U> {
    client: TableClient,
    query: Result<RowQuery, KeyError>,
    limit: Option<usize>,
    skip: Option<SkipUnreadable>,
    union: PhantomData<fn() -> U>,
}

impl<U> Clone for UnionList<U> {
    fn clone(&self) -> Self {
        let Self { client, query, limit, skip, union } = self;
        let (client, query, skip) = (client.clone(), query.clone(), skip.clone());
        Self { client, query, limit: *limit, skip, union: *union }
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
            .map(|query| RowQuery { metadata, ..query });
        Self { client, query, limit: None, skip: None, union: PhantomData }
    }

    /// Leaves out entities that cannot be read, as
    /// [`List::skip_unreadable`](super::List::skip_unreadable) does.
    pub fn skip_unreadable(self, told: impl Fn(&PropertyError) + Send + Sync + 'static) -> Self {
        Self { skip: Some(SkipUnreadable::new(told)), ..self }
    }

    /// Gives at most `entities` in all.
    pub fn take(mut self, entities: usize) -> Self {
        self.limit = Some(self.limit.map_or(entities, |limit| limit.min(entities)));
        self
    }

    /// What it will send.
    ///
    /// # Errors
    /// A value that a key cannot hold.
    pub fn plan(&self) -> Result<Plan> {
        let (query, limit) = (self.query.clone()?, self.limit);
        Ok(Plan { steps: vec![Step::Read { query, limit, reason: None }] })
    }

    /// The answer in pages, to be resumed by token. A page looks at `size` rows at most, 1 to 1000,
    /// index rows among them, so it may hold fewer entities, even none, and not be the last.
    pub fn pages(self, size: usize) -> Pages<U> {
        self.ask(Some(size))
    }

    /// The entities one after another, a page of at most 1000 rows in memory at a time.
    #[must_use]
    pub fn stream(self) -> RowStream<U>
    where
        U: Send + 'static,
    {
        self.ask(None).into_stream()
    }

    /// All entities.
    ///
    /// # Errors
    /// A value that a key cannot hold, the store's refusal, or a row that cannot be read.
    pub fn collect(self) -> BoxFuture<'static, Result<Vec<U>>>
    where
        U: Send + 'static,
    {
        Box::pin(self.ask(None).collect())
    }

    fn ask(self, size: Option<usize>) -> Pages<U> {
        let reader = PageReader::some(|_, page, skip, most| read_union(page, skip, most));
        let query = self.query.map_err(Error::from);
        Pages::read_by(self.client, reader, query, self.limit, size).skipping(self.skip)
    }
}

/// The entities of a page, without rows that are of none of the types or none canonical.
fn read_union<U: TableUnion>(
    page: &[u8],
    skip: Option<&SkipUnreadable>,
    most: usize,
) -> Result<Vec<U>> {
    let mut entities = Vec::new();
    for row in split_page(page)? {
        if entities.len() == most {
            break;
        }
        let row = Found::read(row.get().as_bytes())?;
        let member = U::MEMBERS.iter().position(|member| member.has_canonical(&row.row_key));
        if let Some(member) = member {
            entities.extend(SkipUnreadable::take(skip, U::read_member(member, row.body))?);
        }
    }
    Ok(entities)
}
