//! Which partitions are known to take writes in the account that their slot moves to.
//!
//! Invariant: a partition that takes writes there keeps taking them, until a later growth moves its slot again. So
//! what is remembered stays true for that account.

use crate::model::TableName;
use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many partitions are remembered.
const MOST: usize = 65_536;

type Partition = (usize, String, String);

#[derive(Debug, Default)]
pub(super) struct Opened(Mutex<HashSet<Partition>>);

impl Opened {
    pub fn holds(&self, account: usize, table: &TableName, partition_key: &str) -> bool {
        self.partitions().contains(&key(account, table, partition_key))
    }

    pub fn insert(&self, account: usize, table: &TableName, partition_key: &str) {
        let mut partitions = self.partitions();
        if partitions.len() >= MOST {
            partitions.clear();
        }
        partitions.insert(key(account, table, partition_key));
    }

    fn partitions(&self) -> MutexGuard<'_, HashSet<Partition>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(account: usize, table: &TableName, partition_key: &str) -> Partition {
    (account, table.as_str().to_ascii_lowercase(), partition_key.to_owned())
}
