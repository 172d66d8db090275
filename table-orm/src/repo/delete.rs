//! The delete of a loaded entity, under the version in which it was loaded.

use super::Repo;
use crate::entity::{Loaded, TableEntity};
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::eventual::{Settling, delete_loaded, settling_methods};
use crate::plan::{Plan, TableClient};
use futures_core::future::BoxFuture;

impl<E: TableEntity> Repo<E> {
    /// Deletes a loaded entity if nobody has written it since: all of its rows in one request. Types
    /// with `sums`, an `outbox`, `eventual` rows or `unique(.., across)` take more requests.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "notes", partition = "{owner}", row = "{id:05}")]
    /// # struct Note { owner: String, id: u32, text: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let notes = Tables::in_memory()?.repo::<Note>();
    /// # notes.create_table().await?;
    /// # notes.insert(&Note { owner: "ann".into(), id: 1, text: "milk".into() }).await?;
    /// let note = notes.load(Note::partition("ann").row().id(1)).await?.one()?;
    /// notes.delete(note).await?;
    /// assert!(!notes.list(Note::partition("ann")).exists().await?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Conflict`] when another writer has written it since, and [`Error::NotFound`] when it is
    /// gone. Nothing is deleted then.
    pub fn delete(&self, loaded: Loaded<E>) -> Delete<E> {
        Delete { client: self.client.clone(), loaded, settling: Settling::default() }
    }
}

/// A delete of a loaded entity: `.await` sends it, `.plan()` shows it.
///
/// ```
/// # use table_orm::{TableEntity, Tables};
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
/// let runner = runners.load(Runner::partition("Boston")).await?.one()?;
/// let delete = runners.delete(runner);
/// // The canonical row and the index row.
/// assert_eq!(delete.plan()?.operations().count(), 2);
/// delete.await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct Delete<E> {
    client: TableClient,
    loaded: Loaded<E>,
    settling: Settling,
}

impl<E: TableEntity> Delete<E> {
    /// Returns what it will send, without sending it.
    ///
    /// # Errors
    /// When the stored row can no longer be read.
    pub fn plan(&self) -> Result<Plan> {
        let (batch, intents) = delete_loaded(&self.client, &self.loaded)?;
        intents.plan(&self.client, batch, &self.settling)
    }

    settling_methods!();
}

impl<E: TableEntity + 'static> IntoFuture for Delete<E> {
    type Output = Result<()>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let (batch, mut intents) = delete_loaded(&self.client, &self.loaded)?;
            let etags = intents.send(&self.client, batch, None, &self.settling).await?;
            intents.settle(&self.client, &etags, &self.settling).await;
            Ok(())
        })
    }
}
