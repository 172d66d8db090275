//! Findings about the guard rows of values that are unique over all partitions.

use super::finding::{Finding, Problem, RowLocation};
use crate::error::{Error, Result};
use crate::eventual::{GUARD_ROW, Guard, UniqueValue};
use crate::plan::{CanonicalKey, TableClient};
use crate::repo::maintenance::MaintainedType;
use crate::repo::maintenance::guards::guards_of;

/// A finding about the guard of a value.
pub(crate) fn guard_finding(
    of: &'static MaintainedType,
    client: &TableClient,
    home: &CanonicalKey,
    value: &UniqueValue,
    guard: Option<&Guard>,
    problem: Problem,
) -> Finding {
    let template = of.settled.guard(&value.name);
    let table = template.map_or_else(|| client.table.clone(), |it| it.table_of(&client.table));
    Finding {
        entity: of.name.to_owned(),
        row: value.name.clone(),
        partition_key: value.partition_key(),
        row_key: GUARD_ROW.to_owned(),
        location: Some(RowLocation::new(table.as_str(), home.partition_key.clone())),
        canonical: Some(home.row_key.clone()),
        etag: guard.map(|guard| guard.etag.as_str().to_owned()),
        problem,
    }
}

/// The value whose guard a finding is about, and the entity; `None` for a finding about another row.
pub(crate) fn guarded(
    of: &'static MaintainedType,
    finding: &Finding,
) -> Option<(UniqueValue, CanonicalKey)> {
    let template = of.settled.guard(&finding.row)?;
    let value = finding.partition_key.strip_prefix(template.start)?.to_owned();
    let partition_key = finding.location.as_ref()?.home.clone();
    let key = CanonicalKey { partition_key, row_key: finding.canonical.clone()? };
    Some((UniqueValue { name: finding.row.clone(), value }, key))
}

/// The findings about the guards of one entity, whose canonical row has that body. The partition's own verify
/// reports an unreadable row.
pub(super) async fn findings(
    of: &'static MaintainedType,
    client: &TableClient,
    home: &CanonicalKey,
    body: &[u8],
) -> Result<Vec<Finding>> {
    let (guards, mut findings) = (guards_of(of, client), Vec::new());
    let own = guards.entity(&home.partition_key, &home.row_key);
    for value in (of.unique_values)(body) {
        let guard = match guards.get(&value).await {
            Err(Error::TableNotFound(_)) => {
                let problem = Problem::TableMissing;
                findings.push(guard_finding(of, client, home, &value, None, problem));
                continue;
            }
            guard => guard?,
        };
        let holder = match &guard {
            Some(guard) if guard.names(&own) => continue,
            Some(guard) => guards.holder(&guard.home, &value).await?,
            None => None,
        };
        let problem = match holder {
            // The guard names the key that the entity left.
            Some(holder) if holder.home.is(&own) => continue,
            Some(holder) => {
                let CanonicalKey { partition_key, row_key } = holder.home.key;
                Problem::Taken { partition_key, row_key }
            }
            None => Problem::Missing,
        };
        findings.push(guard_finding(of, client, home, &value, guard.as_ref(), problem));
    }
    Ok(findings)
}
