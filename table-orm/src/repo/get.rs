//! Point queries.

use super::channel::Channel;
use crate::error::Result;
use crate::key::KeyError;
use crate::plan::Plan;
use crate::query::{KeyRange, Row, Span};
use crate::row::{FromRow, ReadRow, read_row};
use crate::store::Metadata;
use futures_core::future::BoxFuture;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use std::borrow::Cow;
use std::marker::PhantomData;

/// The most point queries that one `get_many` has under way.
pub const MAX_PARALLEL_GETS: usize = 16;

/// A point query: `.await` sends it, `.plan()` shows it.
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct Get<R, T> {
    pub(super) channel: Channel,
    pub(super) keys: Result<KeyRange, KeyError>,
    pub(super) read: PhantomData<fn() -> (R, T)>,
}

impl<R: Row, T> Get<R, T> {
    /// Reads only the fields of `P`, a struct with `#[derive(Projection)]`.
    pub fn project<P: FromRow<R>>(self) -> Get<R, P> {
        Get { channel: self.channel, keys: self.keys, read: PhantomData }
    }
}

impl<R: Row, T: FromRow<R>> Get<R, T> {
    /// What it will send.
    ///
    /// # Errors
    /// A value that a key cannot hold.
    pub fn plan(&self) -> Result<Plan> {
        let mut query = self.channel.query(self.keys.clone()?);
        query.select = select::<T>();
        Ok(Plan::read(query))
    }
}

impl<R: Row + 'static, T: FromRow<R> + 'static> IntoFuture for Get<R, T> {
    type Output = Result<Option<T>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { point::<R, T>(&self.channel, self.keys?).await })
    }
}

/// The names to select for a `T`.
pub(super) fn select<T: ReadRow>() -> Option<Vec<Cow<'static, str>>> {
    T::SELECT.map(|names| names.iter().copied().map(Cow::Borrowed).collect())
}

async fn point<R: Row, T: FromRow<R>>(channel: &Channel, keys: KeyRange) -> Result<Option<T>> {
    let KeyRange { partition: Span::Exact(partition_key), row: Span::Exact(row_key) } = keys else {
        // Only a complete key gets here, and its keys are exact.
        return Ok(None);
    };
    match channel.get(&partition_key, &row_key, T::SELECT, Metadata::None).await? {
        Some(row) => Ok(Some(read_row::<T>(R::INDEX, &row.body)?)),
        None => Ok(None),
    }
}

/// Many point queries, at most 16 at a time: `.await` sends them and gives the answers in the order
/// of the keys.
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct GetMany<R, T> {
    pub(super) channel: Channel,
    pub(super) keys: Vec<Result<KeyRange, KeyError>>,
    pub(super) read: PhantomData<fn() -> (R, T)>,
}

impl<R: Row, T: FromRow<R>> GetMany<R, T> {
    /// What it will send.
    ///
    /// # Errors
    /// A value that a key cannot hold.
    pub fn plan(&self) -> Result<Plan> {
        let mut steps = Vec::with_capacity(self.keys.len());
        for keys in &self.keys {
            let (channel, keys) = (self.channel.clone(), keys.clone());
            let get = Get { channel, keys, read: self.read };
            steps.extend(get.plan()?.steps);
        }
        Ok(Plan { steps })
    }
}

impl<R: Row + 'static, T: FromRow<R> + Send + 'static> IntoFuture for GetMany<R, T> {
    type Output = Result<Vec<Option<T>>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            // All keys first: a bad one is an error before anything is sent.
            let keys = self.keys.into_iter().collect::<Result<Vec<_>, _>>()?;
            let channel = &self.channel;
            stream::iter(keys)
                .map(|keys| point::<R, T>(channel, keys))
                .buffered(MAX_PARALLEL_GETS)
                .try_collect()
                .await
        })
    }
}
