//! Looks for rows that are out of step: every row of an entity type is read once, in key order,
//! and index rows are compared with those that the canonical rows tell of.

mod differences;
mod expected;
mod finding;
mod found;
mod partition;

pub use finding::{Finding, Problem};

pub(crate) use differences::differences;
pub(crate) use expected::{expected_rows, index_rows, own_canonical};
pub(crate) use found::Found;

use super::super::Repo;
use super::super::pages::RowStream;
use crate::entity::{RowOf, TableEntity, WholePartition, rows_of, split_page};
use crate::error::Result;
use crate::key::KeyError;
use crate::model::Metadata;
use crate::plan::{Plan, Step, TableClient};
use crate::query::{IntoSpan, KeyRange, RowQuery, ScanPermit, Span};
use futures_core::future::BoxFuture;
use futures_util::stream;
use partition::{Partition, RowKind};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::marker::PhantomData;

/// A `verify`: `.await` gives all findings with counts, `.stream()` the findings as they are made,
/// `.plan()` shows what it reads. It writes nothing.
///
/// It reads each row of the entity type once, at most 1000 a request, and holds one page and those
/// rows of the current partition that have not met their counterpart yet. Where index rows sort
/// before canonical ones (`AGE:` before `BIB:`) these are the index rows of a whole partition.
///
/// Rows are compared by their typed values, so the way a store writes numbers makes no finding.
/// What is expected follows from the canonical rows alone. Rows whose keys are of no template of
/// the entity are left alone, as are index rows that may belong to a canonical row which cannot be
/// read: those are [counted](VerifyReport::undecided).
///
/// The service has no snapshot over several pages: while others write, a row may be found that was
/// on its way. [`Repo::repair`] looks again before it writes.
#[must_use = "nothing is sent until this is awaited or streamed"]
#[derive(Debug)]
pub struct Verify<E> {
    client: TableClient,
    query: Result<RowQuery, KeyError>,
    reason: Option<String>,
    entity: PhantomData<fn() -> E>,
}

/// What a `verify` found, of how much.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[must_use = "it may hold findings"]
#[non_exhaustive]
pub struct VerifyReport {
    /// Entities read: canonical rows, those that cannot be read included.
    pub entities: u64,
    /// Rows read, those of other entity types included.
    pub rows: u64,
    /// Index rows that no canonical row tells of, and that may belong to one which cannot be read:
    /// whether they are orphans is known when that is mended.
    #[serde(default)]
    pub undecided: u64,
    /// What is wrong, partition by partition.
    pub findings: Vec<Finding>,
}

impl<E: TableEntity> Repo<E> {
    /// Looks for rows of one partition that are out of step with their canonical rows: missing,
    /// orphaned, stale, or storing the wrong properties. Reads every row once and writes nothing.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables, TableName};
    /// use table_orm::repo::Problem;
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
    /// let runners = tables.repo::<Runner>();
    /// # runners.create_table().await?;
    /// runners.insert(&Runner { race: "Boston".into(), bib: 7, age: 55 }).await?;
    /// // Somebody deletes a row with another tool.
    /// let rows = tables.table(runners.table().clone());
    /// let copy = rows.get("Boston", "AGE:055__00007").await?.unwrap();
    /// rows.delete(&copy).await?;
    ///
    /// let report = runners.verify(Runner::partition("Boston")).await?;
    /// assert_eq!((report.entities, report.findings.len()), (1, 1));
    /// assert_eq!(report.findings[0].row_key, "AGE:055__00007");
    /// assert_eq!(report.findings[0].problem, Problem::Missing);
    /// # Ok(())
    /// # }
    /// ```
    pub fn verify<Q>(&self, partition: Q) -> Verify<E>
    where
        Q: WholePartition,
        Q::Row: RowOf<E>,
    {
        self.verify_keys(partition.into_keys().map(|keys| keys.partition), None)
    }

    /// Looks for rows out of step in every partition of the table, as [`verify`](Self::verify)
    /// does in one. Reads, and is billed for, every row of the table.
    pub fn verify_table(&self, permit: ScanPermit) -> Verify<E> {
        self.verify_keys(Ok(Span::All), Some(permit.reason().to_owned()))
    }

    fn verify_keys(&self, partition: Result<Span, KeyError>, reason: Option<String>) -> Verify<E> {
        let query = partition.map(|partition| {
            let mut query = self.client.query(KeyRange { partition, row: rows_of::<E>() });
            query.metadata = Metadata::Minimal;
            query
        });
        Verify { client: self.client.clone(), query, reason, entity: PhantomData }
    }
}

impl<E: TableEntity> Verify<E> {
    /// Reads only the partitions in a range of stored PartitionKeys; to go on with a table where an
    /// earlier run has ended, for one. Without effect on a `verify` of one partition.
    pub fn partition_range(mut self, range: impl IntoSpan) -> Self {
        if let Ok(query) = &mut self.query
            && self.reason.is_some()
        {
            query.keys.partition = range.into_span();
        }
        self
    }

    /// What it will read.
    ///
    /// # Errors
    /// A value that a key cannot hold.
    pub fn plan(&self) -> Result<Plan> {
        let (query, reason) = (self.query.clone()?, self.reason.clone());
        Ok(Step::Read { query, limit: None, reason }.into())
    }

    /// The findings one after another, as soon as they are sure.
    #[must_use]
    pub fn stream(self) -> RowStream<Finding>
    where
        E: 'static,
    {
        let run = self.query.map(|query| VerifyRun::<E>::new(self.client, query));
        RowStream::new(stream::try_unfold(run, |run| async {
            let mut run = run?;
            Ok(run.next().await?.map(|finding| (finding, Ok(run))))
        }))
    }

    async fn run(self) -> Result<VerifyReport> {
        let mut run = VerifyRun::<E>::new(self.client, self.query?);
        let mut findings = Vec::new();
        while let Some(finding) = run.next().await? {
            findings.push(finding);
        }
        let VerifyRun { entities, rows, undecided, .. } = run;
        Ok(VerifyReport { entities, rows, undecided, findings })
    }
}

impl<E: TableEntity + 'static> IntoFuture for Verify<E> {
    type Output = Result<VerifyReport>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// A `verify` under way.
struct VerifyRun<E> {
    client: TableClient,
    /// The next request; `None` at the end.
    query: Option<RowQuery>,
    partition: Option<Partition<E>>,
    ready: VecDeque<Finding>,
    entities: u64,
    rows: u64,
    undecided: u64,
}

impl<E: TableEntity> VerifyRun<E> {
    fn new(client: TableClient, query: RowQuery) -> Self {
        let (query, ready) = (Some(query), VecDeque::new());
        Self { client, query, partition: None, ready, entities: 0, rows: 0, undecided: 0 }
    }

    async fn next(&mut self) -> Result<Option<Finding>> {
        loop {
            if let Some(finding) = self.ready.pop_front() {
                return Ok(Some(finding));
            }
            let Some(query) = &mut self.query else { return Ok(None) };
            let page = self.client.page(query).await?;
            query.continuation = page.continuation;
            if query.continuation.is_none() {
                self.query = None;
            }
            let mut findings = Vec::new();
            for row in split_page(&page.body)? {
                self.row(Found::read(row.get().as_bytes())?, &mut findings)?;
            }
            if self.query.is_none()
                && let Some(last) = self.partition.take()
            {
                self.undecided += last.finish(&mut findings);
            }
            self.ready.extend(findings);
        }
    }

    fn row(&mut self, row: Found<'_>, findings: &mut Vec<Finding>) -> Result<()> {
        self.rows += 1;
        if let Some(before) = self.partition.take_if(|open| open.key != row.partition_key) {
            self.undecided += before.finish(findings);
        }
        let hidden = self.client.store().hidden_property();
        let partition = self.partition.get_or_insert_with(|| {
            Partition::new(row.partition_key.clone(), hidden.map(str::to_owned))
        });
        if partition.row(row, findings)? == RowKind::Canonical {
            self.entities += 1;
        }
        Ok(())
    }
}
