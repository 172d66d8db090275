//! The methods that run a scan.

use super::run::ScanRun;
use super::scan::{Names, Scan};
use super::stream::{ScanPage, ScanStream};
use crate::entity::SkipUnreadable;
use crate::error::{Error, Result, RowCount};
use crate::model::{Metadata, PARTITION_KEY, ROW_KEY};
use crate::query::{RowQuery, fingerprint};
use crate::scan::checkpoint::Saver;
use crate::scan::engine::{ReadRows, ScanReport, ScanSource, Shared, no_rows, partition_keys};
use futures_util::StreamExt as _;
use futures_util::future::{Either, select};
use futures_util::stream::FuturesOrdered;
use std::pin::pin;
use std::sync::Arc;

impl<T, R> Scan<T, R> {
    /// Counts all rows, without reading their properties: the number is `rows` of the report.
    ///
    /// A filter does not make it cheaper: the service reads every row of the range, and returns those
    /// that match.
    ///
    /// # Errors
    /// [`Error::Scan`] if the options of the scan do not fit together; any error of the store.
    pub async fn count(self) -> Result<ScanReport> {
        let select = self.keys(&[PARTITION_KEY, ROW_KEY]);
        let mut run = self.bare().run::<()>(Some(select), ReadRows::By(no_rows), None, false)?;
        while run.next().await?.is_some() {}
        Ok(run.shared.report())
    }

    /// Returns whether there is any row. Stops at the first one, which takes one request without a
    /// filter.
    ///
    /// # Errors
    /// As [`count`](Self::count).
    pub async fn exists(self) -> Result<bool> {
        Ok(self.take(1).count().await?.rows > 0)
    }

    /// Streams the PartitionKeys, each once. After each page it skips the rest of the last partition,
    /// so it takes at most one request for each partition and one for each range. Where partitions are
    /// small, it takes as many as reading all rows.
    ///
    /// The first key fails with [`Error::Scan`] if the options of the scan do not fit together.
    ///
    /// ```
    /// # use table_orm::{DynamicEntity, ScanPermit, TableName, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let results = TableName::new("results")?;
    /// # tables.create(&results).await?;
    /// # for (race, bib) in [("Boston", "00001"), ("Boston", "00002"), ("Chicago", "00001")] {
    /// #     tables.table(results.clone()).insert(&DynamicEntity::new(race, bib)).await?;
    /// # }
    /// let permit = ScanPermit::because("list of races");
    /// let mut races = tables.scan(results, permit).ordered(true).partition_keys();
    /// let mut found = Vec::new();
    /// while let Some(race) = races.next().await? {
    ///     found.push(race);
    /// }
    /// assert_eq!(found, ["Boston", "Chicago"]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn partition_keys(self) -> ScanStream<String> {
        let select = self.keys(self.own.key_names());
        ScanStream::rows(self.bare().run(Some(select), ReadRows::By(partition_keys), None, true))
    }

    /// These properties, and those that show whether a row is the type's own.
    pub(super) fn keys(&self, names: &[&'static str]) -> Names {
        names.iter().copied().chain(self.own.marks()).map(Into::into).collect()
    }

    /// The scan without types of properties, because it reads no properties.
    pub(super) fn bare(mut self) -> Self {
        self.query = self.query.map(|query| RowQuery { metadata: Metadata::None, ..query });
        self
    }

    /// The rows that the scan reads.
    pub(in crate::scan) fn source(&self) -> ScanSource {
        let (store, alive) = (Arc::clone(&self.store), self.alive.clone());
        ScanSource { store, entity: self.entity, own: self.own, alive }
    }

    pub(super) fn run<U: Send + 'static>(
        self,
        select: Option<Names>,
        read: ReadRows<U>,
        skip: Option<SkipUnreadable>,
        keys_only: bool,
    ) -> Result<ScanRun<U>> {
        let source = self.source();
        let checkpoint = self.checkpoint.clone();
        let random = self.random();
        let rules = self.rules(select, keys_only)?;
        let saver = checkpoint.map(|checkpoint| {
            Saver::new(checkpoint, rules.query.table.as_str(), fingerprint(&rules.query))
        });
        let shared = Shared::new(source, rules, read, skip, random);
        Ok(ScanRun::new(Arc::new(shared), saver))
    }
}

impl<T: Send + 'static, R> Scan<T, R> {
    fn run_rows(self) -> Result<ScanRun<T>> {
        let (select, skip, read) = (self.selected(), self.skip.clone(), self.reader.read.clone());
        self.run(select, read, skip, false)
    }

    /// Streams the rows, while each worker reads a page or two ahead.
    ///
    /// The first row fails with [`Error::Scan`] if the options of the scan do not fit together.
    #[must_use]
    pub fn stream(self) -> ScanStream<T> {
        ScanStream::rows(self.run_rows())
    }

    /// Streams the pages, while each worker reads a page or two ahead. With a checkpoint, a page is done
    /// when the next one is polled.
    ///
    /// ```
    /// # use table_orm::{DynamicEntity, ScanPermit, TableName, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let tables = Tables::in_memory()?;
    /// # let results = TableName::new("results")?;
    /// # tables.create(&results).await?;
    /// # for (race, bib) in [("Boston", "00001"), ("Boston", "00002"), ("Chicago", "00001")] {
    /// #     tables.table(results.clone()).insert(&DynamicEntity::new(race, bib)).await?;
    /// # }
    /// # let mut file = Vec::new();
    /// use tokio::io::AsyncWriteExt as _;
    ///
    /// let mut pages = tables.scan(results, ScanPermit::because("list of bibs")).page_stream();
    /// while let Some(page) = pages.next().await? {
    ///     let bibs: String = page.rows.iter().map(|row| row.row_key.clone() + "\n").collect();
    ///     file.write_all(bibs.as_bytes()).await?;
    /// }
    /// # assert_eq!(file, b"00001\n00002\n00001\n");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn page_stream(self) -> ScanStream<ScanPage<T>> {
        ScanStream::pages(self.run_rows())
    }

    /// Hands each page to `handle`, one at a time without [`handlers`](Self::handlers). After an error
    /// of `handle`, or of the scan, it hands out no more pages, waits for those being handled, and
    /// returns the first error.
    ///
    /// A closure cannot keep a borrow across an await, such as of a file it writes: use
    /// [`page_stream`](Self::page_stream) for that.
    ///
    /// With a checkpoint, a page is done when `handle` has returned for it and for all pages before it.
    /// A scan that ends earlier hands out the other pages again when it resumes. A handler can recognize
    /// repeated rows by the keys `first` and `last`.
    ///
    /// ```
    /// # use table_orm::{DynamicEntity, ScanPermit, TableName, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let tables = Tables::in_memory()?;
    /// # let results = TableName::new("results")?;
    /// # tables.create(&results).await?;
    /// # for (race, bib) in [("Boston", "00001"), ("Boston", "00002"), ("Chicago", "00001")] {
    /// #     tables.table(results.clone()).insert(&DynamicEntity::new(race, bib)).await?;
    /// # }
    /// # let directory = tempfile::tempdir()?;
    /// # let checkpoint = directory.path().join("export.json");
    /// let mut exported = 0;
    /// let report = tables
    ///     .scan(results, ScanPermit::because("nightly export"))
    ///     .checkpoint(checkpoint)
    ///     .on_page(|page| {
    ///         exported += page.rows.len();
    ///         async { Ok::<_, table_orm::Error>(()) }
    ///     })
    ///     .await?;
    /// assert_eq!((exported, report.rows, report.pages), (3, 3, 1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Scan`] if the options of the scan do not fit together; any error of `handle`; an
    /// unreadable row; any error of the store.
    pub async fn on_page<E, F>(
        self,
        mut handle: impl FnMut(ScanPage<T>) -> F,
    ) -> Result<ScanReport, E>
    where
        E: From<Error>,
        F: Future<Output = Result<(), E>>,
    {
        let handlers = self.handlers;
        let mut run = self.run_rows()?;
        let mut in_flight = FuturesOrdered::new();
        let mut failed: Option<E> = None;
        // Whether no more pages are taken, and whether a handler has failed, so that later pages are not done.
        let (mut over, mut broken) = (false, false);
        loop {
            let next = if over || in_flight.len() == handlers {
                Either::Right(in_flight.next().await)
            } else if in_flight.is_empty() {
                Either::Left(run.take().await)
            } else {
                either(run.take(), in_flight.next()).await
            };
            let step = match next {
                Either::Left(Ok(Some(page))) => {
                    in_flight.push_back(handle(page.into()));
                    continue;
                }
                Either::Left(Ok(None)) => {
                    over = true;
                    continue;
                }
                Either::Left(Err(error)) => Err(error.into()),
                Either::Right(Some(Err(error))) => {
                    broken = true;
                    Err(error)
                }
                Either::Right(Some(Ok(()))) if broken => continue,
                Either::Right(Some(Ok(()))) => run.settle().await.map_err(E::from),
                Either::Right(None) => break,
            };
            if let Err(error) = step {
                over = true;
                failed.get_or_insert(error);
            }
        }
        let ended = run.end().await;
        match failed {
            Some(error) => Err(error),
            None => Ok(ended.map(|()| run.shared.report())?),
        }
    }

    /// Collects all rows in memory.
    ///
    /// # Errors
    /// [`Error::Scan`] if the options of the scan do not fit together; an unreadable row; any error
    /// of the store.
    pub async fn collect(self) -> Result<Vec<T>> {
        let mut run = self.run_rows()?;
        let mut rows = Vec::new();
        while let Some(page) = run.next().await? {
            rows.extend(page.rows);
        }
        Ok(rows)
    }

    /// Returns the first row in key order, if there is one. Sends one request after the other until one
    /// returns a row; without a filter the first request usually does.
    ///
    /// # Errors
    /// As [`collect`](Self::collect).
    pub async fn first(self) -> Result<Option<T>> {
        Ok(self.ordered(true).take(1).collect().await?.pop())
    }

    /// Returns the only row. Stops at a second one.
    ///
    /// # Errors
    /// [`Error::RowCount`] if there is no row, or more than one; otherwise as
    /// [`collect`](Self::collect).
    pub async fn one(self) -> Result<T> {
        let entity = self.reader.name;
        let mut rows = self.take(2).collect().await?;
        let found = rows.len();
        match rows.pop() {
            Some(only) if found == 1 => Ok(only),
            _ => Err(Error::RowCount(RowCount { entity, found })),
        }
    }
}

/// Waits for the first of two futures.
async fn either<A, B>(
    left: impl Future<Output = A>,
    right: impl Future<Output = B>,
) -> Either<A, B> {
    match select(pin!(left), pin!(right)).await {
        Either::Left((answer, _)) => Either::Left(answer),
        Either::Right((answer, _)) => Either::Right(answer),
    }
}
