//! The calls that start a backfill, and its settings.

use super::report::BackfillProgress;
use crate::entity::{Row, RowOf, TableEntity, WholePartition};
use crate::error::Result;
use crate::plan::Plan;
use crate::query::{PageToken, ScanPermit};
use crate::repo::Repo;
use crate::repo::bulk::DEFAULT_PARALLELISM;
use crate::repo::entity_costs;
use crate::repo::maintenance::canonical_pages::CanonicalPages;
use std::fmt;
use std::marker::PhantomData;

/// A backfill: `.await` sends it, `.plan()` shows what it reads.
///
/// It reads canonical rows, at most 1000 a request, and holds one page in memory. Entities of one partition
/// share transactions of at most 100 operations and 4 MiB: one operation for each entity, which checks the
/// version of the canonical row, and one for each index row. If one of these rows exists, it examines the
/// entities of that transaction one by one, with a point query for each row.
///
/// Rows in other partitions are written as their entities say, whether they exist or not: for each entity and
/// partition, a helper row, a point query, and one transaction. Entities that are written by an app without
/// such rows do not get them, so deploy all writers first.
///
/// Of a type with sums [over partitions](crate::Sum::over_partitions), it also counts each partition again and corrects
/// its totals and their copies, as [`repair_sums`](Repo::repair_sums) does, unless it writes [only](Self::only) one
/// kind of row.
///
/// ```
/// # use table_orm::{ScanPermit, TableEntity, Tables};
/// # #[derive(Debug, Clone, PartialEq, TableEntity)]
/// # #[table(name = "runners", partition = "{race}")]
/// # #[row(by_bib, key = "BIB:{bib:05}")]
/// # #[row(by_age, key = "AGE:{age:03}__{bib:05}")]
/// # struct Runner { race: String, bib: u32, age: u8, city: Option<String> }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let runners = Tables::in_memory()?.repo::<Runner>();
/// # runners.create_table().await?;
/// # runners.insert(&Runner { race: "Boston".into(), bib: 7, age: 55, city: None }).await?;
/// let mut pages = 0;
/// let backfill = runners.backfill_table(ScanPermit::because("new row by_age"));
/// let report = backfill.only::<RunnerByAge>().on_progress(|_| pages += 1).await;
/// assert!(report.skipped.is_empty());
/// // The index row exists already.
/// assert_eq!((report.all()?.rows, pages), (0, 1));
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is sent until this is awaited"]
pub struct Backfill<'a, E> {
    pub(super) pages: CanonicalPages,
    /// The only kind of row to write; `None` for all kinds.
    pub(super) only: Option<usize>,
    pub(super) parallelism: usize,
    pub(super) progress: Option<OnProgress<'a>>,
    /// The partition whose sums were counted last.
    pub(super) counted: Option<String>,
    entity: PhantomData<fn() -> E>,
}

type OnProgress<'a> = Box<dyn FnMut(&BackfillProgress) + Send + 'a>;

impl<E> fmt::Debug for Backfill<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backfill").field("pages", &self.pages).finish_non_exhaustive()
    }
}

impl<E: TableEntity> Repo<E> {
    /// Inserts the index rows that the entities of a partition lack, such as those of a `#[row(..)]`
    /// that was added to the type later. Existing rows are unchanged; the report lists those with
    /// other content.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// mod before {
    ///     # use table_orm::TableEntity;
    ///     #[derive(TableEntity)]
    ///     #[table(name = "runners", partition = "{race}")]
    ///     #[row(by_bib, key = "BIB:{bib:05}")]
    ///     pub struct Runner { pub race: String, pub bib: u32, pub age: u8 }
    /// }
    ///
    /// #[derive(TableEntity)]
    /// #[table(name = "runners", partition = "{race}")]
    /// #[row(by_bib, key = "BIB:{bib:05}")]
    /// #[row(by_age, key = "AGE:{age:03}__{bib:05}")]
    /// struct Runner { race: String, bib: u32, age: u8 }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let old = tables.repo::<before::Runner>();
    /// # old.create_table().await?;
    /// # old.insert(&before::Runner { race: "Boston".into(), bib: 7, age: 55 }).await?;
    /// let runners = tables.repo::<Runner>();
    /// let boston = Runner::partition("Boston");
    /// let done = runners.backfill(&boston).await.all()?;
    /// assert_eq!((done.entities, done.rows), (1, 1));
    /// assert_eq!(runners.list(boston.by_age().age(55)).count().await?, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn backfill<'a, Q>(&self, partition: Q) -> Backfill<'a, E>
    where
        Q: WholePartition,
        Q::Row: RowOf<E>,
    {
        Backfill::of(CanonicalPages::of_partition::<E, Q>(&self.client, partition))
    }

    /// Inserts the index rows that entities of the whole table lack, as [`backfill`](Self::backfill) does in
    /// one partition. Reads every row of the table, and is billed for it.
    ///
    /// ```
    /// # use table_orm::{ScanPermit, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "runners", partition = "{race}")]
    /// # #[row(by_bib, key = "BIB:{bib:05}")]
    /// # #[row(by_age, key = "AGE:{age:03}__{bib:05}")]
    /// # struct Runner { race: String, bib: u32, age: u8, city: Option<String> }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let runners = Tables::in_memory()?.repo::<Runner>();
    /// # runners.create_table().await?;
    /// # runners.insert(&Runner { race: "Boston".into(), bib: 7, age: 55, city: None }).await?;
    /// let permit = ScanPermit::because("new row by_age");
    /// let done = runners.backfill_table(permit).await.all()?;
    /// assert_eq!((done.entities, done.rows), (1, 0));
    /// # Ok(())
    /// # }
    /// ```
    pub fn backfill_table<'a>(&self, permit: ScanPermit) -> Backfill<'a, E> {
        Backfill::of(CanonicalPages::of_table::<E>(&self.client, &permit))
    }
}

impl<'a, E: TableEntity> Backfill<'a, E> {
    const fn of(pages: CanonicalPages) -> Self {
        Self {
            pages,
            only: None,
            parallelism: DEFAULT_PARALLELISM,
            progress: None,
            counted: None,
            entity: PhantomData,
        }
    }

    /// Writes only rows of kind `R`, such as `RunnerByAge`.
    pub fn only<R: Row<Entity = E>>(mut self) -> Self {
        self.only = Some(R::INDEX);
        self
    }

    /// Sets the most transactions in flight; 0 counts as 1.
    pub fn parallelism(mut self, requests: usize) -> Self {
        self.parallelism = requests.max(1);
        self
    }

    /// Calls `progress` after each page. Its token is where to resume.
    pub fn on_progress(mut self, progress: impl FnMut(&BackfillProgress) + Send + 'a) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }

    /// Continues after the page that returned `token`. The backfill fails with
    /// [`Error::Token`](crate::Error::Token) when the token belongs to another one.
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
    /// # runners.insert(&Runner { race: "Boston".into(), bib: 7, age: 55, city: None }).await?;
    /// # let saved: Option<table_orm::query::PageToken> = None;
    /// let mut backfill = runners.backfill(Runner::partition("Boston"));
    /// // The token that an earlier run saved in `on_progress`.
    /// if let Some(token) = saved {
    ///     backfill = backfill.resume(token);
    /// }
    /// assert_eq!(backfill.await.all()?.entities, 1);
    /// # Ok(())
    /// # }
    /// ```
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
    /// When a key cannot hold one of the values, or the token belongs to another backfill.
    pub fn plan(&self) -> Result<Plan> {
        self.pages.plan(entity_costs::backfilling::<E>(self.only.is_some()))
    }
}
