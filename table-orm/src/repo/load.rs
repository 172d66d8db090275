//! Reads of entities in order to change them.

use super::{Checked, LoadedSet, Repo};
use crate::entity::{Loaded, Row, TableEntity, WholeRows};
use crate::error::Result;
use crate::plan::Plan;
use futures_core::future::BoxFuture;
use std::fmt;

impl<E: TableEntity> Repo<E> {
    /// Reads the entities of a query with their versions, so that they can be changed and saved.
    ///
    /// One request for each 1000 rows. A query of an index row sends one more point query for each entity,
    /// because the ETag of the canonical row guards the entity. It leaves out an entity that no longer has
    /// the key of the index row: one that was deleted or moved in between, and one whose index row was left
    /// behind (see [`verify`](Repo::verify)). An entity that several of the rows belong to, because they are
    /// written for each element of a field, is loaded once.
    ///
    /// [`List::loaded`](super::List::loaded) does the same for a query with a filter, a limit or pages.
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
    /// # for (bib, age) in [(7, 55), (8, 30)] {
    /// #     runners.insert(&Runner { race: "Boston".into(), bib, age, city: None }).await?;
    /// # }
    /// let boston = Runner::partition("Boston");
    /// for mut runner in runners.load(boston.by_age().age_in(50..)).await? {
    ///     runner.city = Some("Oslo".into());
    ///     runners.save(runner).await?;
    /// }
    /// let seven = runners.get(boston.by_bib().bib(7)).await?;
    /// assert_eq!(seven.and_then(|runner| runner.city).as_deref(), Some("Oslo"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - [`Error::KeyMismatch`](crate::Error::KeyMismatch) when the properties of a row make another key
    ///   than the row has: a save would go to that other key.
    /// - [`Error::Moved`](crate::Error::Moved) when the key of one row is given, and a later version of the
    ///   app moved the entity.
    /// - When a key cannot hold one of the values, the store rejects a request, or a row cannot be read.
    pub fn load<Q>(&self, query: Q) -> Load<Q::Row, E>
    where
        Q: WholeRows<E>,
    {
        Load(self.list(query).from_canonical_rows())
    }
}

/// A load: `.await` sends it, `.plan()` shows it.
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
/// let boston = Runner::partition("Boston");
/// assert_eq!(runners.load(boston.by_bib().bib(7)).plan()?.steps.len(), 1);
/// // Through an index row, it also reads the canonical row of each entity.
/// assert_eq!(runners.load(boston.by_age().age(55)).plan()?.steps.len(), 2);
/// assert_eq!(runners.load(boston.by_age().age(55)).await?.len(), 0);
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is sent until this is awaited"]
pub struct Load<R: Row, E>(Checked<R, Loaded<E>>);

impl<R: Row, E> fmt::Debug for Load<R, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Load").field(&self.0).finish()
    }
}

impl<E, R> Load<R, E>
where
    E: TableEntity + 'static,
    R: Row<Entity = E> + 'static,
{
    /// Returns what it will send, without sending it.
    ///
    /// # Errors
    /// When a key cannot hold one of the values.
    pub fn plan(&self) -> Result<Plan> {
        self.0.plan()
    }
}

impl<R, E> IntoFuture for Load<R, E>
where
    E: TableEntity + 'static,
    R: Row<Entity = E> + 'static,
{
    type Output = Result<LoadedSet<E>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async { Ok(LoadedSet(self.0.collect().await?)) })
    }
}
