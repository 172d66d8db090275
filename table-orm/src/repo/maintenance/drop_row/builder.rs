//! The call that starts a drop, and its settings.

use super::former_row::FormerRow;
use super::judge::Judge;
use super::report::DropRowProgress;
use crate::entity::TableEntity;
use crate::error::Result;
use crate::plan::Plan;
use crate::query::{PageToken, ScanPermit, Span};
use crate::repo::Repo;
use crate::repo::bulk::DEFAULT_PARALLELISM;
use crate::repo::entity_costs;
use crate::repo::maintenance::canonical_pages::CanonicalPages;
use std::fmt;

/// A deletion of all rows of a kind that the type no longer has: `.await` sends it, `.plan()` shows what it reads,
/// and `.dry_run()` counts what it would delete.
///
/// It reads the rows whose RowKeys begin as those of the former row, at most 1000 a request, and holds one page in
/// memory. Rows of one partition are deleted in transactions of at most 100, each in the version that was read.
///
/// A row is kept if one of these holds, and the report says which:
///
/// - Its key reads as that of a row of the type, or of a type that [`keeping`](Self::keeping) names.
/// - It is marked with another `kind` than the type, or says where an entity was moved.
/// - It has a property that the former row does not have. If only the template is given, the row has the
///   properties of the type.
/// - It lacks a property that each former row has, or is not what the earlier type stored under its key. If
///   only the template is given, this is not checked.
///
/// Rows with other keys, guard rows and helper rows are not even considered.
#[must_use = "nothing is sent until this is awaited"]
pub struct DropRow<'a, E> {
    pub(super) pages: CanonicalPages,
    pub(super) judge: Judge<E>,
    pub(super) parallelism: usize,
    pub(super) dry: bool,
    pub(super) progress: Option<OnProgress<'a>>,
}

type OnProgress<'a> = Box<dyn FnMut(&DropRowProgress) + Send + 'a>;

impl<E> fmt::Debug for DropRow<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DropRow")
            .field("pages", &self.pages)
            .field("former", &self.judge.former)
            .finish_non_exhaustive()
    }
}

impl<E: TableEntity> Repo<E> {
    /// Deletes the rows of an index that the type no longer has, in the whole table. Reads every row of the table,
    /// and is billed for it.
    ///
    /// Deploy the type without the row first: a writer that still has it writes it again. If other types share the
    /// table, name them with [`keeping`](DropRow::keeping), and look at a [`dry_run`](DropRow::dry_run). Rows in
    /// other partitions are deleted by [`drop_eventual_row`](Self::drop_eventual_row).
    ///
    /// ```
    /// # use table_orm::{ScanPermit, TableEntity, Tables};
    /// use table_orm::repo::FormerRow;
    /// mod before {
    ///     # use table_orm::TableEntity;
    ///     #[derive(TableEntity)]
    ///     #[table(name = "runners", partition = "{race}")]
    ///     #[row(by_bib, key = "BIB:{bib:05}")]
    ///     #[row(by_state, key = "STATE:{state}__{bib:05}")]
    ///     pub struct Runner { pub race: String, pub bib: u32, pub state: String }
    /// }
    ///
    /// #[derive(TableEntity)]
    /// #[table(name = "runners", partition = "{race}")]
    /// #[row(by_bib, key = "BIB:{bib:05}")]
    /// struct Runner { race: String, bib: u32, state: String }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let tables = Tables::in_memory()?;
    /// # let old = tables.repo::<before::Runner>();
    /// # old.create_table().await?;
    /// # old.insert(&before::Runner { race: "Boston".into(), bib: 7, state: "MA".into() }).await?;
    /// let runners = tables.repo::<Runner>();
    /// let by_state = FormerRow::of::<before::Runner, before::RunnerByState>();
    /// let permit = || ScanPermit::because("by_state is not read any more");
    /// let would = runners.drop_row(by_state.clone(), permit()).dry_run().await;
    /// assert_eq!((would.progress.rows, would.kept.len()), (1, 0));
    /// let done = runners.drop_row(by_state, permit()).await.all()?;
    /// assert_eq!((done.rows, done.requests), (1, 1));
    /// # Ok(())
    /// # }
    /// ```
    pub fn drop_row<'a>(&self, former: FormerRow, permit: ScanPermit) -> DropRow<'a, E> {
        let pages = CanonicalPages::of_rows(&self.client, Span::prefix(&former.key.start), &permit);
        let judge = Judge::new(former, self.client.store().hidden_property());
        DropRow { pages, judge, parallelism: DEFAULT_PARALLELISM, dry: false, progress: None }
    }
}

impl<'a, E: TableEntity> DropRow<'a, E> {
    /// Keeps every row whose key reads as that of a row of `T`, a type that shares the table.
    ///
    /// ```
    /// # use table_orm::{ScanPermit, TableEntity, Tables};
    /// # use table_orm::repo::FormerRow;
    /// # #[derive(TableEntity)]
    /// # #[table(name = "runners", partition = "{race}", row = "BIB:{bib:05}")]
    /// # struct Runner { race: String, bib: u32 }
    /// #[derive(TableEntity)]
    /// #[table(name = "runners", partition = "{race}", row = "STATE:{state}")]
    /// struct State { race: String, state: String }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let tables = Tables::in_memory()?;
    /// let (runners, states) = (tables.repo::<Runner>(), tables.repo::<State>());
    /// # runners.create_table().await?;
    /// states.insert(&State { race: "Boston".into(), state: "MA".into() }).await?;
    /// let by_state = FormerRow::new("by_state", "STATE:{state}")?;
    /// let permit = ScanPermit::because("by_state is not read any more");
    /// let done = runners.drop_row(by_state, permit).keeping::<State>().await.all()?;
    /// assert_eq!((done.rows, done.kept), (0, 1));
    /// # Ok(())
    /// # }
    /// ```
    pub fn keeping<T: TableEntity>(mut self) -> Self {
        self.judge.add::<T>();
        self
    }

    /// Deletes nothing. The report says what would be deleted, and what would be kept.
    pub const fn dry_run(mut self) -> Self {
        self.dry = true;
        self
    }

    /// Sets the most transactions in flight; 0 counts as 1.
    pub fn parallelism(mut self, requests: usize) -> Self {
        self.parallelism = requests.max(1);
        self
    }

    /// Calls `progress` after each page. Its token is where to resume.
    pub fn on_progress(mut self, progress: impl FnMut(&DropRowProgress) + Send + 'a) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }

    /// Continues after the page that returned `token`. The drop fails with
    /// [`Error::Token`](crate::Error::Token) when the token belongs to one of another range of keys.
    pub fn resume(mut self, token: PageToken) -> Self {
        self.pages.token = Some(token);
        self
    }

    /// Returns the first request for rows, and what the deletes cost for each row that it finds. Sends nothing.
    /// [`Plan::cost_of`] says what the call costs for a number of rows.
    ///
    /// # Errors
    /// When the token belongs to a drop of another range of keys.
    pub fn plan(&self) -> Result<Plan> {
        self.pages.plan(entity_costs::dropping())
    }
}
