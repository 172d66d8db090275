//! Accounts that grow: the slots of a new account move there while clients read and write.
//!
//! A map in a table of the first account says where each slot is. A process reads the map again after
//! [`LEASE`]. No write relies on that: each transaction carries an operation on a row of its partition,
//! the fence, and the mover takes the fence away before it copies.
//!
//! Rows of the protocol. In each partition that was ever written, and hidden from every reader:
//!
//! | RowKey | It is there |
//! |---|---|
//! | `ACC:MADE` | for ever, from the first request that made the partition or closed it |
//! | `ACC:OPEN` | while the partition takes writes: each transaction merges nothing into it, and fails without it |
//! | `ACC:COPY` | while rows are copied here: each transaction of the copy merges nothing into it |
//!
//! A partition goes from nothing to `MADE` and `OPEN`, or to `MADE` and `COPY` and then `OPEN`, and at last to
//! `MADE` alone. Each step inserts `MADE` or deletes what the step before inserted, so a request that comes late,
//! whoever sent it, finds a later state and fails.
//!
//! A new account gets the tables of the first one before any slot moves to it. No table can be deleted then.
//!
//! In the table of the map, each account has a partition for each slot: the register of its partitions,
//! with the same rows. A partition is registered before it is made. So once the mover has closed the
//! register, it knows each partition that can ever be made here.
//!
//! Invariants:
//! - A write takes effect only where `OPEN` is, and at most one account has it.
//! - A partition is copied after it was closed, and opened elsewhere after it was copied. Its rows are
//!   deleted after that.
//! - A read whose rows the app gets ended within [`SETTLE`] after its process read the map, and the mover closes
//!   nothing within [`GRACE`] after it changed the map. So no app gets a row from before a move, as long as no
//!   reader's clock is more than a tenth slower than the mover's.
//! - No table is deleted while slots move: the fences of its partitions would go with it.

mod fence;
mod grow;
mod map;
mod map_row;
mod move_partition;
mod opened;
mod pages;
mod read;
mod register;
mod write;

pub use grow::GrowReport;

use super::{Answer, tables};
use crate::model::TableName;
use crate::store::{ErrorCode, Store, StoreError};
use map_row::MapRow;
use opened::Opened;
use register::Register;
use std::sync::Arc;
use std::time::Duration;

pub(super) use fence::fence_operation;

/// How old the map may be by which a process sends a request.
const LEASE: Duration = Duration::from_secs(10);

/// How old the map may be by which a read was answered.
const SETTLE: Duration = Duration::from_secs(60);

/// How long the mover waits after it has changed the map: for clocks that are a tenth slower than its own.
const GRACE: Duration = Duration::from_secs(66);

/// How often a request begins again because the map has changed.
const ROUNDS: usize = 8;

/// How long a client waits for a partition that is being moved, before it asks again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The accounts, and what is known of their map.
#[derive(Debug)]
pub(super) struct Growing {
    stores: Arc<[Arc<dyn Store>]>,
    map: MapRow,
    register: Register,
    opened: Opened,
}

impl Growing {
    pub fn new(stores: Arc<[Arc<dyn Store>]>, control: TableName) -> Self {
        Self {
            map: MapRow::new(Arc::clone(&stores[0]), control.clone(), stores.len()),
            register: Register::new(control),
            opened: Opened::default(),
            stores,
        }
    }

    /// Whether the table is that of the map.
    pub fn is_control(&self, table: &TableName) -> bool {
        table.as_str().eq_ignore_ascii_case(self.register.control().as_str())
    }

    /// Fails for the table of the map, which an app neither reads nor writes through these accounts.
    pub fn check(&self, table: &TableName) -> Answer<()> {
        if self.is_control(table) {
            let message = format!("The table `{table}` holds the map of the accounts.");
            return Err(StoreError::new(ErrorCode::INVALID_INPUT, message));
        }
        Ok(())
    }

    /// The most operations of a transaction beside its fence.
    pub fn operations(&self) -> usize {
        let most = self.stores.iter().map(|store| store.transaction_operations());
        most.min().unwrap_or_default().saturating_sub(1)
    }

    /// Creates a table in each account of the list, which must not be shorter than the map.
    pub async fn create_table(&self, table: &TableName) -> Answer<()> {
        self.check(table)?;
        self.map.now().await?;
        tables::create(&self.stores, table).await
    }

    /// Creates in each account the tables of the first that it lacks: a new account has none.
    async fn complete_tables(&self) -> Answer<()> {
        let all = tables::list(&self.stores).await?;
        let Some((first, others)) = all.split_first() else { return Ok(()) };
        for (store, own) in self.stores[1..].iter().zip(others) {
            let is_own = |table: &&TableName| {
                own.iter().any(|own| own.as_str().eq_ignore_ascii_case(table.as_str()))
            };
            for table in first.iter().filter(|table| !is_own(table)) {
                map_row::create(&**store, table).await?;
            }
        }
        Ok(())
    }

    /// Deletes a table in each account, unless slots move.
    pub async fn delete_table(&self, table: &TableName) -> Answer<()> {
        self.check(table)?;
        if self.map.now().await?.map.is_moving() {
            let message = "The accounts grow, and no table can be deleted meanwhile. Nothing was deleted; \
                           try again when `grow` has ended.";
            let error = StoreError::new(ErrorCode::SERVER_BUSY, message);
            return Err(StoreError { retry_after: Some(RETRY_AFTER), ..error });
        }
        tables::delete(&self.stores, table).await
    }

    /// Whether the partition takes writes in that account. It is looked up until it does.
    async fn is_open(
        &self,
        account: usize,
        table: &TableName,
        partition_key: &str,
    ) -> Answer<bool> {
        if self.opened.holds(account, table, partition_key) {
            return Ok(true);
        }
        let is_open = fence::is_open(&*self.stores[account], table, partition_key).await?;
        if is_open {
            self.opened.insert(account, table, partition_key);
        }
        Ok(is_open)
    }
}

/// The error of a request to a partition that is on its way.
fn is_moving() -> StoreError {
    let message =
        "The partition is being moved to another account. Nothing was written; try again.";
    let error = StoreError::new(ErrorCode::SERVER_BUSY, message);
    StoreError { retry_after: Some(RETRY_AFTER), ..error }
}
