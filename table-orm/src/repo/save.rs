//! The save of a loaded entity, under the version in which it was loaded.

use super::Repo;
use super::fault::Fault;
use crate::entity::{AsLoaded, EntityRows, Loaded, Row, TableEntity};
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::eventual::{Intents, Settling, settling_methods};
use crate::model::TableName;
use crate::plan::{Plan, TableClient, UpdateMode, changes};
use crate::store::Batch;
use futures_core::future::BoxFuture;
use std::marker::PhantomData;

impl<E: TableEntity> Repo<E> {
    /// Saves a loaded entity, or `&mut` of one, if nobody has written it since. Returns what was passed,
    /// with its new version.
    ///
    /// One request moves the index rows whose keys changed and replaces those whose content changed. Sends
    /// nothing when nothing changed. The saved rows lose stored properties that `E` does not know ([two
    /// versions at once](crate::guide::run::versions#two-versions-at-once)); [`merge`](Self::merge) keeps
    /// them.
    ///
    /// ```
    /// # use table_orm::{Error, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "runners", partition = "{race}")]
    /// # #[row(by_bib, key = "BIB:{bib:05}")]
    /// # #[row(by_age, key = "AGE:{age:03}__{bib:05}")]
    /// # struct Runner { race: String, bib: u32, age: u8, city: Option<String> }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let runners = Tables::in_memory()?.repo::<Runner>();
    /// # runners.create_table().await?;
    /// # runners.insert(&Runner { race: "Boston".into(), bib: 7, age: 54, city: None }).await?;
    /// let key = Runner::partition("Boston").by_bib().bib(7);
    /// let mut runner = runners.load(&key).await?.one()?;
    /// let mut stale = runner.clone();
    /// runner.age = 55;
    /// runners.save(&mut runner).await?;
    /// stale.age = 60;
    /// assert!(matches!(runners.save(&mut stale).await, Err(Error::Conflict(_))));
    /// assert_eq!(runners.get(&key).await?.map(|runner| runner.age), Some(55));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - [`Error::Conflict`] when another writer has written the entity since. Load it again.
    /// - [`Error::NotFound`] when the entity is gone.
    /// - [`Error::PartitionChanged`] when the change moves the entity to another partition.
    /// - [`Error::AlreadyExists`] or [`Error::UniqueViolation`] when another entity has one of the new keys.
    ///
    /// Nothing is written in any of these cases.
    pub fn save<'a, L: AsLoaded<E> + 'a>(&self, loaded: L) -> Save<'a, E, L> {
        let (client, settling) = (self.client.clone(), Settling::default());
        Save { client, loaded, settling, entity: PhantomData }
    }
}

/// A save: `.await` sends it and returns what was passed, with its new version; `.plan()` shows it.
///
/// ```
/// # use table_orm::{TableEntity, Tables};
/// # #[derive(Debug, Clone, PartialEq, TableEntity)]
/// # #[table(name = "stock", partition = "{shop}", row = "{sku}")]
/// # struct Item { shop: String, sku: String, count: u32 }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let stock = Tables::in_memory()?.repo::<Item>();
/// # stock.create_table().await?;
/// # stock.insert(&Item { shop: "north".into(), sku: "tea".into(), count: 3 }).await?;
/// let mut tea = stock.load(Item::partition("north")).await?.one()?;
/// // Nothing changed, so nothing is sent.
/// assert_eq!(stock.save(&mut tea).plan()?.steps.len(), 0);
/// tea.count = 2;
/// let save = stock.save(&mut tea);
/// assert_eq!(save.plan()?.steps.len(), 1);
/// save.await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct Save<'a, E, L> {
    client: TableClient,
    loaded: L,
    settling: Settling,
    entity: PhantomData<fn(&'a ()) -> E>,
}

impl<E: TableEntity, L: AsLoaded<E>> Save<'_, E, L> {
    /// Returns what it will send, without sending it.
    ///
    /// # Errors
    /// When the service would reject a key or property. [`Error::PartitionChanged`] when the change
    /// moves the entity to another partition.
    pub fn plan(&self) -> Result<Plan> {
        let (batch, _, intents) = self.prepare()?;
        intents.plan(&self.client, batch, &self.settling)
    }

    settling_methods!();

    fn prepare(&self) -> Result<(Batch, EntityRows, Intents)> {
        let loaded = self.loaded.loaded();
        let (batch, rows) = prepare(&self.client.table, loaded)?;
        let mut intents = Intents::default();
        if !batch.operations.is_empty() {
            intents.add_loaded(&self.client, loaded, rows.canonical())?;
        }
        Ok((batch, rows, intents))
    }

    async fn run(mut self) -> Result<L> {
        let (batch, rows, mut intents) = self.prepare()?;
        let Some(canonical) = rows.canonical().filter(|_| !batch.operations.is_empty()) else {
            intents.settle(&self.client, &[], &self.settling).await;
            return Ok(self.loaded);
        };
        let written = batch.last_on(&canonical.row_key);
        let etags =
            intents.send(&self.client, batch, Some(&canonical.row_key), &self.settling).await?;
        if let Some(etag) = written.and_then(|index| etags.get(index).cloned().flatten()) {
            self.loaded.loaded_mut().written(canonical.body.clone(), etag);
        }
        intents.settle(&self.client, &etags, &self.settling).await;
        Ok(self.loaded)
    }
}

/// The operations that a save sends, and the rows that are stored afterwards.
pub(super) fn prepare<E: TableEntity>(
    table: &TableName,
    loaded: &Loaded<E>,
) -> Result<(Batch, EntityRows), Fault> {
    let stored = loaded.stored_rows()?;
    let new = EntityRows::of_in::<E>(loaded, table)?;
    if stored.partition_key != new.partition_key {
        return Err(Fault::PartitionChanged {
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
