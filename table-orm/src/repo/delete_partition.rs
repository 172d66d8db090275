//! The end of a partition: every entity of one type in it, wherever its row stands.
//!
//! Invariant: a canonical row is deleted where it stands, in the version that was read, whatever key
//! its properties make.

use super::bulk::{BatchPolicy, Bulk, BulkProgress};
use super::maintenance::verify::Found;
use crate::entity::{
    EntityRow, EntityRows, TableEntity, canonical, canonical_rows, read_row, split_page,
    template_of,
};
use crate::error::Result;
use crate::plan::{TableClient, delete_all};
use crate::query::{KeyRange, Span};
use crate::store::{Batch, IfMatch};
use bytes::Bytes;

/// Deletes every entity of type `E` in a partition.
pub(super) async fn delete_partition<E: TableEntity>(
    client: &TableClient,
    partition: Span,
) -> Result<BulkProgress> {
    let mut query = client.query(KeyRange { partition, row: canonical_rows::<E>() });
    let mut deleted = BulkProgress::default();
    loop {
        let page = client.page(&query).await?;
        let rows = split_page(&page.body)?.into_iter();
        let entities = rows.filter_map(|row| removal::<E>(row.get().as_bytes()).transpose());
        let entities = entities.collect::<Result<Vec<_>>>()?.into_iter();
        let operations = |removal: &Batch| Ok(removal.clone());
        let policy = BatchPolicy { operations, alone: None };
        let report = Bulk::new(client.clone(), entities, policy).await.all()?;
        deleted.entities += report.entities;
        deleted.rows += report.rows;
        deleted.requests += report.requests;
        query.continuation = page.continuation;
        if query.continuation.is_none() {
            return Ok(deleted);
        }
    }
}

/// What deletes the entity of a canonical row; `None` for a row of another kind.
fn removal<E: TableEntity>(json: &[u8]) -> Result<Option<Batch>> {
    let canonical = canonical::<E>();
    let Found { partition_key, row_key, etag, .. } = Found::read(json)?;
    if template_of::<E>(&row_key).is_none_or(|(index, _)| index != canonical) {
        return Ok(None);
    }
    let entity = read_row::<E>(canonical, json)?;
    let guard = IfMatch::ETag(etag);
    // Of another partition, or without a key, it tells of no row here.
    let made = EntityRows::of(&entity).ok().filter(|made| made.partition_key == partition_key);
    let copies = made.into_iter().flat_map(|made| made.rows).filter(|row| row.index != canonical);
    let own = EntityRow { index: canonical, row_key, body: Bytes::new() };
    let rows = std::iter::once(own).chain(copies).collect();
    Ok(Some(delete_all(EntityRows { partition_key, rows }, canonical, &guard)))
}
