//! Writes of an entity that was loaded,  retry_on_conflict by the version it was loaded in.

use crate::entity::{AsLoaded, EntityRows, Loaded, Row, TableEntity};
use crate::error::{Error, Result};
use crate::plan::{Plan, TableClient, UpdateMode, changes, delete_all};
use crate::store::{Batch, IfMatch};
use futures_core::future::BoxFuture;
use std::marker::PhantomData;

/// A `save`: `.await` sends it and gives back what was passed, now in the new version; `.plan()`
/// shows it.
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct Save<'a, E, L> {
    pub(super) client: TableClient,
    pub(super) loaded: L,
    pub(super) entity: PhantomData<fn(&'a ()) -> E>,
}

impl<E: TableEntity, L: AsLoaded<E>> Save<'_, E, L> {
    /// What it will send.
    ///
    /// # Errors
    /// A key or property that the service would refuse; [`Error::PartitionChanged`].
    pub fn plan(&self) -> Result<Plan> {
        let (transaction, _) = prepare(self.loaded.loaded())?;
        Ok(Plan::write(&self.client.table, transaction))
    }

    async fn run(mut self) -> Result<L> {
        let (transaction, rows) = prepare(self.loaded.loaded())?;
        let Some(canonical) = rows.canonical().filter(|_| !transaction.operations.is_empty())
        else {
            return Ok(self.loaded);
        };
        let written = transaction.last_on(&canonical.row_key);
        let etags = self.client.send_changes(transaction, &canonical.row_key).await?;
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
    let transaction = changes(&stored, &new, canonical, loaded.etag(), UpdateMode::Replace);
    Ok((transaction, new))
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
    pub(super) client: TableClient,
    pub(super) loaded: Loaded<E>,
}

impl<E: TableEntity> Delete<E> {
    /// What it will send.
    ///
    /// # Errors
    /// When the stored row can no longer be read.
    pub fn plan(&self) -> Result<Plan> {
        Ok(Plan::write(&self.client.table, Self::prepare(&self.loaded)?))
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
            let transaction = Self::prepare(&self.loaded)?;
            // The canonical row is deleted under its ETag, which no index row is.
            self.client.send_changes(transaction, "").await.map(drop)
        })
    }
}
