//! Point queries.

use crate::entity::{FromRow, ReadRow, Row, read_row};
use crate::error::Result;
use crate::key::KeyError;
use crate::plan::{Plan, TableClient};
use crate::query::{KeyRange, RowQuery, Span};
use futures_core::future::BoxFuture;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The most point queries that one `get_many` has under way.
pub const MAX_PARALLEL_GETS: usize = 16;

/// A point query: `.await` sends it, `.plan()` shows it.
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct Get<R, T> {
    /// What to ask for, until it is asked.
    question: Option<(TableClient, Result<KeyRange, KeyError>)>,
    row: PhantomData<fn() -> R>,
    answer: Answer<Option<T>>,
}

impl<R: Row, T> Get<R, T> {
    pub(super) const fn new(client: TableClient, keys: Result<KeyRange, KeyError>) -> Self {
        Self { question: Some((client, keys)), row: PhantomData, answer: Answer(None) }
    }

    /// Reads only the fields of `P`, a struct with `#[derive(Projection)]`: those that the row stores
    /// from its properties, others from its keys.
    pub fn project<P: FromRow<R>>(self) -> Get<R, P> {
        Get { question: self.question, row: PhantomData, answer: Answer(None) }
    }
}

impl<R: Row, T: FromRow<R>> Get<R, T> {
    /// What it will send.
    ///
    /// # Errors
    /// A value that a key cannot hold.
    pub fn plan(&self) -> Result<Plan> {
        let Some((client, keys)) = &self.question else { return Ok(Plan { steps: Vec::new() }) };
        Ok(Plan::read(asking_for::<T>(client.query(keys.clone()?))))
    }
}

// A future by itself: for `IntoFuture`, rustc would not say that the row lacks some of `T`.
impl<R: Row + 'static, T: FromRow<R> + 'static> Future for Get<R, T> {
    type Output = Result<Option<T>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { question, answer, row: _ } = self.get_mut();
        answer.poll(context, || {
            let question = question.take();
            Box::pin(async move {
                let Some((client, keys)) = question else { return Ok(None) };
                point::<R, T>(&client, keys?).await
            })
        })
    }
}

/// An answer on its way: asked for when it is first waited for.
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

/// The query, for what a `T` is made of.
pub(super) fn asking_for<T: ReadRow>(query: RowQuery) -> RowQuery {
    let select = T::SELECT.map(|names| names.iter().copied().map(Cow::Borrowed).collect());
    RowQuery { select, metadata: T::METADATA, ..query }
}

async fn point<R: Row, T: FromRow<R>>(client: &TableClient, keys: KeyRange) -> Result<Option<T>> {
    let KeyRange { partition: Span::Exact(partition_key), row: Span::Exact(row_key) } = keys else {
        // Only a complete key gets here, and its keys are exact.
        return Ok(None);
    };
    match client.get(&partition_key, &row_key, T::SELECT, T::METADATA).await? {
        Some(row) => Ok(Some(read_row::<T>(R::INDEX, &row.body)?)),
        None => Ok(None),
    }
}

/// Many point queries, at most 16 at a time: `.await` sends them and gives the answers in the order
/// of the keys.
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct GetMany<R, T> {
    pub(super) client: TableClient,
    keys: Vec<Result<KeyRange, KeyError>>,
    row: PhantomData<fn() -> R>,
    answers: Answer<Vec<Option<T>>>,
}

impl<R: Row, T> GetMany<R, T> {
    pub(super) const fn new(client: TableClient, keys: Vec<Result<KeyRange, KeyError>>) -> Self {
        Self { client, keys, row: PhantomData, answers: Answer(None) }
    }
}

impl<R: Row, T: FromRow<R>> GetMany<R, T> {
    /// What it will send.
    ///
    /// # Errors
    /// A value that a key cannot hold.
    pub fn plan(&self) -> Result<Plan> {
        let mut steps = Vec::with_capacity(self.keys.len());
        for keys in &self.keys {
            let get = Get::<R, T>::new(self.client.clone(), keys.clone());
            steps.extend(get.plan()?.steps);
        }
        Ok(Plan { steps })
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
                    .map(|keys| point::<R, T>(&client, keys))
                    .buffered(MAX_PARALLEL_GETS)
                    .try_collect()
                    .await
            })
        })
    }
}
