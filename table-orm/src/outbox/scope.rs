//! Where events are looked for.

use crate::entity::{DynamicEntity, EventRowKey, LEASE, RowOf, TableEntity, WholePartition};
use crate::eventual::Registered;
use crate::key::KeyError;
use crate::model::{Metadata, TableName};
use crate::plan::TableClient;
use crate::query::{KeyRange, RowQuery, ScanPermit, Span};
use crate::scan::Scan;
use std::ops::Bound;
use std::sync::Arc;

/// The events of which partitions: of one, `Entity::partition(..)`, of those that a
/// [register](crate::Repo::register) names, or with a [`ScanPermit`] of all.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a partition of `{E}`",
    label = "neither a partition nor a permit to scan",
    note = "pass `{E}::partition(..)`, a register, or `ScanPermit::because(..)` for the whole table"
)]
pub trait OutboxScope<E> {
    #[doc(hidden)]
    fn scope(self) -> Scope;
}

/// Where events are looked for.
#[doc(hidden)]
#[derive(Debug)]
pub enum Scope {
    Partition(Result<Span, KeyError>),
    Register(TableName),
    Table(ScanPermit),
}

impl<E: TableEntity, Q: WholePartition> OutboxScope<E> for Q
where
    Q::Row: RowOf<E>,
{
    fn scope(self) -> Scope {
        Scope::Partition(self.into_keys().map(|keys| keys.partition))
    }
}

impl<E: TableEntity> OutboxScope<E> for &Registered {
    fn scope(self) -> Scope {
        Scope::Register(self.table().clone())
    }
}

impl<E: TableEntity> OutboxScope<E> for ScanPermit {
    fn scope(self) -> Scope {
        Scope::Table(self)
    }
}

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
