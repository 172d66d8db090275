//! The rows that are on the way to the store.

use crate::store::Batch;
use std::collections::{HashMap, HashSet};

/// The RowKeys of transactions in flight, by partition.
#[derive(Debug, Default)]
pub(super) struct BusyRows(HashMap<String, HashSet<String>>);

impl BusyRows {
    /// Whether one of its rows is on the way.
    pub fn delays(&self, batch: &Batch) -> bool {
        let busy = self.0.get(&batch.partition_key);
        busy.is_some_and(|rows| batch.operations.iter().any(|row| rows.contains(&row.row_key)))
    }

    /// A transaction is sent. Returns its RowKeys.
    pub fn begin(&mut self, batch: &Batch) -> Vec<String> {
        let keys = batch.operations.iter().map(|operation| operation.row_key.clone());
        let keys: Vec<_> = keys.collect();
        self.0.entry(batch.partition_key.clone()).or_default().extend(keys.iter().cloned());
        keys
    }

    /// The transaction with these RowKeys is answered.
    pub fn end(&mut self, partition_key: &str, keys: &[String]) {
        if let Some(busy) = self.0.get_mut(partition_key) {
            for key in keys {
                busy.remove(key);
            }
            if busy.is_empty() {
                self.0.remove(partition_key);
            }
        }
    }
}
