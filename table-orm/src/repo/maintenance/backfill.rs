//! Writes the index rows of entities that were stored before they had them.
//!
//! Invariant: a row is only ever inserted, beside a canonical row in the version that tells of it.

use super::super::Repo;
use super::super::bulk::{Chunk, DEFAULT_PARALLELISM};
use super::repair::{RepairFailure, SkipReason, Skipped, guard, is_write_conflict, repair_entity};
use super::verify::{Finding, Found, Problem, expected_rows, index_rows};
use crate::entity::{
    EntityRow, Row, RowOf, TableEntity, WholePartition, canonical, canonical_rows, name_of,
    split_page,
};
use crate::error::{Error, Result};
use crate::key::KeyError;
use crate::model::Metadata;
use crate::plan::{Plan, Step, TableClient};
use crate::query::{KeyRange, PageToken, RowQuery, ScanPermit, Span};
use crate::store::{Action, Batch, Operation, Page};
use futures_core::future::BoxFuture;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use std::fmt;
use std::marker::PhantomData;

/// A `backfill`: `.await` sends it, `.plan()` shows what it reads.
///
/// It reads canonical rows, at most 1000 a page, and holds one page at a time. Entities of one
/// partition share a transaction, up to 100 operations and 4 MiB: one that asks for the canonical
/// row's version, and one for each index row. Where rows are there already, the entities of that
/// transaction are looked at one by one, a point query for each row.
#[must_use = "nothing is sent until this is awaited"]
pub struct Backfill<'a, E> {
    client: TableClient,
    query: Result<RowQuery, KeyError>,
    reason: Option<String>,
    token: Option<PageToken>,
    /// The only kind of row to write.
    only: Option<usize>,
    parallelism: usize,
    progress: Option<OnProgress<'a>>,
    entity: PhantomData<fn() -> E>,
}

type OnProgress<'a> = Box<dyn FnMut(&BackfillProgress) + Send + 'a>;

/// How far a backfill has come: whole pages.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct BackfillProgress {
    /// Entities whose rows are there now.
    pub entities: u64,
    /// Rows written.
    pub rows: u64,
    /// Where the next page starts: give it to [`Backfill::resume`]. `None` at the end, and before
    /// the first page.
    pub token: Option<PageToken>,
}

/// What became of a backfill.
#[derive(Debug, Default)]
#[must_use = "it may hold failures"]
#[non_exhaustive]
pub struct BackfillReport {
    /// How far it came.
    pub progress: BackfillProgress,
    /// Canonical rows that cannot be read, or whose index rows cannot be written, and rows that are
    /// there with other content.
    pub skipped: Vec<Skipped>,
    /// Rows that could not be written.
    pub failures: Vec<RepairFailure>,
    /// Why it ended before the last page; resume at the progress's token.
    pub ended: Option<Error>,
}

impl BackfillReport {
    /// How far it came, if it came to the end and nothing failed. What was skipped is no failure:
    /// see [`skipped`](Self::skipped) first.
    ///
    /// # Errors
    /// The first failure.
    pub fn all(self) -> Result<BackfillProgress> {
        let failed = self.failures.into_iter().next().map(|failure| failure.error);
        failed.or(self.ended).map_or(Ok(self.progress), Err)
    }
}

impl<E> fmt::Debug for Backfill<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backfill").field("client", &self.client).finish_non_exhaustive()
    }
}

impl<E: TableEntity> Repo<E> {
    /// Inserts the index rows that entities of a partition lack, such as those of a `#[row(..)]`
    /// that was added when they were stored already. Rows that are there are left as they are;
    /// those with other content are reported.
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
        self.backfill_keys(partition.into_keys().map(|keys| keys.partition), None)
    }

    /// Inserts the index rows that entities lack in the whole table, as
    /// [`backfill`](Self::backfill) does in one partition. Reads every row of the table.
    pub fn backfill_table<'a>(&self, permit: ScanPermit) -> Backfill<'a, E> {
        self.backfill_keys(Ok(Span::All), Some(permit.reason().to_owned()))
    }

    fn backfill_keys<'a>(
        &self,
        partition: Result<Span, KeyError>,
        reason: Option<String>,
    ) -> Backfill<'a, E> {
        let query = partition.map(|partition| {
            let mut query = self.client.query(KeyRange { partition, row: canonical_rows::<E>() });
            query.metadata = Metadata::Minimal;
            query
        });
        Backfill {
            client: self.client.clone(),
            query,
            reason,
            token: None,
            only: None,
            parallelism: DEFAULT_PARALLELISM,
            progress: None,
            entity: PhantomData,
        }
    }
}

impl<'a, E: TableEntity> Backfill<'a, E> {
    /// Writes rows of kind `R` only, such as `RunnerByAge`.
    pub fn only<R: Row<Entity = E>>(mut self) -> Self {
        self.only = Some(R::INDEX);
        self
    }

    /// Has at most `requests` transactions under way at a time; 0 counts as 1.
    pub fn parallelism(mut self, requests: usize) -> Self {
        self.parallelism = requests.max(1);
        self
    }

    /// Calls `progress` after each page, whose token is where to resume.
    pub fn on_progress(mut self, progress: impl FnMut(&BackfillProgress) + Send + 'a) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }

    /// Goes on behind the page that gave `token`. A token of another backfill is
    /// [`Error::Token`](crate::Error::Token).
    pub fn resume(mut self, token: PageToken) -> Self {
        self.token = Some(token);
        self
    }

    /// What it will read; what it writes is decided by that.
    ///
    /// # Errors
    /// A value that a key cannot hold, or a token of another backfill.
    pub fn plan(&self) -> Result<Plan> {
        let (query, reason) = (self.first_query()?, self.reason.clone());
        Ok(Step::Read { query, limit: None, reason }.into())
    }

    fn first_query(&self) -> Result<RowQuery> {
        let mut query = self.query.clone()?;
        if let Some(token) = self.token.clone() {
            query.continuation = Some(token.open(&query)?);
        }
        Ok(query)
    }

    async fn run(mut self) -> BackfillReport {
        let mut report = BackfillReport::default();
        report.progress.token = self.token.clone();
        if let Err(error) = self.pages(&mut report).await {
            report.ended = Some(error);
        }
        report
    }

    async fn pages(&mut self, report: &mut BackfillReport) -> Result<()> {
        let mut query = self.first_query()?;
        loop {
            let page = self.client.page(&query).await?;
            self.page(&page, report).await?;
            query.continuation.clone_from(&page.continuation);
            report.progress.token = page.continuation.map(|next| PageToken::new(&query, next));
            if let Some(progress) = &mut self.progress {
                progress(&report.progress);
            }
            if report.progress.token.is_none() {
                return Ok(());
            }
        }
    }

    /// Writes the rows of one page's entities.
    async fn page(&mut self, page: &Page, report: &mut BackfillReport) -> Result<()> {
        let mut chunks: Vec<Chunk<Entity>> = Vec::new();
        for row in split_page(&page.body)? {
            let row = Found::read(row.get().as_bytes())?;
            let (entity, batch) = match self.entity(&row)? {
                Ok(prepared) => prepared,
                Err(skipped) => {
                    report.skipped.push(skipped);
                    continue;
                }
            };
            let last = chunks.last_mut().filter(|last| {
                last.partition_key() == batch.partition_key && last.takes(&batch.operations)
            });
            match last {
                Some(chunk) => chunk.push(entity, batch.operations),
                None => chunks.push(Chunk::of(entity, batch)),
            }
        }
        let mut chunks = chunks.into_iter();
        let mut under_way = FuturesUnordered::new();
        let (mut entities, mut rows, mut ended) = (0, 0, Ok(()));
        loop {
            while ended.is_ok() && under_way.len() < self.parallelism {
                let Some(chunk) = chunks.next() else { break };
                under_way.push(send::<E>(&self.client, chunk));
            }
            let Some(written) = under_way.next().await else { break };
            entities += written.entities;
            rows += written.rows;
            report.skipped.extend(written.skipped);
            report.failures.extend(written.failures);
            ended = ended.and(written.ended);
        }
        // A page that is not whole is gone through again.
        ended?;
        report.progress.entities += entities;
        report.progress.rows += rows;
        Ok(())
    }

    /// An entity with the operations that insert its index rows.
    fn entity(&self, row: &Found<'_>) -> Result<Result<(Entity, Batch), Skipped>> {
        let finding = |index: usize, row_key: String, problem| Finding {
            entity: E::NAME.to_owned(),
            row: name_of::<E>(index).to_owned(),
            partition_key: row.partition_key.clone(),
            row_key,
            canonical: Some(row.row_key.clone()),
            etag: None,
            problem,
        };
        let rows = match expected_rows::<E>(&row.partition_key, &row.row_key, row.body) {
            Ok(rows) => rows,
            Err(problem) => {
                let finding = finding(canonical::<E>(), row.row_key.clone(), problem);
                return Ok(Err(Skipped { finding, reason: SkipReason::CanonicalRow }));
            }
        };
        let mut operations = Vec::new();
        let mut findings = Vec::new();
        for EntityRow { index, row_key, body } in index_rows::<E>(rows) {
            if self.only.is_none_or(|only| only == index) {
                findings.push(finding(index, row_key.clone(), Problem::Missing));
                operations.push(Operation { row_key, action: Action::Insert(body) });
            }
        }
        if !operations.is_empty() {
            operations.insert(0, guard(&row.partition_key, &row.row_key, row.etag.clone())?);
        }
        let batch = Batch { partition_key: row.partition_key.clone(), operations };
        Ok(Ok((Entity { canonical: row.row_key.clone(), findings }, batch)))
    }
}

impl<'a, E: TableEntity + 'a> IntoFuture for Backfill<'a, E> {
    type Output = BackfillReport;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// An entity and the index rows it may lack.
struct Entity {
    canonical: String,
    /// Its index rows as if they were all missing.
    findings: Vec<Finding>,
}

/// What became of a chunk.
struct Written {
    entities: u64,
    rows: u64,
    skipped: Vec<Skipped>,
    failures: Vec<RepairFailure>,
    ended: Result<()>,
}

/// Sends a chunk of entities.
async fn send<E: TableEntity>(client: &TableClient, chunk: Chunk<Entity>) -> Written {
    let (entities, batch) = chunk.split();
    let mut written = Written {
        entities: entities.len() as u64,
        rows: entities.iter().map(|entity| entity.findings.len() as u64).sum(),
        skipped: Vec::new(),
        failures: Vec::new(),
        ended: Ok(()),
    };
    if batch.operations.is_empty() {
        return written;
    }
    let partition_key = batch.partition_key.clone();
    if let Err(error) = client.send(batch).await {
        (written.entities, written.rows) = (0, 0);
        if is_write_conflict(&error) {
            send_each::<E>(client, &partition_key, entities, &mut written).await;
        } else {
            written.ended = Err(error);
        }
    }
    written
}

/// Looks at the entities one by one: some of their rows exist, or they have changed.
async fn send_each<E: TableEntity>(
    client: &TableClient,
    partition_key: &str,
    entities: Vec<Entity>,
    written: &mut Written,
) {
    for Entity { canonical, findings } in entities {
        let outcome = repair_entity::<E>(client, partition_key, &canonical, findings).await;
        written.rows += outcome.repaired.len() as u64;
        let exists = |skipped: &Skipped| skipped.reason == SkipReason::NoLongerHolds;
        written.skipped.extend(outcome.skipped.into_iter().filter(|skipped| !exists(skipped)));
        match outcome.failure {
            None => written.entities += 1,
            Some(failure) if failure.error.is_of_one_entity() => written.failures.push(failure),
            Some(failure) => {
                written.ended = Err(failure.error);
                return;
            }
        }
    }
}
