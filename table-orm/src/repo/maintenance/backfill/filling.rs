//! The rows that the entities of one page may lack.

use super::eventual_rows;
use super::report::BackfillReport;
use crate::entity::split_page;
use crate::error::Result;
use crate::plan::{CanonicalKey, TableClient};
use crate::repo::bulk::Chunk;
use crate::repo::maintenance::MaintainedType;
use crate::repo::maintenance::repair::{
    RepairFailure, SkipReason, Skipped, guard, is_write_conflict, repair_entity,
};
use crate::repo::maintenance::verify::{
    ExpectedRow, Finding, Problem, VersionedRow, expected_rows, index_rows,
};
use crate::store::{Action, Batch, Operation, Page};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use std::collections::BTreeMap;

/// A backfill without its pages.
pub(super) struct Filling<'c> {
    pub of: &'static MaintainedType,
    pub client: &'c TableClient,
    /// The only template to take.
    pub only: Option<usize>,
}

/// The result of a page: its entities, the rows that were written, and the entities whose sums are to be counted.
pub(super) struct Filled {
    pub entities: u64,
    pub rows: u64,
    pub homes: Vec<CanonicalKey>,
}

impl Filling<'_> {
    /// Writes the rows of one page's entities.
    pub async fn page(
        &self,
        page: &Page,
        parallelism: usize,
        report: &mut BackfillReport,
    ) -> Result<Filled> {
        let mut chunks: Vec<Chunk<Entity>> = Vec::new();
        let (mut others, mut homes) = (BTreeMap::new(), Vec::new());
        for row in split_page(&page.body)? {
            let row = VersionedRow::read(row.get().as_bytes())?;
            if !self.of.own.take(&row.context) {
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
            let home = CanonicalKey { partition_key, row_key };
            eventual_rows::add(self.of, &mut others, self.client, &home, body, self.only)?;
            if self.only.is_none_or(|only| self.of.is_guard_across(only)) {
                homes.push(home);
            }
            let measured = self.client.measure(batch);
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
            while ended.is_ok() && in_flight.len() < parallelism {
                let Some(chunk) = chunks.next() else { break };
                in_flight.push(send(self.of, self.client, chunk).boxed());
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
            eventual_rows::fill(self.of, self.client, others, &Problem::Missing).await?;
        rows += filled;
        report.skipped.extend(busy);
        let (secured, taken) = eventual_rows::secure(self.of, self.client, &homes).await?;
        rows += secured;
        report.skipped.extend(taken);
        Ok(Filled { entities, rows, homes })
    }

    /// Returns an entity with the operations that insert its index rows.
    fn entity(&self, row: &VersionedRow<'_>) -> Result<Result<(Entity, Batch), Skipped>> {
        let finding = |index: usize, row_key: String, problem| Finding {
            entity: self.of.name.to_owned(),
            row: (self.of.name_of)(index).to_owned(),
            partition_key: row.partition_key.clone(),
            row_key,
            canonical: Some(row.row_key.clone()),
            location: None,
            etag: None,
            problem,
        };
        let rows = match expected_rows(self.of, &row.partition_key, &row.row_key, row.body) {
            Ok(rows) => rows,
            Err(problem) => {
                let finding = finding(self.of.canonical, row.row_key.clone(), problem);
                return Ok(Err(Skipped { finding, reason: SkipReason::CanonicalRow }));
            }
        };
        let mut operations = Vec::new();
        let mut findings = Vec::new();
        for ExpectedRow { index, row_key, body, .. } in index_rows(self.of, rows) {
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
async fn send(of: &'static MaintainedType, client: &TableClient, chunk: Chunk<Entity>) -> Written {
    let (entities, batch) = chunk.split();
    let mut written = Written::all(&entities);
    if batch.operations.is_empty() {
        return written;
    }
    let partition_key = batch.partition_key.clone();
    if let Err(error) = client.send(batch).await {
        (written.entities, written.rows) = (0, 0);
        if is_write_conflict(&error) {
            send_each(of, client, &partition_key, entities, &mut written).await;
        } else {
            written.ended = Err(error);
        }
    }
    written
}

/// Repairs the entities one by one, because some of their rows exist or have changed.
async fn send_each(
    of: &'static MaintainedType,
    client: &TableClient,
    partition_key: &str,
    entities: Vec<Entity>,
    written: &mut Written,
) {
    for Entity { canonical, findings } in entities {
        let outcome = repair_entity(of, client, partition_key, &canonical, findings).await;
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
