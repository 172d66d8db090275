//! The rows in other partitions that have former names of properties.

use crate::codec::has_former_names;
use crate::error::Result;
use crate::eventual::EventualKey;
use crate::plan::TableClient;
use crate::repo::maintenance::backfill::fill;
use crate::repo::maintenance::repair::Skipped;
use crate::repo::maintenance::verify::{Problem, expected_eventual_rows};
use crate::repo::maintenance::{EventualRowKeys, MaintainedType};
use crate::sync::Concurrent;
use std::collections::BTreeMap;

/// Settles those of the entities with these canonical rows: from then on they have the present names. Returns
/// their number, and those that other writers of their entities keep busy. A canonical row that cannot be read
/// has none.
pub(super) async fn rename(
    of: &'static MaintainedType,
    client: &TableClient,
    parallelism: usize,
    canonical: &[&[u8]],
) -> Result<(u64, Vec<Skipped>)> {
    let expected = canonical.iter().flat_map(|body| {
        let of_entity =
            expected_eventual_rows(of, &client.table, body).unwrap_or_default().into_iter();
        of_entity.filter_map(|(_, partition_key, row)| {
            EventualRowKeys::of(of, client, row.index, (&partition_key, &row.row_key))
        })
    });
    let reading = expected.map(|row| with_former_names(of, client, row));
    let read = Concurrent::in_order(reading, parallelism).try_all().await?;
    let mut rows = BTreeMap::<_, Vec<_>>::new();
    for row in read.into_iter().flatten() {
        rows.entry(row.home.partition_key.clone()).or_default().push(row);
    }
    let stale = Problem::Stale { properties: Vec::new() };
    fill(of, client, rows, &stale).await
}

/// The row, if it is stored with a former name.
async fn with_former_names(
    of: &'static MaintainedType,
    client: &TableClient,
    row: EventualRowKeys,
) -> Result<Option<EventualRowKeys>> {
    let EventualKey { table, partition_key, row_key } = &row.key;
    let stored = client.in_table(table).annotated_row(partition_key, row_key).await?;
    Ok(stored.filter(|stored| has_former_names(&stored.body, of.aliases)).map(|_| row))
}
