//! Point queries.

use super::Repo;
use crate::entity::{CompleteKey, FromRow, Query, ReadRow, Row, RowOf, TableEntity, read_row};
use crate::error::Result;
use crate::key::KeyError;
use crate::plan::{Plan, Step, TableClient};
use crate::query::{KeyRange, RowQuery};
use futures_core::future::BoxFuture;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The most point queries that one `get_many` has under way.
pub const MAX_PARALLEL_GETS: usize = 16;

impl<E: TableEntity> Repo<E> {
    /// Reads the entity in the row of a complete key, or returns `None`. One request, one row.
    ///
    /// The key may be of any row that holds the whole entity.
    ///
    /// The row's properties are not compared with its key: where another program has written a row
    /// whose properties make another key, this returns the entity of that other key. `load` refuses
    /// such rows; see [rows that others
    /// wrote](crate::guide::run::out_of_step#a-key-that-the-properties-do-not-make).
    pub fn get<Q>(&self, key: Q) -> Get<Q::Row, E>
    where
        Q: CompleteKey,
        Q::Row: RowOf<E>,
    {
        Get::new(self.client.clone(), key.into_keys())
    }

    /// Sends many point queries, at most 16 at a time. Returns the answers in the order of the keys.
    pub fn get_many<Q>(&self, keys: impl IntoIterator<Item = Q>) -> GetMany<Q::Row, E>
    where
        Q: CompleteKey,
        Q::Row: RowOf<E>,
    {
        let keys = keys.into_iter().map(Query::into_keys).collect();
        GetMany::new(self.client.clone(), keys)
    }
}

/// A point query: `.await` sends it, `.plan()` shows it.
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct Get<R, T> {
    /// What to send, until it is sent.
    query: Option<(TableClient, Result<KeyRange, KeyError>)>,
    row: PhantomData<fn() -> R>,
    answer: Answer<Option<T>>,
}

impl<R: Row, T> Get<R, T> {
    const fn new(client: TableClient, keys: Result<KeyRange, KeyError>) -> Self {
        Self { query: Some((client, keys)), row: PhantomData, answer: Answer(None) }
    }

    /// Reads only the fields of `P`, a struct with `#[derive(Projection)]`: fields that the row
    /// stores from its properties, others from its keys.
    pub fn project<P: FromRow<R>>(self) -> Get<R, P> {
        Get { query: self.query, row: PhantomData, answer: Answer(None) }
    }
}

impl<R: Row, T: FromRow<R>> Get<R, T> {
    /// Returns what it will send.
    ///
    /// # Errors
    /// When a key cannot hold one of the values.
    pub fn plan(&self) -> Result<Plan> {
        let Some((client, keys)) = &self.query else { return Ok(Plan::default()) };
        Ok(Step::read(reading::<T>(client.query(keys.clone()?))).into())
    }
}

// A future by itself: for `IntoFuture`, rustc would not say that the row lacks some of `T`.
impl<R: Row + 'static, T: FromRow<R> + 'static> Future for Get<R, T> {
    type Output = Result<Option<T>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { query, answer, row: _ } = self.get_mut();
        answer.poll(context, || {
            let query = query.take();
            Box::pin(async move {
                let Some((client, keys)) = query else { return Ok(None) };
                read_point::<R, T>(&client, keys?).await
            })
        })
    }
}

/// An answer that is asked for when it is first polled.
struct Answer<T>(Option<BoxFuture<'static, Result<T>>>);

impl<T> Answer<T> {
    fn poll(
        &mut self,
        context: &mut Context<'_>,
        ask: impl FnOnce() -> BoxFuture<'static, Result<T>>,
    ) -> Poll<Result<T>> {
        self.0.get_or_insert_with(ask).as_mut().poll(context)
    }
}

impl<T> fmt::Debug for Answer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "asked for" } else { "not asked for" })
    }
}

/// The query, of the properties that a `T` is made of.
pub(super) fn reading<T: ReadRow>(query: RowQuery) -> RowQuery {
    let select = T::SELECT.map(|names| names.iter().copied().map(Cow::Borrowed).collect());
    RowQuery { select, metadata: T::METADATA, ..query }
}

async fn read_point<R, T>(client: &TableClient, keys: KeyRange) -> Result<Option<T>>
where
    R: Row,
    T: FromRow<R>,
{
    match client.row(&reading::<T>(client.query(keys))).await? {
        Some(row) => Ok(Some(read_row::<T>(R::INDEX, &row.body)?)),
        None => Ok(None),
    }
}

/// Many point queries, at most 16 at a time: `.await` sends them and returns the answers in the
/// order of the keys.
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct GetMany<R, T> {
    client: TableClient,
    keys: Vec<Result<KeyRange, KeyError>>,
    row: PhantomData<fn() -> R>,
    answers: Answer<Vec<Option<T>>>,
}

impl<R: Row, T> GetMany<R, T> {
    const fn new(client: TableClient, keys: Vec<Result<KeyRange, KeyError>>) -> Self {
        Self { client, keys, row: PhantomData, answers: Answer(None) }
    }
}

impl<R: Row, T: FromRow<R>> GetMany<R, T> {
    /// Returns what it will send.
    ///
    /// # Errors
    /// When a key cannot hold one of the values.
    pub fn plan(&self) -> Result<Plan> {
        let get = |keys: &Result<_, _>| Get::<R, T>::new(self.client.clone(), keys.clone()).plan();
        self.keys.iter().map(get).collect()
    }
}

impl<R: Row + 'static, T: FromRow<R> + Send + 'static> Future for GetMany<R, T> {
    type Output = Result<Vec<Option<T>>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { client, keys, answers, row: _ } = self.get_mut();
        answers.poll(context, || {
            let (client, keys) = (client.clone(), std::mem::take(keys));
            Box::pin(async move {
                // All keys first: a bad one is an error before anything is sent.
                let keys = keys.into_iter().collect::<Result<Vec<_>, _>>()?;
                stream::iter(keys)
                    .map(|keys| read_point::<R, T>(&client, keys))
                    .buffered(MAX_PARALLEL_GETS)
                    .try_collect()
                    .await
            })
        })
    }
}
