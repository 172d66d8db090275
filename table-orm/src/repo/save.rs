//! Writes of an entity that was loaded,  retry_on_conflict by the version it was loaded in.

use super::Repo;
use crate::entity::{AsLoaded, EntityRows, Loaded, Row, TableEntity};
use crate::error::{Error, Result};
use crate::plan::{Plan, Step, TableClient, UpdateMode, changes, delete_all};
use crate::store::{Batch, IfMatch};
use futures_core::future::BoxFuture;
use std::marker::PhantomData;

impl<E: TableEntity> Repo<E> {
    /// Saves a loaded entity, or `&mut` of one, if nobody has written it since: one request that
    /// moves the index rows whose keys have changed and replaces those whose content has. Gives
    /// back what was passed, in its new version. Nothing is sent when nothing has changed.
    ///
    /// Of properties that `E` does not know none stays in the rows that are sent ([two versions at
    /// once](crate::guide::run::versions#two-versions-at-once)); [`merge`](Self::merge) keeps them.
    ///
    /// # Errors
    /// [`Error::Conflict`] when it was written since;
    /// [`Error::PartitionChanged`].
    pub fn save<'a, L: AsLoaded<E> + 'a>(&self, loaded: L) -> Save<'a, E, L> {
        Save { client: self.client.clone(), loaded, entity: PhantomData }
    }

    /// Deletes a loaded entity, if nobody has written it since: all of its rows in one request.
    ///
    /// # Errors
    /// [`Error::Conflict`] when it was written since;
    /// [`Error::NotFound`] when it is gone.
    pub fn delete(&self, loaded: Loaded<E>) -> Delete<E> {
        Delete { client: self.client.clone(), loaded }
    }
}

/// A `save`: `.await` sends it and gives back what was passed, now in the new version; `.plan()`
/// shows it.
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct Save<'a, E, L> {
    client: TableClient,
    loaded: L,
    entity: PhantomData<fn(&'a ()) -> E>,
}

impl<E: TableEntity, L: AsLoaded<E>> Save<'_, E, L> {
    /// Returns what it will send.
    ///
    /// # Errors
    /// A key or property that the service would refuse; [`Error::PartitionChanged`].
    pub fn plan(&self) -> Result<Plan> {
        let (batch, _) = prepare(self.loaded.loaded())?;
        Ok(Step::write(self.client.table.clone(), batch).into())
    }

    async fn run(mut self) -> Result<L> {
        let (batch, rows) = prepare(self.loaded.loaded())?;
        let Some(canonical) = rows.canonical().filter(|_| !batch.operations.is_empty()) else {
            return Ok(self.loaded);
        };
        let written = batch.last_on(&canonical.row_key);
        let etags = self.client.send_changes(batch, &canonical.row_key).await?;
        if let Some(etag) = written.and_then(|index| etags.into_iter().nth(index).flatten()) {
            self.loaded.loaded_mut().written(canonical.body.clone(), etag);
        }
        Ok(self.loaded)
    }
}

/// The operations that a save sends, and the rows that are stored afterwards.
pub(super) fn prepare<E: TableEntity>(loaded: &Loaded<E>) -> Result<(Batch, EntityRows)> {
    let stored = loaded.stored_rows()?;
    let new = EntityRows::of::<E>(loaded)?;
    if stored.partition_key != new.partition_key {
        return Err(Error::PartitionChanged {
            entity: E::NAME,
            from: stored.partition_key,
            to: new.partition_key,
        });
    }
    let canonical = <E::Canonical as Row>::INDEX;
    let batch = changes(&stored, &new, canonical, loaded.etag(), UpdateMode::Replace);
    Ok((batch, new))
}

impl<'a, E, L> IntoFuture for Save<'a, E, L>
where
    E: TableEntity + 'a,
    L: AsLoaded<E> + Send + 'a,
{
    type Output = Result<L>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// A `delete`: `.await` sends it, `.plan()` shows it.
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct Delete<E> {
    client: TableClient,
    loaded: Loaded<E>,
}

impl<E: TableEntity> Delete<E> {
    /// Returns what it will send.
    ///
    /// # Errors
    /// When the stored row can no longer be read.
    pub fn plan(&self) -> Result<Plan> {
        Ok(Step::write(self.client.table.clone(), Self::prepare(&self.loaded)?).into())
    }

    pub(super) fn prepare(loaded: &Loaded<E>) -> Result<Batch> {
        let guard = IfMatch::ETag(loaded.etag().clone());
        Ok(delete_all(loaded.stored_rows()?, <E::Canonical as Row>::INDEX, &guard))
    }
}

impl<E: TableEntity + 'static> IntoFuture for Delete<E> {
    type Output = Result<()>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let batch = Self::prepare(&self.loaded)?;
            // The canonical row is deleted under its ETag, which no index row is.
            self.client.send_changes(batch, "").await.map(drop)
        })
    }
}
