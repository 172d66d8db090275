//! A backfill in progress.

use super::builder::Backfill;
use super::eventual_rows;
use super::report::BackfillReport;
use crate::entity::{
    OwnRows, TOTAL, TableEntity, Total, canonical, has_sum_copies, name_of, split_page,
};
use crate::error::Result;
use crate::plan::{CanonicalKey, TableClient};
use crate::repo::bulk::Chunk;
use crate::repo::maintenance::repair::{
    RepairFailure, SkipReason, Skipped, guard, is_write_conflict, repair_entity,
};
use crate::repo::maintenance::verify::{
    ExpectedRow, Finding, Problem, VersionedRow, expected_rows, index_rows,
};
use crate::repo::{Repo, SumProblem, WrongSum};
use crate::store::{Action, Batch, Operation, Page};
use futures_core::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use std::collections::BTreeMap;
use std::sync::Arc;

impl<E: TableEntity> Backfill<'_, E> {
    async fn run(mut self) -> BackfillReport {
        let mut report = BackfillReport::default();
        report.progress.token = self.pages.token.clone();
        if let Err(error) = self.pages(&mut report).await {
            report.ended = Some(error.repeatable());
        }
        report
    }

    async fn pages(&mut self, report: &mut BackfillReport) -> Result<()> {
        loop {
            let (page, next) = self.pages.read().await?;
            self.page(&page, report).await?;
            self.pages.token.clone_from(&next);
            report.progress.token = next;
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
        let (mut others, mut homes) = (BTreeMap::new(), Vec::new());
        for row in split_page(&page.body)? {
            let row = VersionedRow::read(row.get().as_bytes())?;
            if !OwnRows::canonical::<E>().take(&row.context) {
                continue;
            }
            let (entity, batch) = match self.entity(&row)? {
                Ok(prepared) => prepared,
                Err(skipped) => {
                    report.skipped.push(skipped);
                    continue;
                }
            };
            let VersionedRow { partition_key, row_key, body, .. } = row;
            let (client, home) = (&self.pages.client, CanonicalKey { partition_key, row_key });
            eventual_rows::add::<E>(&mut others, client, &home, body, self.only)?;
            if self.only.is_none_or(|only| eventual_rows::is_guard::<E>(only)) {
                homes.push(home);
            }
            let measured = self.pages.client.measure(batch);
            let last = chunks.last_mut().filter(|last| {
                last.partition_key() == measured.batch.partition_key && last.takes(&measured)
            });
            match last {
                Some(chunk) => chunk.push(entity, measured),
                None => chunks.push(Chunk::of(entity, measured)),
            }
        }
        let mut chunks = chunks.into_iter();
        let mut in_flight = FuturesUnordered::new();
        let (mut entities, mut rows, mut ended) = (0, 0, Ok(()));
        loop {
            while ended.is_ok() && in_flight.len() < self.parallelism {
                let Some(chunk) = chunks.next() else { break };
                in_flight.push(send::<E>(&self.pages.client, chunk).boxed());
            }
            let Some(written) = in_flight.next().await else { break };
            entities += written.entities;
            rows += written.rows;
            report.skipped.extend(written.skipped);
            report.failures.extend(written.failures);
            ended = ended.and(written.ended);
        }
        drop(in_flight);
        // An unfinished page does not count: a resumed backfill reads it again.
        ended?;
        let (filled, busy) =
            eventual_rows::fill::<E>(&self.pages.client, others, &Problem::Missing).await?;
        rows += filled;
        report.skipped.extend(busy);
        let (secured, taken) = eventual_rows::secure::<E>(&self.pages.client, &homes).await?;
        rows += secured;
        report.skipped.extend(taken);
        let (corrected, changing) = self.count_sums(homes).await?;
        rows += corrected;
        report.skipped.extend(changing);
        report.progress.entities += entities;
        report.progress.rows += rows;
        Ok(())
    }

    /// Corrects the totals of these entities' partitions, and their copies, once for each partition. Returns how
    /// many were wrong, and those that changed during each count.
    async fn count_sums(&mut self, homes: Vec<CanonicalKey>) -> Result<(u64, Vec<Skipped>)> {
        let (mut corrected, mut changing) = (0, Vec::new());
        if self.only.is_some() || !has_sum_copies::<E>() {
            return Ok((corrected, changing));
        }
        let client = &self.pages.client;
        let repo = Repo::<E>::new(Arc::clone(&client.connection), client.table.clone());
        for CanonicalKey { partition_key, .. } in homes {
            if self.counted.as_ref() != Some(&partition_key) {
                for wrong in repo.count_again(&partition_key, true).await? {
                    if wrong.problem == SumProblem::Pending {
                        let finding = of_total::<E>(&partition_key, wrong);
                        changing.push(Skipped { finding, reason: SkipReason::Changed });
                    } else {
                        corrected += 1;
                    }
                }
                self.counted = Some(partition_key);
            }
        }
        Ok((corrected, changing))
    }

    /// Returns an entity with the operations that insert its index rows.
    fn entity(&self, row: &VersionedRow<'_>) -> Result<Result<(Entity, Batch), Skipped>> {
        let finding = |index: usize, row_key: String, problem| Finding {
            entity: E::NAME.to_owned(),
            row: name_of::<E>(index).to_owned(),
            partition_key: row.partition_key.clone(),
            row_key,
            canonical: Some(row.row_key.clone()),
            location: None,
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
        for ExpectedRow { index, row_key, body, .. } in index_rows::<E>(rows) {
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

/// An entity and the index rows that it may lack.
struct Entity {
    canonical: String,
    /// A finding for each of its index rows, as if all were missing.
    findings: Vec<Finding>,
}

/// The result of a chunk.
struct Written {
    entities: u64,
    rows: u64,
    skipped: Vec<Skipped>,
    failures: Vec<RepairFailure>,
    ended: Result<()>,
}

impl Written {
    /// All rows of these entities.
    fn all(entities: &[Entity]) -> Self {
        Self {
            entities: entities.len() as u64,
            rows: entities.iter().map(|entity| entity.findings.len() as u64).sum(),
            skipped: Vec::new(),
            failures: Vec::new(),
            ended: Ok(()),
        }
    }
}

/// Sends a chunk of entities.
async fn send<E: TableEntity>(client: &TableClient, chunk: Chunk<Entity>) -> Written {
    let (entities, batch) = chunk.split();
    let mut written = Written::all(&entities);
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

/// Repairs the entities one by one, because some of their rows exist or have changed.
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

/// The finding of a total in that partition.
fn of_total<E: TableEntity>(partition_key: &str, wrong: WrongSum) -> Finding {
    let total = Total { name: wrong.name, group: wrong.group, shards: 1 };
    Finding {
        entity: E::NAME.to_owned(),
        row: wrong.name.to_owned(),
        partition_key: partition_key.to_owned(),
        row_key: total.row_key(0).unwrap_or_default(),
        canonical: None,
        location: None,
        etag: None,
        problem: Problem::Stale { properties: vec![TOTAL.to_owned()] },
    }
}
