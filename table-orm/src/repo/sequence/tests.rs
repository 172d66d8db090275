//! Sequences without a part of how they take blocks: a number is given twice.

#![allow(clippy::unwrap_used, reason = "a test fails by them")]

use crate::Tables;
use crate::embedded::EmbeddedStore;
use crate::layer::Faults;
use crate::model::{ETag, TableName};
use crate::store::{Middleware, Operation, Store, StoreError};
use futures_util::future::join_all;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A store that may tell its client of each write without an answer that it is done.
#[derive(Debug, Clone)]
struct Hopeful {
    network: Arc<dyn Store>,
    is_hopeful: bool,
}

impl Middleware for Hopeful {
    fn inner(&self) -> &dyn Store {
        &*self.network
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        let written = self.network.write(table, partition_key, operation).await;
        match written {
            Err(error) if self.is_hopeful && error.status == 0 => {
                Ok(Some(ETag::new("W/\"datetime'2000-01-01T00%3A00%3A00Z'\"")))
            }
            answer => answer,
        }
    }
}

/// Whether contenders were given a number twice.
async fn is_given_twice(seed: u64, is_hopeful: bool) -> bool {
    let store = EmbeddedStore::in_memory().unwrap();
    let table = TableName::new("numbers").unwrap();
    store.create_table(&table).await.unwrap();
    let faults = Faults::seeded(seed).slow(0.5).lost_requests(0.1).lost_replies(0.1).late(0.1);
    let network: Arc<dyn Store> = Arc::new(faults.store(Arc::new(store)).unwrap());
    let contenders = (0..4).map(|contender| {
        let tables = Tables::new(Hopeful { network: Arc::clone(&network), is_hopeful });
        let tables = tables.on_virtual_time(seed * 1000 + contender);
        let numbers = tables.table(table.clone()).sequence("all", "numbers");
        async move {
            let mut given = Vec::new();
            for _ in 0..30 {
                // A block whose write failed is given up.
                given.extend(numbers.next().await.ok());
            }
            given
        }
    });
    let given = join_all(contenders).await.concat();
    assert!(given.len() > 60, "seed {seed}: {} numbers", given.len());
    given.iter().collect::<BTreeSet<_>>().len() < given.len()
}

#[tokio::test(start_paused = true)]
async fn a_write_of_a_block_that_is_not_answered_and_counts_as_done_gives_a_number_twice() {
    let mut is_found = false;
    for seed in 0..20 {
        assert!(!is_given_twice(seed, false).await, "seed {seed}");
        is_found |= is_given_twice(seed, true).await;
    }
    assert!(is_found, "nothing is given twice");
}
