//! The calls that start a rewrite, and its settings.

use super::report::RewriteProgress;
use crate::entity::{RowOf, TableEntity, WholePartition};
use crate::error::Result;
use crate::plan::Plan;
use crate::query::{PageToken, ScanPermit};
use crate::repo::Repo;
use crate::repo::bulk::DEFAULT_PARALLELISM;
use crate::repo::entity_costs;
use crate::repo::maintenance::canonical_pages::CanonicalPages;
use std::fmt;
use std::marker::PhantomData;

/// A rewrite: `.await` sends it, `.plan()` shows what it reads.
///
/// It reads canonical rows, at most 1000 a request, and each index row by a point query; it holds one page
/// of entities in memory. It writes the rows that differ from what `save` would write: those that lack a
/// default, have a property that the type does not have any more, or have a value of another EDM type.
/// Entities of one partition share transactions of at most 100 operations and 4 MiB. Each checks the
/// version of the canonical row and of the rows that it replaces, so a write of another client is not lost.
///
/// For a type with an `alias`, it also reads each row in another partition, by a point query, and writes those
/// that have a former name of a property.
///
/// It neither adds nor repairs rows: [`backfill`](Repo::backfill) and [`repair`](Repo::repair) do. Rows out
/// of step are in the report. A second rewrite writes nothing.
#[must_use = "nothing is sent until this is awaited"]
pub struct Rewrite<'a, E> {
    pub(super) pages: CanonicalPages,
    pub(super) parallelism: usize,
    pub(super) progress: Option<OnProgress<'a>>,
    entity: PhantomData<fn() -> E>,
}

pub(super) type OnProgress<'a> = Box<dyn FnMut(&RewriteProgress) + Send + 'a>;

impl<E> fmt::Debug for Rewrite<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rewrite").field("pages", &self.pages).finish_non_exhaustive()
    }
}

impl<E: TableEntity> Repo<E> {
    /// Stores the rows of all entities of the table as their type stores them now: with the defaults of
    /// fields that were added later, and without properties that it no longer has. Reads every row of the
    /// table, and is billed for it.
    ///
    /// Entities are read the same before and after. Other readers of the table then see all properties,
    /// and filters need not look for rows without them.
    ///
    /// ```
    /// # use table_orm::{ScanPermit, TableEntity, Tables};
    /// mod before {
    ///     # use table_orm::TableEntity;
    ///     #[derive(TableEntity)]
    ///     #[table(name = "runners", partition = "{race}", row = "{bib:05}")]
    ///     struct Runner { race: String, bib: u32 }
    ///     # impl Runner { pub fn new(bib: u32) -> Self { Self { race: "Boston".into(), bib } } }
    ///     # pub async fn insert(tables: &table_orm::Tables) -> table_orm::Result<()> {
    ///     #     let runners = tables.repo::<Runner>();
    ///     #     runners.create_table().await?;
    ///     #     runners.insert(&Runner::new(7)).await.map(drop)
    ///     # }
    /// }
    ///
    /// #[derive(TableEntity)]
    /// #[table(name = "runners", partition = "{race}", row = "{bib:05}")]
    /// struct Runner {
    ///     race: String,
    ///     bib: u32,
    ///     #[table(default)]
    ///     paid: bool,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # before::insert(&tables).await?;
    /// let runners = tables.repo::<Runner>();
    /// let done = runners.rewrite(ScanPermit::because("new property Paid")).await.all()?;
    /// assert_eq!((done.entities, done.rows), (1, 1));
    /// let row = tables.table(runners.table().clone()).get("Boston", "00007").await?.unwrap();
    /// assert_eq!(row.properties["Paid"], false.into());
    /// # Ok(())
    /// # }
    /// ```
    pub fn rewrite<'a>(&self, permit: ScanPermit) -> Rewrite<'a, E> {
        Rewrite::of(CanonicalPages::of_table::<E>(&self.client, &permit))
    }

    /// Stores the rows of all entities of one partition as their type stores them now, as
    /// [`rewrite`](Self::rewrite) does in the whole table.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # #[table(name = "runners", partition = "{race}", row = "{bib:05}")]
    /// # struct Runner { race: String, bib: u32, #[table(default)] paid: bool }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let runners = Tables::in_memory()?.repo::<Runner>();
    /// # runners.create_table().await?;
    /// runners.insert(&Runner { race: "Boston".into(), bib: 7, paid: true }).await?;
    /// let done = runners.rewrite_partition(Runner::partition("Boston")).await.all()?;
    /// assert_eq!((done.entities, done.rows), (1, 0));
    /// # Ok(())
    /// # }
    /// ```
    pub fn rewrite_partition<'a, Q>(&self, partition: Q) -> Rewrite<'a, E>
    where
        Q: WholePartition,
        Q::Row: RowOf<E>,
    {
        Rewrite::of(CanonicalPages::of_partition::<E, Q>(&self.client, partition))
    }
}

impl<'a, E: TableEntity> Rewrite<'a, E> {
    const fn of(pages: CanonicalPages) -> Self {
        Self { pages, parallelism: DEFAULT_PARALLELISM, progress: None, entity: PhantomData }
    }

    /// Sets the most entities and transactions in flight; 0 counts as 1.
    pub fn parallelism(mut self, requests: usize) -> Self {
        self.parallelism = requests.max(1);
        self
    }

    /// Calls `progress` after each page. Its token is where to resume.
    pub fn on_progress(mut self, progress: impl FnMut(&RewriteProgress) + Send + 'a) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }

    /// Continues after the page that returned `token`. The rewrite fails with
    /// [`Error::Token`](crate::Error::Token) when the token belongs to another one.
    pub fn resume(mut self, token: PageToken) -> Self {
        self.pages.token = Some(token);
        self
    }

    /// Returns the first request for canonical rows, and what the writes cost for each entity that it finds. Sends
    /// nothing. [`Plan::cost_of`] says what the call costs for a number of entities. For a type with rows in other
    /// partitions, or with values that are unique over all of them, that has no upper bound: how many requests bring
    /// these in step depends on what is stored.
    ///
    /// # Errors
    /// When a key cannot hold one of the values, or the token belongs to another rewrite.
    pub fn plan(&self) -> Result<Plan> {
        self.pages.plan(entity_costs::rewriting::<E>())
    }
}
