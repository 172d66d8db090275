//! The calls that start a scan: on a typed repository or on an untyped table.

use super::scan::Scan;
use crate::entity::{DynamicEntity, ReadRow, Row, TableEntity, canonical_rows};
use crate::model::TableName;
use crate::plan::TableClient;
use crate::query::{ScanPermit, Span};
use crate::repo::{Repo, Table, sent_by_last_method};
use crate::store::Store;
use std::sync::Arc;

impl<E: TableEntity> Repo<E> {
    /// A scan of every entity of the table, read from its canonical row by many workers in no order.
    /// The service reads, and bills, every row of the table.
    pub fn scan(&self, permit: ScanPermit) -> Scan<E, E::Canonical> {
        let TableClient { connection, table, .. } = &self.client;
        Scan::typed(Arc::clone(&connection.store), table.clone(), &permit)
    }
}

impl Table {
    /// A scan of every row of the table, read by many workers in no order. The service reads, and
    /// bills, every row.
    pub fn scan(&self, permit: ScanPermit) -> Scan<DynamicEntity> {
        let TableClient { connection, table, .. } = &self.client;
        Scan::untyped(Arc::clone(&connection.store), table.clone(), &permit)
    }
}

sent_by_last_method!(Scan<T, R>);

impl<E: TableEntity> Scan<E, E::Canonical> {
    pub(crate) fn typed(store: Arc<dyn Store>, table: TableName, permit: &ScanPermit) -> Self {
        let row = (E::NAME, <E::Canonical as Row>::INDEX);
        Self::with(store, table, row, canonical_rows::<E>(), permit)
    }
}

impl Scan<DynamicEntity> {
    pub(crate) fn untyped(store: Arc<dyn Store>, table: TableName, permit: &ScanPermit) -> Self {
        Self::with(store, table, (DynamicEntity::NAME, 0), Span::All, permit)
    }
}
