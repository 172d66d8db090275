//! Repair of the index rows of one entity.
//!
//! Invariants:
//! - What is written follows from the canonical row in the version that the transaction checks.
//! - A stored row is replaced only in the version that was read.

use super::report::SkipReason;
use super::verdict::{PreparedRepair, RepairOutcome, Verdict};
use crate::entity::{DynamicEntity, Ownership};
use crate::error::{Error, Result};
use crate::model::ETag;
use crate::plan::{Attempts, RetryLimits, TableClient};
use crate::repo::maintenance::MaintainedType;
use crate::repo::maintenance::verify::{
    ExpectedRow, Finding, Problem, VersionedRow, differences, expected_rows, index_rows,
    own_canonical,
};
use crate::store::{Action, Batch, IfMatch, Operation, StoredRow};
use std::collections::BTreeMap;

/// Repairs the findings of one entity, by the canonical row as it is now. Reads again when another writer
/// changed the rows in between.
pub(crate) async fn repair_entity(
    of: &'static MaintainedType,
    client: &TableClient,
    partition_key: &str,
    canonical: &str,
    findings: Vec<Finding>,
) -> RepairOutcome {
    let mut attempts = Attempts::begin(&client.connection, RetryLimits::default());
    loop {
        let prepared = prepare(of, client, partition_key, canonical, &findings).await;
        let PreparedRepair { batch, verdicts } = match prepared {
            Ok(prepared) => prepared,
            Err(error) => return RepairOutcome::failed(findings, error),
        };
        if batch.operations.is_empty() {
            return RepairOutcome::of(findings, verdicts, None);
        }
        match client.send(batch).await {
            Ok(_) => return RepairOutcome::of(findings, verdicts, None),
            Err(error) => {
                if !(is_write_conflict(&error) && attempts.next().await) {
                    return RepairOutcome::of(findings, verdicts, Some(error));
                }
            }
        }
    }
}

/// Whether the error means that the rows may have changed since they were read: by another writer, or by this write
/// itself, whose answer was lost. Who reads them again knows.
pub(crate) const fn is_write_conflict(error: &Error) -> bool {
    matches!(
        error,
        Error::Conflict(_)
            | Error::AlreadyExists(_)
            | Error::UniqueViolation { .. }
            | Error::NotFound(_)
            | Error::Ambiguous(_)
    )
}

/// An operation that checks the version of a canonical row and keeps its properties.
pub(crate) fn guard(partition_key: &str, row_key: &str, etag: ETag) -> Result<Operation> {
    let unchanged = DynamicEntity::new(partition_key, row_key).body()?;
    let action = Action::Merge(unchanged, IfMatch::ETag(etag));
    Ok(Operation { row_key: row_key.to_owned(), action })
}

/// Reads the rows, and decides what to write.
pub(crate) async fn prepare(
    of: &'static MaintainedType,
    client: &TableClient,
    partition_key: &str,
    canonical: &str,
    findings: &[Finding],
) -> Result<PreparedRepair> {
    let skip = |reason| Ok(PreparedRepair::skipped(partition_key, findings.len(), reason));
    let Some(row) = client.annotated_row(partition_key, canonical).await? else {
        return skip(SkipReason::NoLongerHolds);
    };
    if !of.own.take(&VersionedRow::read(&row.body)?.context) {
        return skip(SkipReason::NotOurs);
    }
    let rows: Vec<_> = match expected_rows(of, partition_key, canonical, &row.body) {
        Ok(rows) => index_rows(of, rows).collect(),
        Err(_) => return skip(SkipReason::Undecided),
    };
    let mut operations = BTreeMap::new();
    let mut verdicts = Vec::with_capacity(findings.len());
    for finding in findings {
        let expected = rows.iter().find(|row| row.row_key == finding.row_key);
        let verdict = match expected {
            None => Verdict::Skip(SkipReason::NoLongerHolds),
            Some(expected) => {
                match repair_row(of, client, partition_key, canonical, expected, finding).await? {
                    Err(reason) => Verdict::Skip(reason),
                    Ok(action) => {
                        // A finding that is passed twice is repaired once.
                        let place = (expected.index, expected.row_key.clone());
                        operations.insert(place, action);
                        Verdict::Repair
                    }
                }
            }
        };
        verdicts.push(verdict);
    }
    let mut batch = Batch { partition_key: partition_key.to_owned(), operations: Vec::new() };
    if !operations.is_empty() {
        batch.operations.push(guard(partition_key, canonical, row.etag()?)?);
        add(&mut batch.operations, operations);
    }
    Ok(PreparedRepair { batch, verdicts })
}

/// Adds the writes of rows of these places.
fn add(operations: &mut Vec<Operation>, added: BTreeMap<(usize, String), Action>) {
    let added = added.into_iter();
    operations.extend(added.map(|((_, row_key), action)| Operation { row_key, action }));
}

/// The write that brings one row in step, or the reason to skip it.
async fn repair_row(
    of: &'static MaintainedType,
    client: &TableClient,
    partition_key: &str,
    canonical: &str,
    expected: &ExpectedRow,
    finding: &Finding,
) -> Result<Result<Action, SkipReason>> {
    let Some(stored) = client.annotated_row(partition_key, &expected.row_key).await? else {
        return Ok(Ok(Action::Insert(expected.body.clone())));
    };
    if differences(of, expected, &stored.body, client.store().hidden_property())?.is_none() {
        return Ok(Err(SkipReason::NoLongerHolds));
    }
    let context = VersionedRow::read(&stored.body)?.context;
    // The row was missing for this entity, so the stored one may belong to another entity.
    if finding.problem == Problem::Missing
        || (of.template_of)(&context) != Some((expected.index, Ownership::Own))
        || is_another(of, client, partition_key, canonical, expected, &stored).await?
    {
        return Ok(Err(SkipReason::Taken));
    }
    Ok(Ok(Action::Replace(expected.body.clone(), IfMatch::ETag(stored.etag()?))))
}

/// Whether a stored row belongs to another entity, which expects it.
async fn is_another(
    of: &'static MaintainedType,
    client: &TableClient,
    partition_key: &str,
    canonical: &str,
    expected: &ExpectedRow,
    stored: &StoredRow,
) -> Result<bool> {
    let ExpectedRow { index, row_key, .. } = expected;
    let Some(own) = own_canonical(of, *index, partition_key, row_key, &stored.body) else {
        return Ok(false);
    };
    if own == canonical {
        return Ok(false);
    }
    let other = client.annotated_row(partition_key, &own).await?;
    Ok(other.is_some_and(|other| {
        expected_rows(of, partition_key, &own, &other.body)
            .is_ok_and(|rows| rows.rows.iter().any(|row| row.row_key == *row_key))
    }))
}
