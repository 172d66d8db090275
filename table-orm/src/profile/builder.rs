//! The calls that start a profile, its settings, and its run.

use super::known_type::KnownType;
use super::report::ProfileReport;
use super::tally::Tally;
use crate::entity::{DynamicEntity, TableEntity};
use crate::error::Result;
use crate::model::{KIND, MOVED_TO, TableName};
use crate::plan::{Plan, TableClient};
use crate::query::ScanPermit;
use crate::repo::{Repo, Table};
use crate::scan::Scan;
use futures_core::future::BoxFuture;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The most partitions that a list of the [largest](Profile::top) can have.
pub const MAX_TOP: usize = 1000;

/// A profile of what a table stores: `.await` reads it, `.plan()` shows the first request.
///
/// It reads every row with its properties, at most 1000 a request, by the workers of a
/// [scan](crate::scan::Scan), and slows down after a 503 as a scan does. Memory is bounded however large the
/// table is. It writes nothing. It is no snapshot: it may or may not count rows that are written meanwhile.
///
/// It fails with [`Error::Scan`](crate::Error::Scan) if the options of the scan do not fit together, or if the
/// store returns rows in another order than that of the service; otherwise with any error of the store.
///
/// ```
/// # use table_orm::{DynamicEntity, ScanPermit, TableName, Tables};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let tables = Tables::in_memory()?;
/// # let results = TableName::new("results")?;
/// # tables.create(&results).await?;
/// # let rows = (0..2500).map(|at| DynamicEntity::new(format!("race {}", at / 250), format!("{at:05}")));
/// # tables.table(results.clone()).insert_or_replace_many(rows).await.all()?;
/// let profile = tables.table(results).profile(ScanPermit::because("which races are large?"));
/// let report = profile
///     .scan(|scan| scan.partition_range("race 2".to_owned()..).concurrency(4))
///     .keys_only()
///     .top(3)
///     .on_progress(|progress| eprintln!("{} rows", progress.rows))
///     .await?;
/// assert_eq!((report.rows, report.partitions.count), (2000, 8));
/// assert_eq!(report.partitions.most_rows[0].key, "race 2");
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is read until this is awaited"]
pub struct Profile<'a> {
    table: TableName,
    scan: Scan<DynamicEntity>,
    types: Vec<KnownType>,
    top: usize,
    keys_only: bool,
    progress: Option<OnProgress<'a>>,
}

type OnProgress<'a> = Box<dyn FnMut(&ProfileProgress) + Send + 'a>;

/// What a profile has read so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ProfileProgress {
    /// Rows.
    pub rows: u64,
    /// Partitions, with the one that is being read.
    pub partitions: u64,
}

impl fmt::Debug for Profile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Profile").field("scan", &self.scan).finish_non_exhaustive()
    }
}

impl<E: TableEntity> Repo<E> {
    /// Profiles what the table stores: partitions, sizes, index rows, guards, rows of other types, properties.
    /// The report has advice.
    ///
    /// The service reads, and bills, every row of the table. The permit records why.
    ///
    /// ```
    /// # use table_orm::{ScanPermit, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "runners", partition = "{race}", unique(bib))]
    /// # #[row(by_bib, key = "BIB:{bib:05}")]
    /// # #[row(by_age, key = "AGE:{age:03}__{bib:05}")]
    /// # struct Runner { race: String, bib: u32, age: u8 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let runners = Tables::in_memory()?.repo::<Runner>();
    /// # runners.create_table().await?;
    /// # runners.insert(&Runner { race: "Boston".into(), bib: 7, age: 55 }).await?;
    /// use table_orm::profile::RowRole;
    ///
    /// let report = runners.profile(ScanPermit::because("what is stored?")).await?;
    /// assert_eq!((report.rows, report.rows_of(RowRole::Copy)), (3, 1));
    /// assert_eq!((report.kinds[1].name.as_str(), report.kinds[1].rows), ("by_age", 1));
    /// # Ok(())
    /// # }
    /// ```
    pub fn profile<'a>(&self, permit: ScanPermit) -> Profile<'a> {
        let TableClient { connection, table, .. } = &self.client;
        let table = Table::new(Arc::clone(connection), table.clone());
        table.profile(permit).scan(|scan| scan.for_type(E::NAME)).with_type::<E>()
    }
}

impl Table {
    /// Profiles what the table stores, of whatever types: partitions, sizes, how RowKeys begin, properties.
    /// The report has advice.
    ///
    /// The service reads, and bills, every row of the table. The permit records why.
    ///
    /// ```
    /// # use table_orm::{DynamicEntity, ScanPermit, TableName, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let name = TableName::new("songs")?;
    /// # tables.create(&name).await?;
    /// # let songs = tables.table(name);
    /// songs.insert(&DynamicEntity::new("Blue", "01").with("Title", "All I Want")).await?;
    /// let report = songs.profile(ScanPermit::because("what is stored?")).await?;
    /// assert_eq!((report.rows, report.kinds[0].name.as_str()), (1, "(digits)"));
    /// // 4 for the row, 2 for each character of keys and name, 8 for the property, 24 for the text.
    /// assert_eq!(report.sizes.unwrap().bytes, 4 + 2 * 6 + 8 + 2 * 5 + 24);
    /// # Ok(())
    /// # }
    /// ```
    pub fn profile<'a>(&self, permit: ScanPermit) -> Profile<'a> {
        Profile {
            table: self.client.table.clone(),
            scan: self.scan(permit),
            types: Vec::new(),
            top: 10,
            keys_only: false,
            progress: None,
        }
    }
}

impl<'a> Profile<'a> {
    /// Knows the rows of another type that the table has, too. Of a type of another table, it knows the rows that
    /// the type has in this one.
    pub fn with_type<E: TableEntity>(mut self) -> Self {
        self.types.push(KnownType::of::<E>());
        self
    }

    /// Knows the rows of these types, too, except types whose name it knows already.
    pub(crate) fn with_known_types(mut self, types: impl IntoIterator<Item = KnownType>) -> Self {
        for known in types {
            if self.types.iter().all(|other| other.name != known.name) {
                self.types.push(known);
            }
        }
        self
    }

    /// The table.
    pub(crate) const fn table(&self) -> &TableName {
        &self.table
    }

    /// Sets the options of the scan: a prefix, a range, a filter, a number of workers, a buffer. The scan stays in
    /// key order, counts unreadable rows, and ignores a checkpoint: a profile needs the rows before it, too.
    ///
    /// [`take`](Scan::take) profiles the first rows in key order, and cuts the last partition short. The report on
    /// a part of a table has no advice about partitions, or about values that all rows have.
    pub fn scan(
        mut self,
        options: impl FnOnce(Scan<DynamicEntity>) -> Scan<DynamicEntity>,
    ) -> Self {
        self.scan = options(self.scan);
        self
    }

    /// Reads only keys and Timestamps, for the same requests and far less transfer. The report then has
    /// no sizes and no properties.
    pub const fn keys_only(mut self) -> Self {
        self.keys_only = true;
        self
    }

    /// Sets how many of the largest partitions are listed, 1 to [`MAX_TOP`]. Default: 10.
    pub fn top(mut self, partitions: usize) -> Self {
        self.top = partitions.clamp(1, MAX_TOP);
        self
    }

    /// Calls `progress` after each page.
    pub fn on_progress(mut self, progress: impl FnMut(&ProfileProgress) + Send + 'a) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }

    /// Returns the first request, without sending it.
    ///
    /// # Errors
    /// [`Error::Scan`](crate::Error::Scan) if the options of the scan do not fit together.
    pub fn plan(&self) -> Result<Plan> {
        self.rows().plan()
    }

    /// The scan that it runs.
    fn rows(&self) -> Scan<DynamicEntity> {
        let scan = self.scan.clone().ordered(true).without_checkpoint();
        if self.keys_only { scan.select([KIND, MOVED_TO]) } else { scan }
    }

    async fn run(mut self) -> Result<ProfileReport> {
        let (unreadable, is_whole) = (Arc::new(AtomicU64::new(0)), self.scan.is_whole());
        let counter = Arc::clone(&unreadable);
        let mut pages = self
            .rows()
            .skip_unreadable(move |_| {
                counter.fetch_add(1, Ordering::Relaxed);
            })
            .page_stream();
        let mut tally = Tally::new(self.table, self.types, self.top, self.keys_only);
        while let Some(page) = pages.next().await? {
            page.rows.iter().try_for_each(|row| tally.add(row))?;
            if let Some(progress) = &mut self.progress {
                progress(&ProfileProgress { rows: tally.rows(), partitions: tally.partitions() });
            }
        }
        Ok(tally.finish(&pages.report(), unreadable.load(Ordering::Relaxed), is_whole))
    }
}

impl<'a> IntoFuture for Profile<'a> {
    type Output = Result<ProfileReport>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    /// Reads the rows.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
