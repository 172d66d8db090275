//! Compares the rows of entities in other partitions and tables with what their canonical rows say.

use super::differences::differences;
use super::expected::{ExpectedRow, expected_eventual_rows};
use super::finding::{Finding, Problem, RowLocation};
use super::joined::Joined;
use crate::error::{Error, Result};
use crate::eventual::{EventualKey, EventualType, pending_keys};
use crate::model::{ETag, TableName};
use crate::plan::{CanonicalKey, TableClient};
use crate::repo::get::MAX_PARALLEL_GETS;
use crate::repo::maintenance::{EventualRowKeys, MaintainedType};
use crate::sync::Concurrent;
use bytes::Bytes;
use futures_core::future::BoxFuture;
use futures_util::FutureExt as _;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The findings about the `eventual` rows of entities whose canonical rows have these keys and bodies: a point
/// query for each such row that `joined` does not confirm, at most 16 in flight. The partition's own verify
/// reports an unreadable canonical row.
pub(super) fn findings(
    of: &'static MaintainedType,
    client: TableClient,
    canonical: Vec<(CanonicalKey, Bytes)>,
    joined: &Joined,
) -> BoxFuture<'static, Result<Vec<Finding>>> {
    let mut compared = Vec::new();
    for (home, body) in canonical {
        let rows = expected_eventual_rows(of, &client.table, &body).unwrap_or_default();
        for (table, partition_key, row) in rows {
            let table = table.and_then(|table| TableName::new(table).ok());
            let place = client.in_table(table.as_ref().unwrap_or(&client.table));
            let stored = joined.row(&place.table, &partition_key, &row.row_key);
            let hidden = place.store().hidden_property();
            if let Some(stored) = stored
                && matches!(differences(of, &row, stored, hidden), Ok(None))
            {
                continue;
            }
            compared.push(compare(of, place, home.clone(), partition_key, row).boxed());
        }
    }
    all(client, of.settled, compared).boxed()
}

/// What these comparisons find in a partition.
async fn all(
    home: TableClient,
    of: EventualType,
    compared: Vec<BoxFuture<'static, Result<Option<Finding>>>>,
) -> Result<Vec<Finding>> {
    let compared = Concurrent::in_order(compared, MAX_PARALLEL_GETS).try_all().await?;
    let mut findings: Vec<Finding> = compared.into_iter().flatten().collect();
    mark_pending(&home, of, &mut findings).await?;
    Ok(findings)
}

/// Says of what intents list that it is pending.
pub(super) async fn mark_pending(
    client: &TableClient,
    of: EventualType,
    findings: &mut [Finding],
) -> Result<()> {
    let mut pending = BTreeMap::new();
    for finding in findings {
        let Some(RowLocation { table, home }) = &finding.location else { continue };
        let keys = match pending.entry(home.clone()) {
            Entry::Occupied(keys) => keys.into_mut(),
            Entry::Vacant(keys) => keys.insert(pending_keys(client, of, home).await?),
        };
        let Finding { partition_key, row_key, .. } = &*finding;
        let listed = keys.iter().any(|key| {
            key.table.as_str() == table
                && key.partition_key == *partition_key
                && key.row_key == *row_key
        });
        if listed && finding.problem != Problem::TableMissing {
            finding.problem = Problem::Pending;
        }
    }
    Ok(())
}

/// Compares the row that is stored in `place` with the expected one.
async fn compare(
    of: &'static MaintainedType,
    place: TableClient,
    home: CanonicalKey,
    partition_key: String,
    row: ExpectedRow,
) -> Result<Option<Finding>> {
    let stored = place.annotated_row(&partition_key, &row.row_key).await;
    let (problem, etag) = match stored {
        Ok(None) => (Some(Problem::Missing), None),
        Err(Error::TableNotFound(_)) => (Some(Problem::TableMissing), None),
        Err(error) => return Err(error),
        Ok(Some(stored)) => {
            let hidden = place.store().hidden_property();
            (differences(of, &row, &stored.body, hidden)?, Some(stored.etag()?))
        }
    };
    let key = EventualKey { table: place.table, partition_key, row_key: row.row_key };
    let found = EventualRowKeys { index: row.index, key, home };
    Ok(problem.map(|problem| found.finding(of, etag.as_ref(), problem)))
}

impl EventualRowKeys {
    /// A finding about the row, whose version was that when it was read.
    pub(in crate::repo::maintenance) fn finding(
        self,
        of: &'static MaintainedType,
        etag: Option<&ETag>,
        problem: Problem,
    ) -> Finding {
        let Self { index, key, home } = self;
        Finding {
            entity: of.name.to_owned(),
            row: (of.name_of)(index).to_owned(),
            partition_key: key.partition_key,
            row_key: key.row_key,
            location: Some(RowLocation::new(key.table.as_str(), home.partition_key)),
            canonical: Some(home.row_key),
            etag: etag.map(|etag| etag.as_str().to_owned()),
            problem,
        }
    }
}
