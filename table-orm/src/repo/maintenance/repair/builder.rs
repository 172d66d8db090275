//! The call that starts a repair, its settings and its run.

use super::jobs::Jobs;
use super::report::RepairReport;
use crate::entity::TableEntity;
use crate::error::Result;
use crate::plan::{Plan, Step, TableClient};
use crate::repo::Repo;
use crate::repo::bulk::DEFAULT_PARALLELISM;
use crate::repo::maintenance::verify::Finding;
use futures_core::future::BoxFuture;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use std::fmt;
use std::marker::PhantomData;

/// A `repair`: `.await` sends it, `.plan()` reads the rows and tells what it would write.
///
/// Index rows of one entity cost a point query of the canonical row, one for each row, and one
/// transaction, which asks for the versions that were read. Orphans cost a point query each, one
/// more or a pass over the partition's canonical rows to be sure that none tells of them, and a
/// transaction for 100 of them. At most 1000 findings of a partition are held at a time.
///
/// Writing an entity's index rows gives its canonical row a new ETag, though nothing else of it
/// changes: a writer that has loaded the entity gets [`Error::Conflict`](crate::Error::Conflict), and loads it again.
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
    /// Mends what [`verify`](Self::verify) found: writes index rows that are missing, stale or of
    /// the wrong shape, and deletes orphans, all by the canonical rows as they are now and under
    /// their ETags. Nothing else is written. What no longer holds is skipped, so the same findings
    /// can be given again.
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
        let (client, input) = (self.client.clone(), findings.into_iter());
        Repair { client, input, parallelism: DEFAULT_PARALLELISM, entity: PhantomData }
    }
}

impl<E: TableEntity, I: Iterator<Item = Finding>> Repair<E, I> {
    /// Works on at most `entities` at a time; 0 counts as 1.
    pub fn parallelism(mut self, entities: usize) -> Self {
        self.parallelism = entities.max(1);
        self
    }

    /// The dry run: reads the rows, and gives the transactions that it would send as the rows are
    /// now. Writes nothing.
    ///
    /// # Errors
    /// When a row cannot be asked for.
    pub async fn plan(self) -> Result<Plan> {
        let mut steps = Vec::new();
        let mut jobs = Jobs::new(self.input);
        while let Some(job) = jobs.next::<E>() {
            for batch in job.plan::<E>(&self.client).await? {
                steps.extend(Step::write(self.client.table.clone(), batch));
            }
        }
        Ok(Plan { steps })
    }

    async fn run(self) -> RepairReport<I>
    where
        E: 'static,
    {
        let mut jobs = Jobs::new(self.input);
        let (mut repaired, mut skipped, mut failures) = (Vec::new(), Vec::new(), Vec::new());
        let mut under_way = FuturesUnordered::new();
        let mut going = true;
        loop {
            while going && under_way.len() < self.parallelism {
                let Some(job) = jobs.next::<E>() else { break };
                let client = self.client.clone();
                under_way.push(async move { job.run::<E>(&client).await });
            }
            let Some(outcome) = under_way.next().await else { break };
            repaired.extend(outcome.repaired);
            skipped.extend(outcome.skipped);
            if let Some(failure) = outcome.failure {
                going &= failure.error.is_of_one_entity();
                failures.push(failure);
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
