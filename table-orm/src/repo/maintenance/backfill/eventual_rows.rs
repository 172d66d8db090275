//! The rows in other partitions of a page's entities.

use crate::error::{Error, Result};
use crate::plan::{CanonicalKey, TableClient};
use crate::repo::maintenance::repair::{SkipReason, Skipped};
use crate::repo::maintenance::verify::{Problem, expected_eventual_rows, guard_finding};
use crate::repo::maintenance::{EventualRowKeys, MaintainedType, guards, settle};
use std::collections::BTreeMap;

/// Adds the rows that the entity of a canonical row has in other partitions, by the partition of the entity. `only`
/// is the only template to take.
pub(super) fn add(
    of: &'static MaintainedType,
    rows: &mut BTreeMap<String, Vec<EventualRowKeys>>,
    client: &TableClient,
    home: &CanonicalKey,
    body: &[u8],
    only: Option<usize>,
) -> Result<()> {
    if of.eventual.is_empty() {
        return Ok(());
    }
    let expected = expected_eventual_rows(of, &client.table, body)?.into_iter();
    let expected = expected.filter(|(.., row)| only.is_none_or(|only| only == row.index));
    let own = expected.filter_map(|(_, partition_key, row)| {
        EventualRowKeys::of(of, client, row.index, (&partition_key, &row.row_key))
    });
    rows.entry(home.partition_key.clone()).or_default().extend(own);
    Ok(())
}

/// Brings the rows in step. Returns their number, and those that other writers of their entities keep busy, with
/// that problem.
pub(in crate::repo::maintenance) async fn fill(
    of: &'static MaintainedType,
    client: &TableClient,
    rows: BTreeMap<String, Vec<EventualRowKeys>>,
    problem: &Problem,
) -> Result<(u64, Vec<Skipped>)> {
    let (mut written, mut skipped) = (0, Vec::new());
    for (home, rows) in rows {
        if settle(of, client, &home, &rows).await? {
            written += rows.len() as u64;
        } else {
            let finding = |row: EventualRowKeys| row.finding(of, None, problem.clone());
            let busy = |row| Skipped { finding: finding(row), reason: SkipReason::Changed };
            skipped.extend(rows.into_iter().map(busy));
        }
    }
    Ok((written, skipped))
}

/// Gives entities the guards of their values that are unique over all partitions. Returns how many lacked, and
/// the values that another entity has.
pub(super) async fn secure(
    of: &'static MaintainedType,
    client: &TableClient,
    homes: &[CanonicalKey],
) -> Result<(u64, Vec<Skipped>)> {
    let guards = guards::guards_of(of, client);
    let (mut written, mut taken) = (0, Vec::new());
    if !guards.kind.has_values() {
        return Ok((written, taken));
    }
    for home in homes {
        let entity = guards.entity(&home.partition_key, &home.row_key);
        match guards.secure(&entity, None).await {
            Ok(count) => written += count,
            Err(Error::UniqueViolation { unique, key, holder, .. }) => {
                let value = guards.kind.value(unique, &key);
                let (partition_key, row_key) =
                    holder.map(|holder| (holder.partition_key, holder.row_key)).unwrap_or_default();
                let problem = Problem::Taken { partition_key, row_key };
                let finding = guard_finding(of, client, home, &value, None, problem);
                taken.push(Skipped { finding, reason: SkipReason::Taken });
            }
            Err(error) => return Err(error),
        }
    }
    Ok((written, taken))
}
