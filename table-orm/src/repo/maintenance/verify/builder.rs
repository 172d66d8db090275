//! The calls that start a verify, and its settings.

use crate::entity::{RowOf, TableEntity, WholePartition, rows_of};
use crate::error::Result;
use crate::key::KeyError;
use crate::model::Metadata;
use crate::plan::{Plan, Step, TableClient};
use crate::query::{IntoSpan, KeyRange, RowQuery, ScanPermit, Span};
use crate::repo::Repo;
use std::marker::PhantomData;

#[cfg(doc)]
use super::VerifyReport;

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
    pub(super) client: TableClient,
    pub(super) query: Result<RowQuery, KeyError>,
    reason: Option<String>,
    entity: PhantomData<fn() -> E>,
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
}
