//! Reading entities in order to change them.

use super::get::MAX_PARALLEL_GETS;
use super::{LoadedSet, Repo};
use crate::entity::{
    FromRow, Loaded, Query, Row, RowOf, TableEntity, keys_of, partition_key, read_entity, row_key,
    split_page,
};
use crate::error::Result;
use crate::key::KeyError;
use crate::plan::{CanonicalKey, Plan, Step, TableClient};
use crate::query::{KeyRange, RowQuery};
use bytes::Bytes;
use futures_core::future::BoxFuture;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use std::marker::PhantomData;

impl<E: TableEntity> Repo<E> {
    /// Reads the entities of a query with their versions, to be changed and saved.
    ///
    /// Through an index row it sends one more point query for each entity: the version that guards
    /// an entity is the ETag of its canonical row.
    ///
    /// # Errors
    /// When a row's properties make another key than its own, the call fails with
    /// [`Error::KeyMismatch`](crate::Error::KeyMismatch): a save would go to that other key.
    pub fn load<Q>(&self, query: Q) -> Load<Q::Row, E>
    where
        Q: Query,
        Q::Row: RowOf<E>,
        E: FromRow<Q::Row>,
    {
        Load { client: self.client.clone(), keys: keys_of(query), read: PhantomData }
    }
}

/// A `load`: `.await` sends it, `.plan()` shows it.
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct Load<R, E> {
    client: TableClient,
    keys: Result<KeyRange, KeyError>,
    read: PhantomData<fn() -> (R, E)>,
}

impl<E: TableEntity + FromRow<R>, R: Row<Entity = E>> Load<R, E> {
    const IS_CANONICAL: bool = R::INDEX == <E::Canonical as Row>::INDEX;

    /// Returns what it will send.
    ///
    /// # Errors
    /// When a key cannot hold one of the values.
    pub fn plan(&self) -> Result<Plan> {
        let table = self.client.table.clone();
        let canonical = (!Self::IS_CANONICAL).then_some(Step::ReadCanonical { table });
        Ok([Some(Step::read(self.query()?)), canonical].into_iter().map(Plan::from).collect())
    }

    fn query(&self) -> Result<RowQuery> {
        Ok(RowQuery { metadata: E::METADATA, ..self.client.query(self.keys.clone()?) })
    }

    async fn run(self) -> Result<LoadedSet<E>> {
        let mut query = self.query()?;
        let mut loaded = Vec::new();
        loop {
            let page = self.client.page(&query).await?;
            if Self::IS_CANONICAL {
                for row in split_page(&page.body)? {
                    let stored = Bytes::copy_from_slice(row.get().as_bytes());
                    loaded.push(Loaded::read(stored, None)?);
                }
            } else {
                loaded.extend(canonical_rows::<R, E>(&self.client, &page.body).await?);
            }
            query.continuation = page.continuation;
            if query.continuation.is_none() {
                return Ok(LoadedSet(loaded));
            }
        }
    }
}

/// The canonical rows of the entities whose index rows are in a page. An entity that was deleted
/// in between is left out.
async fn canonical_rows<R, E>(client: &TableClient, page: &[u8]) -> Result<Vec<Loaded<E>>>
where
    E: TableEntity + FromRow<R>,
    R: Row<Entity = E>,
{
    let keys = split_page(page)?
        .into_iter()
        .map(|row| {
            let (entity, _) = read_entity::<E>(R::INDEX, row.get().as_bytes(), None)?;
            let row_key = row_key(&entity, <E::Canonical as Row>::INDEX)?.unwrap_or_default();
            Ok(CanonicalKey { partition_key: partition_key(&entity)?, row_key })
        })
        .collect::<Result<Vec<_>>>()?;
    stream::iter(keys)
        .map(|key| async move {
            let query = RowQuery { metadata: E::METADATA, ..client.point(&key) };
            match client.row(&query).await? {
                Some(row) => Ok(Some(Loaded::read(row.body, row.header)?)),
                None => Ok(None),
            }
        })
        .buffered(MAX_PARALLEL_GETS)
        .try_filter_map(|loaded| async { Ok(loaded) })
        .try_collect()
        .await
}

impl<R, E> IntoFuture for Load<R, E>
where
    E: TableEntity + FromRow<R> + 'static,
    R: Row<Entity = E> + 'static,
{
    type Output = Result<LoadedSet<E>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
