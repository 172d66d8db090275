//! The call that starts a repair, its settings and its run.

use super::jobs::Jobs;
use super::report::{RepairFailure, RepairReport};
use crate::entity::TableEntity;
use crate::error::Result;
use crate::plan::{Plan, Step, TableClient};
use crate::repo::Repo;
use crate::repo::bulk::DEFAULT_PARALLELISM;
use crate::repo::maintenance::MaintainedType;
use crate::repo::maintenance::verify::Finding;
use futures_core::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use std::fmt;
use std::marker::PhantomData;

/// A repair: `.await` sends it, `.plan()` reads the rows and returns what it would write.
///
/// The index rows of one entity cost a point query of the canonical row, a point query for each row, and one
/// transaction, which checks the versions that were read. An orphan costs a point query, then another one or
/// a read of the partition's canonical rows to make sure that no canonical row expects it; 100 orphans share
/// a transaction. A ticket costs a point query and a delete. Holds at most 1000 findings of a partition in memory.
///
/// The transaction changes the ETag of the canonical row, but not its properties. A writer that has loaded
/// the entity gets [`Error::Conflict`](crate::Error::Conflict), and must load it again.
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
/// let findings = runners.verify(Runner::partition("Boston")).await?.findings;
/// // A dry run.
/// let plan = runners.repair(findings.clone()).plan().await?;
/// assert_eq!(plan.operations().count(), 0);
/// assert_eq!(runners.repair(findings).parallelism(4).await.all()?, 0);
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is sent until this is awaited"]
pub struct Repair<E, I> {
    client: TableClient,
    input: I,
    parallelism: usize,
    entity: PhantomData<fn() -> E>,
}

impl<E, I> fmt::Debug for Repair<E, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repair").field("client", &self.client).finish_non_exhaustive()
    }
}

impl<E: TableEntity> Repo<E> {
    /// Corrects what [`verify`](Self::verify) found: writes index rows that are missing, stale or have
    /// the wrong properties, and deletes orphans, and [tickets](crate::repo::Problem::Leftover) older than a
    /// day.
    ///
    /// Reads the rows again, and writes under the ETags of the canonical rows as they are now. Writes
    /// nothing else, and never changes the properties of a canonical row. Skips findings that no
    /// longer hold, so the same findings can be passed again.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables, TableName};
    /// # #[derive(TableEntity)]
    /// # #[table(name = "runners", partition = "{race}")]
    /// # #[row(by_bib, key = "BIB:{bib:05}")]
    /// # #[row(by_age, key = "AGE:{age:03}__{bib:05}")]
    /// # struct Runner { race: String, bib: u32, age: u8 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let runners = tables.repo::<Runner>();
    /// # runners.create_table().await?;
    /// # runners.insert(&Runner { race: "Boston".into(), bib: 7, age: 55 }).await?;
    /// # let rows = tables.table(runners.table().clone());
    /// # let copy = rows.get("Boston", "AGE:055__00007").await?.unwrap();
    /// # rows.delete(&copy).await?;
    /// let findings = runners.verify(Runner::partition("Boston")).await?.findings;
    /// let report = runners.repair(findings).await;
    /// assert_eq!((report.repaired.len(), report.skipped.len()), (1, 0));
    /// assert!(runners.verify(Runner::partition("Boston")).await?.findings.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub fn repair<I>(&self, findings: I) -> Repair<E, I::IntoIter>
    where
        I: IntoIterator<Item = Finding>,
    {
        let (client, input) = (self.client.unreported(), findings.into_iter());
        Repair { client, input, parallelism: DEFAULT_PARALLELISM, entity: PhantomData }
    }
}

impl<E: TableEntity, I: Iterator<Item = Finding>> Repair<E, I> {
    /// Sets the most entities that it repairs at a time; 0 counts as 1.
    pub fn parallelism(mut self, entities: usize) -> Self {
        self.parallelism = entities.max(1);
        self
    }

    /// Reads the rows, and returns the transactions that it would send for the rows as they are now.
    /// Writes nothing.
    ///
    /// # Errors
    /// When the store rejects a read.
    pub async fn plan(self) -> Result<Plan> {
        let of = MaintainedType::of::<E>();
        let mut steps = Vec::new();
        let mut jobs = Jobs::new(self.input);
        while let Some(job) = jobs.next(of, &self.client) {
            for (table, batch) in job.plan(of, &self.client).await? {
                steps.extend(Step::write(table, batch));
            }
        }
        Ok(Plan { steps })
    }

    async fn run(self) -> RepairReport<I>
    where
        E: 'static,
    {
        let of = MaintainedType::of::<E>();
        let mut jobs = Jobs::new(self.input);
        let (mut repaired, mut skipped, mut failures) = (Vec::new(), Vec::new(), Vec::new());
        let mut in_flight = FuturesUnordered::new();
        let mut going = true;
        loop {
            while going && in_flight.len() < self.parallelism {
                let Some(job) = jobs.next(of, &self.client) else { break };
                let client = self.client.clone();
                in_flight.push(async move { job.run(of, &client).await }.boxed());
            }
            let Some(outcome) = in_flight.next().await else { break };
            repaired.extend(outcome.repaired);
            skipped.extend(outcome.skipped);
            if let Some(failure) = outcome.failure {
                going &= failure.error.is_of_one_entity();
                let error = failure.error.repeatable();
                failures.push(RepairFailure { error, ..failure });
            }
        }
        RepairReport { repaired, skipped, failures, remainder: jobs.remainder() }
    }
}

impl<E, I> IntoFuture for Repair<E, I>
where
    E: TableEntity + 'static,
    I: Iterator<Item = Finding> + Send + 'static,
{
    type Output = RepairReport<I>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
