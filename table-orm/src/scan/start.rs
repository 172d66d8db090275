//! Where a scan starts: at the typed or the untyped calls on one table.

use super::Scan;
use crate::entity::{DynamicEntity, TableEntity};
use crate::plan::TableClient;
use crate::query::ScanPermit;
use crate::repo::{Repo, Table, sent_by_last_method};
use std::sync::Arc;

impl<E: TableEntity> Repo<E> {
    /// Every entity of the table, by its canonical row, read by many workers and in no order.
    /// Reads, and is billed for, every row of the table.
    pub fn scan(&self, permit: ScanPermit) -> Scan<E, E::Canonical> {
        let TableClient { connection, table, .. } = &self.client;
        Scan::typed(Arc::clone(&connection.store), table.clone(), &permit)
    }
}

impl Table {
    /// Every row of the table, read by many workers and in no order. Reads, and is billed for,
    /// every row.
    pub fn scan(&self, permit: ScanPermit) -> Scan<DynamicEntity> {
        let TableClient { connection, table, .. } = &self.client;
        Scan::untyped(Arc::clone(&connection.store), table.clone(), &permit)
    }
}

sent_by_last_method!(Scan<T, R>);
