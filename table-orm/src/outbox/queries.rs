//! The queries that find events.

use crate::entity::{DynamicEntity, EventRowKey, LEASE};
use crate::model::Metadata;
use crate::plan::TableClient;
use crate::query::{KeyRange, RowQuery, ScanPermit, Span};
use crate::scan::Scan;
use std::ops::Bound;
use std::sync::Arc;

/// The RowKeys of events.
pub(super) fn events() -> Span {
    between(EventRowKey::FIRST)
}

/// The RowKeys from that one to the last event.
fn between(first: &str) -> Span {
    let end = Bound::Excluded(EventRowKey::END.to_owned());
    Span::Between(Bound::Included(first.to_owned()), end)
}

/// The query for the lease and the first events of a partition.
pub(super) fn first_events(client: &TableClient, partition: Span, most: u16) -> RowQuery {
    let query = client.query(KeyRange { partition, row: between(LEASE) });
    RowQuery { metadata: Metadata::Minimal, top: Some(most), ..query }
}

/// A scan of the events of all partitions.
pub(super) fn scan(client: &TableClient, permit: &ScanPermit) -> Scan<DynamicEntity> {
    let store = Arc::clone(&client.connection.store);
    Scan::untyped_in(store, client.table.clone(), events(), permit)
}
