//! The copies of totals in one partition, as rows that follow the rows of the totals.
//!
//! Invariant: a transaction that changes a total with a copy changes the row of the total that its intent names.

use super::eventual_rows::{EventualContent, EventualKey, EventualRows};
use crate::entity::{InvalidEntity, TableEntity, Total, copies_partition, copy_of_total};
use crate::error::COPY_OF_TOTAL;
use crate::key::KeyError;
use crate::model::TableName;
use std::collections::BTreeMap;

/// The copy that the row of a total calls for; `None` for a row that is no total with copies.
pub(super) fn copy_of<E: TableEntity>(
    home: &TableName,
    row: &[u8],
) -> Result<Option<EventualRows>, InvalidEntity> {
    let copy = copy_of_total::<E>(row)?.map(|(partition_key, row_key, body)| {
        let key = EventualKey { table: home.clone(), partition_key, row_key };
        EventualRows(BTreeMap::from([(key, EventualContent { row: COPY_OF_TOTAL, body })]))
    });
    Ok(copy)
}

/// The key of the copy of one of the rows of a total in the partition `home`.
pub(super) fn key_of_copy(
    table: &TableName,
    home: &str,
    total: &Total,
    shard: u8,
) -> Result<EventualKey, KeyError> {
    let (table, partition_key) = (table.clone(), copies_partition(total.name));
    Ok(EventualKey { table, partition_key, row_key: total.copy_key(shard, home)? })
}
