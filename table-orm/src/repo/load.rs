//! Reading entities in order to change them.

use super::get::MAX_PARALLEL_GETS;
use crate::entity::{
    FromRow, Loaded, Row, TableEntity, partition_key, read_entity, row_key, split_page,
};
use crate::error::Result;
use crate::key::KeyError;
use crate::plan::{Plan, Step, TableClient};
use crate::query::{KeyRange, RowQuery};
use crate::repo::LoadedSet;
use bytes::Bytes;
use futures_core::future::BoxFuture;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use std::marker::PhantomData;

/// A `load`: `.await` sends it, `.plan()` shows it.
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct Load<R, E> {
    pub(super) client: TableClient,
    pub(super) keys: Result<KeyRange, KeyError>,
    pub(super) read: PhantomData<fn() -> (R, E)>,
}

impl<E: TableEntity + FromRow<R>, R: Row<Entity = E>> Load<R, E> {
    const IS_CANONICAL: bool = R::INDEX == <E::Canonical as Row>::INDEX;

    /// What it will send.
    ///
    /// # Errors
    /// A value that a key cannot hold.
    pub fn plan(&self) -> Result<Plan> {
        let mut plan = Plan::read(self.client.query(self.keys.clone()?));
        if !Self::IS_CANONICAL {
            plan.steps.push(Step::ReadCanonical { table: self.client.table.clone() });
        }
        Ok(plan)
    }

    async fn run(self) -> Result<LoadedSet<E>> {
        let mut query = RowQuery { metadata: E::METADATA, ..self.client.query(self.keys?) };
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

/// The canonical rows of the entities whose index rows stand in a page. An entity that was deleted
/// meanwhile is left out.
async fn canonical_rows<R, E>(client: &TableClient, page: &[u8]) -> Result<Vec<Loaded<E>>>
where
    E: TableEntity + FromRow<R>,
    R: Row<Entity = E>,
{
    let keys = split_page(page)?
        .into_iter()
        .map(|row| {
            let (entity, _) = read_entity::<E>(R::INDEX, row.get().as_bytes(), None)?;
            let canonical = row_key(&entity, <E::Canonical as Row>::INDEX)?;
            Ok((partition_key(&entity)?, canonical.unwrap_or_default()))
        })
        .collect::<Result<Vec<_>>>()?;
    stream::iter(keys)
        .map(|(partition_key, row_key)| async move {
            match client.get(&partition_key, &row_key, None, E::METADATA).await? {
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
