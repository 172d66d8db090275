//! The findings of a repair, grouped into jobs.

use super::entity::{self, repair_entity};
use super::orphans;
use super::report::{SkipReason, Skipped};
use super::tickets;
use super::unused_values;
use super::verdict::{RepairOutcome, Verdict};
use crate::error::Result;
use crate::eventual::UniqueValue;
use crate::model::TableName;
use crate::plan::{CanonicalKey, TableClient};
use crate::repo::bulk::Remainder;
use crate::repo::maintenance::verify::{Finding, Problem, guarded};
use crate::repo::maintenance::{EventualRowKeys, MaintainedType, guards, settle};
use crate::store::Batch;
use std::collections::{BTreeMap, VecDeque};

/// The most findings of one partition that are grouped at a time.
const BATCH: usize = 1000;

/// Findings that are repaired together.
#[derive(Debug)]
pub(super) enum Job {
    /// Findings about the index rows of one entity.
    Entity { partition_key: String, canonical: String, findings: Vec<Finding> },
    /// Findings about rows in other partitions, of the entities of one partition.
    Eventual { home: String, rows: Vec<(Finding, EventualRowKeys)> },
    /// A finding about the guard of a value that is unique over all partitions, with the value and the entity.
    Guard { finding: Box<Finding>, value: UniqueValue, home: CanonicalKey },
    /// A finding about a ticket that nobody used.
    Ticket { finding: Box<Finding> },
    /// A finding about a large value that no entity refers to.
    Value { finding: Box<Finding> },
    /// Findings about orphans of one partition.
    Orphans { partition_key: String, findings: Vec<Finding> },
    /// A finding that needs no read.
    Skip { finding: Box<Finding>, reason: SkipReason },
}

impl Job {
    pub async fn run(self, of: &'static MaintainedType, client: &TableClient) -> RepairOutcome {
        match self {
            Self::Entity { partition_key, canonical, findings } => {
                repair_entity(of, client, &partition_key, &canonical, findings).await
            }
            Self::Eventual { home, rows } => {
                let (findings, rows): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
                let verdict = match settle(of, client, &home, &rows).await {
                    Ok(true) => Verdict::Repair,
                    Ok(false) => Verdict::Skip(SkipReason::Changed),
                    Err(error) => return RepairOutcome::failed(findings, error),
                };
                let verdicts = vec![verdict; findings.len()];
                RepairOutcome::of(findings, verdicts, None)
            }
            Self::Guard { finding, value, home } => {
                let verdict = match guards::repair(of, client, &value, &home).await {
                    Ok(true) => Verdict::Repair,
                    Ok(false) => Verdict::Skip(SkipReason::Taken),
                    Err(error) => return RepairOutcome::failed(vec![*finding], error),
                };
                RepairOutcome::of(vec![*finding], vec![verdict], None)
            }
            Self::Ticket { finding } => tickets::delete(of, client, *finding).await,
            Self::Value { finding } => unused_values::delete(of, client, *finding).await,
            Self::Orphans { partition_key, findings } => {
                orphans::delete(of, client, &partition_key, findings).await
            }
            Self::Skip { finding, reason } => {
                let skipped = vec![Skipped { finding: *finding, reason }];
                RepairOutcome { skipped, ..RepairOutcome::default() }
            }
        }
    }

    /// What it would write, each with its table.
    pub async fn plan(
        self,
        of: &'static MaintainedType,
        client: &TableClient,
    ) -> Result<Vec<(TableName, Batch)>> {
        let batches = match self {
            Self::Entity { partition_key, canonical, findings } => {
                let prepared =
                    entity::prepare(of, client, &partition_key, &canonical, &findings).await?;
                vec![prepared.batch]
            }
            Self::Orphans { partition_key, findings } => {
                orphans::plan(of, client, &partition_key, &findings).await?
            }
            Self::Ticket { finding } => {
                let decided = tickets::decide(of, client, &finding).await?;
                return Ok(decided
                    .into_iter()
                    .map(|(place, batch)| (place.table, batch))
                    .collect());
            }
            Self::Value { finding } => unused_values::plan(of, client, &finding).await?,
            // What settling writes follows from readings after its tickets.
            Self::Eventual { .. } | Self::Guard { .. } | Self::Skip { .. } => Vec::new(),
        };
        Ok(batches.into_iter().map(|batch| (client.table.clone(), batch)).collect())
    }

    fn into_findings(self) -> Vec<Finding> {
        match self {
            Self::Entity { findings, .. } | Self::Orphans { findings, .. } => findings,
            Self::Eventual { rows, .. } => rows.into_iter().map(|(finding, _)| finding).collect(),
            Self::Guard { finding, .. }
            | Self::Ticket { finding }
            | Self::Value { finding }
            | Self::Skip { finding, .. } => vec![*finding],
        }
    }
}

/// Findings as jobs, partition by partition.
pub(super) struct Jobs<I> {
    input: I,
    /// The first finding of the next batch.
    ahead: Option<Finding>,
    ready: VecDeque<Job>,
}

impl<I: Iterator<Item = Finding>> Jobs<I> {
    pub const fn new(input: I) -> Self {
        Self { input, ahead: None, ready: VecDeque::new() }
    }

    pub fn next(&mut self, of: &'static MaintainedType, client: &TableClient) -> Option<Job> {
        if self.ready.is_empty() {
            self.read_batch(of, client);
        }
        self.ready.pop_front()
    }

    /// Takes the next findings of one partition.
    fn read_batch(&mut self, of: &'static MaintainedType, client: &TableClient) {
        let Some(first) = self.ahead.take().or_else(|| self.input.next()) else { return };
        let partition_key = first.partition_key.clone();
        let mut batch = vec![first];
        while batch.len() < BATCH {
            match self.input.next() {
                Some(next) if next.partition_key == partition_key => batch.push(next),
                next => {
                    self.ahead = next;
                    break;
                }
            }
        }
        let mut entities = BTreeMap::<String, Vec<Finding>>::new();
        let mut orphans = Vec::new();
        let mut others = BTreeMap::<String, Vec<_>>::new();
        for finding in batch {
            if finding.entity == of.name
                && let Some((value, home)) = guarded(of, &finding)
            {
                let finding = Box::new(finding);
                self.ready.push_back(Job::Guard { finding, value, home });
                continue;
            }
            if finding.entity == of.name && matches!(finding.problem, Problem::Leftover { .. }) {
                self.ready.push_back(Job::Ticket { finding: Box::new(finding) });
                continue;
            }
            if finding.entity == of.name && matches!(finding.problem, Problem::UnusedValue { .. }) {
                self.ready.push_back(Job::Value { finding: Box::new(finding) });
                continue;
            }
            if finding.entity == of.name && finding.location.is_some() {
                match eventual_row(of, client, &finding) {
                    Some(row) => {
                        let home = row.home.partition_key.clone();
                        others.entry(home).or_default().push((finding, row));
                    }
                    None => self.skip(finding, SkipReason::NotOurs),
                }
                continue;
            }
            let reason = match (&finding.problem, &finding.canonical) {
                _ if finding.entity != of.name => SkipReason::NotOurs,
                (
                    Problem::Unreadable { .. }
                    | Problem::Unwritable { .. }
                    | Problem::KeyMismatch { .. }
                    | Problem::Moved { .. },
                    _,
                ) => SkipReason::CanonicalRow,
                (Problem::Orphan, _) => {
                    orphans.push(finding);
                    continue;
                }
                (_, Some(canonical)) => {
                    entities.entry(canonical.clone()).or_default().push(finding);
                    continue;
                }
                (_, None) => SkipReason::NotOurs,
            };
            self.skip(finding, reason);
        }
        let others = others.into_iter().map(|(home, rows)| Job::Eventual { home, rows });
        self.ready.extend(others);
        self.ready.extend(entities.into_iter().map(|(canonical, findings)| Job::Entity {
            partition_key: partition_key.clone(),
            canonical,
            findings,
        }));
        if !orphans.is_empty() {
            self.ready.push_back(Job::Orphans { partition_key, findings: orphans });
        }
    }

    fn skip(&mut self, finding: Finding, reason: SkipReason) {
        self.ready.push_back(Job::Skip { finding: Box::new(finding), reason });
    }

    pub fn remainder(self) -> Remainder<Finding, I> {
        let ready = self.ready.into_iter().flat_map(Job::into_findings);
        Remainder::new(ready.chain(self.ahead).collect(), self.input)
    }
}

/// The row in another partition that a finding is about. Which entity of the table it belongs to follows from its keys
/// alone, so an old finding can do no harm.
fn eventual_row(
    of: &'static MaintainedType,
    client: &TableClient,
    finding: &Finding,
) -> Option<EventualRowKeys> {
    let index = EventualRowKeys::index_of(of, &finding.row)?;
    EventualRowKeys::of(of, client, index, (&finding.partition_key, &finding.row_key))
}
