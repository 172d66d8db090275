//! Large values that no entity refers to.
//!
//! Invariant: the first row of a value is deleted in a version that was read before its entity, and is a day
//! old. A transaction that made the entity refer to the value since then has changed that version.

use super::report::SkipReason;
use super::verdict::{RepairOutcome, Verdict};
use crate::error::Result;
use crate::model::ETag;
use crate::plan::TableClient;
use crate::property::chunk_of;
use crate::repo::large::{Unused, judge, removal, remove};
use crate::repo::maintenance::MaintainedType;
use crate::repo::maintenance::verify::Finding;
use crate::store::Batch;

/// Removes the value that a finding is about.
pub(super) async fn delete(
    of: &'static MaintainedType,
    client: &TableClient,
    finding: Finding,
) -> RepairOutcome {
    let removed = async {
        let (id, head) = match decide(of, client, &finding).await? {
            Ok(found) => found,
            Err(reason) => return Ok(Verdict::Skip(reason)),
        };
        let removed = remove(client, &finding.partition_key, &id, head).await?;
        Ok(removed.map_or(Verdict::Skip(SkipReason::Changed), |_| Verdict::Repair))
    };
    match removed.await {
        Ok(verdict) => RepairOutcome::of(vec![finding], [verdict], None),
        Err(error) => RepairOutcome::failed(vec![finding], error),
    }
}

/// The transactions that `delete` would send.
pub(super) async fn plan(
    of: &'static MaintainedType,
    client: &TableClient,
    finding: &Finding,
) -> Result<Vec<Batch>> {
    match decide(of, client, finding).await? {
        Ok((id, head)) => {
            Ok(removal(client, &finding.partition_key, &id, head).await?.into_batches())
        }
        Err(_) => Ok(Vec::new()),
    }
}

/// The id of the value and the version of its first row, or the reason to leave it.
async fn decide(
    of: &'static MaintainedType,
    client: &TableClient,
    finding: &Finding,
) -> Result<Result<(String, Option<ETag>), SkipReason>> {
    let Some((id, _)) = chunk_of(&finding.row_key) else { return Ok(Err(SkipReason::NotOurs)) };
    Ok(match judge(of.large, client, &finding.partition_key, id).await? {
        Unused::Yes(head, _) => Ok((id.to_owned(), head)),
        Unused::No => Err(SkipReason::NoLongerHolds),
        Unused::Young => Err(SkipReason::Young),
    })
}
