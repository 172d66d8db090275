//! Index rows of one partition that no canonical row expects.
//!
//! Invariant: a row is deleted only in a version that was read before the canonical rows, and only if no
//! canonical row expected it. A writer of an entity that has the row either fails because the row exists,
//! or changes its version.

use super::report::SkipReason;
use super::verdict::{RepairOutcome, Verdict};
use crate::entity::{EntityRows, Ownership, split_page};
use crate::error::{Error, Result};
use crate::model::{ETag, Metadata};
use crate::plan::TableClient;
use crate::query::{KeyRange, RowQuery, Span};
use crate::repo::maintenance::MaintainedType;
use crate::repo::maintenance::verify::{Finding, VersionedRow, expected_rows, own_canonical};
use crate::store::{Action, Batch, IfMatch, Operation};
use std::collections::HashSet;

/// The decision about a row: delete it in a version, or leave it.
type OrphanDecision = Result<ETag, SkipReason>;

/// Deletes the rows that are orphans now.
pub(crate) async fn delete(
    of: &'static MaintainedType,
    client: &TableClient,
    partition_key: &str,
    findings: Vec<Finding>,
) -> RepairOutcome {
    let decisions = match decide(of, client, partition_key, &findings).await {
        Ok(decisions) => decisions,
        Err(error) => return RepairOutcome::failed(findings, error),
    };
    let mut verdicts: Vec<_> = decisions.iter().map(verdict).collect();
    let mut error = None;
    let deletions: Vec<_> = deletions(&findings, decisions).collect();
    for chunk in deletions.chunks(client.store().transaction_operations()) {
        if let Err(rejected) = delete_all(client, partition_key, chunk, &mut verdicts).await {
            error = Some(rejected);
            break;
        }
    }
    RepairOutcome::of(findings, verdicts, error)
}

/// The transactions that `delete` would send.
pub(crate) async fn plan(
    of: &'static MaintainedType,
    client: &TableClient,
    partition_key: &str,
    findings: &[Finding],
) -> Result<Vec<Batch>> {
    let decisions = decide(of, client, partition_key, findings).await?;
    let deletions: Vec<_> = deletions(findings, decisions).collect();
    let chunks = deletions.chunks(client.store().transaction_operations());
    Ok(chunks.map(|chunk| deletion_batch(partition_key, chunk)).collect())
}

/// One row to delete, and the index of its finding.
type Deletion = (usize, Operation);

/// The deletions. A finding that is passed twice makes one deletion.
fn deletions(
    findings: &[Finding],
    decisions: Vec<OrphanDecision>,
) -> impl Iterator<Item = Deletion> {
    let mut taken = HashSet::new();
    findings.iter().zip(decisions).enumerate().filter_map(move |(at, (finding, decision))| {
        let action = Action::Delete(IfMatch::ETag(decision.ok()?));
        let row_key = finding.row_key.clone();
        taken.insert(row_key.clone()).then_some((at, Operation { row_key, action }))
    })
}

fn deletion_batch(partition_key: &str, deletions: &[Deletion]) -> Batch {
    Batch {
        partition_key: partition_key.to_owned(),
        operations: deletions.iter().map(|(_, operation)| operation.clone()).collect(),
    }
}

/// Sends deletions together, without rows that have changed or are gone.
async fn delete_all(
    client: &TableClient,
    partition_key: &str,
    deletions: &[Deletion],
    verdicts: &mut [Verdict],
) -> Result<()> {
    let mut left = deletions.to_vec();
    while !left.is_empty() {
        let Err(error) = client.send(deletion_batch(partition_key, &left)).await else { break };
        let reason = match &error {
            Error::Conflict(_) => SkipReason::Changed,
            Error::NotFound(_) => SkipReason::NoLongerHolds,
            _ => return Err(error),
        };
        let failed = error.rejection().and_then(|rejection| rejection.operation);
        match failed.filter(|(index, _)| *index < left.len()) {
            Some((index, _)) => {
                let (at, _) = left.remove(index);
                if let Some(verdict) = verdicts.get_mut(at) {
                    *verdict = Verdict::Skip(reason);
                }
            }
            None => return Err(error),
        }
    }
    Ok(())
}

fn verdict(decision: &OrphanDecision) -> Verdict {
    match decision {
        Ok(_) => Verdict::Repair,
        Err(reason) => Verdict::Skip(*reason),
    }
}

/// Reads the rows, then the canonical rows that may expect them.
async fn decide(
    of: &'static MaintainedType,
    client: &TableClient,
    partition_key: &str,
    findings: &[Finding],
) -> Result<Vec<OrphanDecision>> {
    let mut decisions = Vec::with_capacity(findings.len());
    let mut open = Vec::new();
    for (at, finding) in findings.iter().enumerate() {
        let row_key = finding.row_key.as_str();
        let Some(index) = (of.index_of)(row_key).filter(|at| *at != of.canonical) else {
            decisions.push(Err(SkipReason::NotOurs));
            continue;
        };
        let Some(row) = client.annotated_row(partition_key, row_key).await? else {
            decisions.push(Err(SkipReason::NoLongerHolds));
            continue;
        };
        if (of.template_of)(&VersionedRow::read(&row.body)?.context)
            .is_none_or(|(_, ownership)| ownership != Ownership::Own)
        {
            decisions.push(Err(SkipReason::NotOurs));
            continue;
        }
        let etag = row.etag()?;
        let own = own_canonical(of, index, partition_key, row_key, &row.body);
        decisions.push(match own {
            Some(own) => {
                is_expected_by(of, client, partition_key, &own, row_key).await?.map_or_else(
                    || Err(SkipReason::Undecided),
                    |expected| if expected { Err(SkipReason::NoLongerHolds) } else { Ok(etag) },
                )
            }
            None => {
                open.push(at);
                Ok(etag)
            }
        });
    }
    // One read of the partition is exact if the row's key determines that of the canonical row.
    // Otherwise an entity may move its canonical row after the place of our read, and keep the index
    // row; a second read finds it.
    let reads = if of.keys_follow_canonical { 1 } else { 2 };
    for _ in 0..reads {
        if open.is_empty() {
            break;
        }
        let expected = expected_keys(of, client, partition_key, findings, &open).await?;
        open.retain(|&at| {
            let row_key = findings[at].row_key.as_str();
            let reason = if expected.rows.contains(row_key) {
                SkipReason::NoLongerHolds
            } else if expected.complete {
                return true;
            } else {
                SkipReason::Undecided
            };
            decisions[at] = Err(reason);
            false
        });
    }
    Ok(decisions)
}

/// Whether the canonical row of a key expects a row; `None` when it cannot be read.
async fn is_expected_by(
    of: &'static MaintainedType,
    client: &TableClient,
    partition_key: &str,
    own: &str,
    row_key: &str,
) -> Result<Option<bool>> {
    let Some(row) = client.annotated_row(partition_key, own).await? else {
        return Ok(Some(false));
    };
    let rows = expected_rows(of, partition_key, own, &row.body).ok();
    Ok(rows.map(|rows| rows.rows.iter().any(|row| row.row_key == row_key)))
}

/// The keys of the rows that the canonical rows of a partition expect.
struct ExpectedKeys {
    rows: HashSet<String>,
    /// Whether every canonical row could be read.
    complete: bool,
}

impl ExpectedKeys {
    /// Adds those of an entity's rows that are wanted.
    fn add(&mut self, rows: EntityRows, wanted: &HashSet<&str>) {
        let keys = rows.rows.into_iter().map(|row| row.row_key);
        self.rows.extend(keys.filter(|key| wanted.contains(key.as_str())));
    }
}

fn keys_of<'f>(findings: &'f [Finding], open: &[usize]) -> HashSet<&'f str> {
    open.iter().map(|&at| findings[at].row_key.as_str()).collect()
}

async fn expected_keys(
    of: &'static MaintainedType,
    client: &TableClient,
    partition_key: &str,
    findings: &[Finding],
    open: &[usize],
) -> Result<ExpectedKeys> {
    let wanted = keys_of(findings, open);
    let mut expected = ExpectedKeys { rows: HashSet::new(), complete: true };
    let partition = Span::Exact(partition_key.to_owned());
    let query = client.query(KeyRange { partition, row: (of.canonical_rows)() });
    let mut pages = client.pages(RowQuery { metadata: Metadata::Minimal, ..query });
    while let Some(page) = pages.next().await? {
        for row in split_page(&page)? {
            let row = VersionedRow::read(row.get().as_bytes())?;
            if !of.own.take(&row.context) {
                continue;
            }
            match expected_rows(of, partition_key, &row.row_key, row.body) {
                Ok(rows) => expected.add(rows, &wanted),
                Err(_) => expected.complete = false,
            }
        }
    }
    Ok(expected)
}
