//! Queries of one partition in which entities of several types stand.

use super::channel::Channel;
use super::pages::{RowPage, RowStream, page_size};
use super::verify::Found;
use crate::entity::{MemberOf, TableName, TableUnion};
use crate::error::{Error, Result};
use crate::key::KeyError;
use crate::plan::{Plan, Step};
use crate::query::{KeyRange, PageToken, Row, RowQuery, Span, WholePartition};
use crate::row::split_page;
use crate::store::{MAX_PAGE_ROWS, Store};
use futures_core::future::BoxFuture;
use futures_util::{TryStreamExt as _, stream};
use std::marker::PhantomData;
use std::sync::Arc;

/// A query of every entity of one partition that is of one of the types of `U`, in key order. One
/// of the last methods sends it.
///
/// It is one query, of the range that holds the canonical rows of all types. Each entity is given
/// once: index rows that stand in that range are read and left out. So are rows that are of none of
/// the types. A partition is shared on purpose, and who reads two types of it must not fail when a
/// third one is stored there, by a later version of the app for one; `list` of a single type does
/// not see it either. A row that has the key of a type and cannot be read as it is an error.
#[must_use = "nothing is sent until `stream`, `pages` or `collect`"]
#[derive(Debug)]
pub struct UnionList<U> {
    channel: Channel,
    query: Result<RowQuery, KeyError>,
    limit: Option<usize>,
    union: PhantomData<fn() -> U>,
}

impl<U> Clone for UnionList<U> {
    fn clone(&self) -> Self {
        let Self { channel, query, limit, union } = self;
        let (channel, query) = (channel.clone(), query.clone());
        Self { channel, query, limit: *limit, union: *union }
    }
}

impl<U: TableUnion> UnionList<U> {
    pub(crate) fn new<Q>(store: Arc<dyn Store>, table: TableName, partition: Q) -> Self
    where
        Q: WholePartition,
        <Q::Row as Row>::Entity: MemberOf<U>,
    {
        let channel = Channel { store, table, entity: U::NAME, guards: &[] };
        let canonical = U::MEMBERS.iter().filter_map(|member| member.rows.get(member.canonical));
        let row = canonical.map(|row| row.span()).reduce(Span::hull).unwrap_or(Span::All);
        let query = partition
            .into_keys()
            .map(|keys| channel.query(KeyRange { partition: keys.partition, row }));
        Self { channel, query, limit: None, union: PhantomData }
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
    pub fn pages(self, size: usize) -> UnionPages<U> {
        self.ask(Some(size))
    }

    /// The entities one after another, a page of at most 1000 rows in memory at a time.
    #[must_use]
    pub fn stream(self) -> RowStream<U>
    where
        U: Send + 'static,
    {
        let pages = stream::try_unfold(self.ask(None), |mut pages| async {
            let page = pages.next().await?;
            Ok::<_, Error>(page.map(|page| (stream::iter(page.items.into_iter().map(Ok)), pages)))
        });
        RowStream::new(pages.try_flatten())
    }

    /// All entities.
    ///
    /// # Errors
    /// A value that a key cannot hold, the store's refusal, or a row that cannot be read.
    pub fn collect(self) -> BoxFuture<'static, Result<Vec<U>>>
    where
        U: Send + 'static,
    {
        Box::pin(self.stream().try_collect())
    }

    fn ask(self, size: Option<usize>) -> UnionPages<U> {
        let Self { channel, query, limit, .. } = self;
        let query = query.map_err(Error::from).and_then(|mut query| {
            query.top = size.map(page_size).transpose()?;
            Ok(query)
        });
        let query = Some(query).filter(|query| query.is_err() || limit != Some(0));
        UnionPages { channel, query, left: limit, union: PhantomData }
    }
}

/// The pages of a union, each asked for when it is wanted.
#[must_use = "nothing is sent until `next`"]
#[derive(Debug)]
pub struct UnionPages<U> {
    channel: Channel,
    /// The next request; `None` at the end. An error waits here for the next call.
    query: Option<Result<RowQuery>>,
    /// The most entities still to give.
    left: Option<usize>,
    union: PhantomData<fn() -> U>,
}

impl<U: TableUnion> UnionPages<U> {
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

    /// The next page: one request. `None` after the last one. A page that `take` has cut short has
    /// no token.
    ///
    /// # Errors
    /// A value that a key cannot hold, after which there are no pages. The store's refusal, or a
    /// row that cannot be read; the next call asks for the same page again then.
    pub async fn next(&mut self) -> Result<Option<RowPage<U>>> {
        let query = match &mut self.query {
            Some(Ok(query)) => query,
            ended => return ended.take().map_or(Ok(None), |failed| failed.map(|_| None)),
        };
        let mut request = query.clone();
        // Where every row is an entity, no more rows are asked for than are wanted.
        if let Some(left) = self.left.and_then(|left| u16::try_from(left).ok())
            && U::MEMBERS.iter().all(|member| member.rows.len() == 1)
        {
            request.top = Some(left.min(request.top.unwrap_or(MAX_PAGE_ROWS)).min(MAX_PAGE_ROWS));
        }
        let page = self.channel.page(&request).await?;
        let mut items = Vec::new();
        for row in split_page(&page.body)? {
            let row = Found::read(row.get().as_bytes())?;
            let member = U::MEMBERS.iter().position(|member| member.has_canonical(&row.row_key));
            if let Some(member) = member {
                items.push(U::read_member(member, row.body)?);
            }
        }
        let mut token = page.continuation.clone().map(|next| PageToken::new(query, next));
        query.continuation = page.continuation;
        if let Some(left) = &mut self.left {
            if items.len() > *left {
                items.truncate(*left);
                token = None;
            }
            *left -= items.len();
        }
        if token.is_none() || self.left == Some(0) {
            self.query = None;
        }
        Ok(Some(RowPage { items, token }))
    }
}
