//! The protocol without one of its parts: a store below each process leaves that part out. The simulation must
//! find a violation of each.

use super::simulation::simulate;
use super::{memory, name};
use crate::accounts::Accounts;
use crate::accounts::route::{account_of, slot_of};
use crate::dose::dose;
use crate::entity::{DynamicEntity, read_row};
use crate::eventual::tests::chaos;
use crate::layer::{Fault, Faults};
use crate::model::{ETag, Edm, Metadata, TableName};
use crate::store::{Action, Batch, Middleware, Operation, Store, StoreError, StoredRow};
use std::sync::Arc;
use std::time::Duration;

/// A part of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeftOut {
    /// A write carries the fence of its partition.
    WriteFence,
    /// A registration carries the fence of the register.
    RegisterFence,
    /// A transaction of the copy carries its fence.
    CopyFence,
    /// A partition is made once.
    Made,
    /// The mover closes a partition.
    ClosedPartition,
    /// The mover closes the register.
    ClosedRegister,
    /// A read looks where the partition is, after it has read.
    Look,
    /// The rows of a partition are copied.
    Copy,
}

/// The store of one process.
#[derive(Debug)]
pub(super) struct Tampering {
    inner: Arc<dyn Store>,
    left_out: Option<LeftOut>,
    table: TableName,
}

impl Tampering {
    pub fn around(
        inner: Arc<dyn Store>,
        left_out: Option<LeftOut>,
        table: TableName,
    ) -> Arc<dyn Store> {
        Arc::new(Self { inner, left_out, table })
    }

    /// Whether the operation is the fence that is left out.
    fn is_left_out(&self, table: &TableName, operation: &Operation) -> bool {
        let is_data = *table == self.table;
        match (self.left_out, &operation.action, &*operation.row_key) {
            (Some(LeftOut::WriteFence), Action::Merge(..), "ACC:OPEN") => is_data,
            (Some(LeftOut::RegisterFence), Action::Merge(..), "ACC:OPEN") => !is_data,
            (Some(LeftOut::CopyFence), Action::Merge(..), "ACC:COPY") => true,
            (Some(LeftOut::Made), Action::Insert(_), "ACC:MADE") => true,
            (Some(LeftOut::ClosedPartition), Action::Delete(_), "ACC:OPEN") => is_data,
            (Some(LeftOut::ClosedRegister), Action::Delete(_), "ACC:OPEN") => !is_data,
            _ => false,
        }
    }
}

impl Middleware for Tampering {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn get(
        &self,
        table: &TableName,
        partition_key: &str,
        row_key: &str,
        select: Option<&[&str]>,
        metadata: Metadata,
    ) -> Result<Option<StoredRow>, StoreError> {
        if self.left_out == Some(LeftOut::Look) && row_key == "ACC:OPEN" {
            return Ok(None);
        }
        self.inner.get(table, partition_key, row_key, select, metadata).await
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        if self.is_left_out(table, &operation) {
            return Ok(None);
        }
        self.inner.write(table, partition_key, operation).await
    }

    async fn commit(
        &self,
        table: &TableName,
        mut transaction: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let is_copy = transaction.operations[0].row_key == "ACC:COPY";
        if self.left_out == Some(LeftOut::Copy) && is_copy && transaction.operations.len() > 1 {
            // Every other row.
            let mut number = 0;
            transaction.operations.retain(|operation| {
                number += 1;
                operation.row_key.starts_with("ACC:") || number % 2 == 0
            });
        }
        let Some(at) = transaction.operations.iter().position(|one| self.is_left_out(table, one))
        else {
            return self.inner.commit(table, transaction).await;
        };
        let fence = transaction.operations.remove(at);
        if transaction.operations.is_empty() {
            let body = DynamicEntity::new(&transaction.partition_key, &fence.row_key).body();
            let action = Action::InsertOrMerge(body.map_err(|error| {
                StoreError::no_answer("a row without properties").caused_by(error)
            })?);
            transaction.operations.push(Operation { row_key: "ACC:NONE".into(), action });
        }
        let mut etags = self.inner.commit(table, transaction).await?;
        etags.insert(at, None);
        Ok(etags)
    }
}

/// What a client finds where a write that was acknowledged is lost: a row of its own is not as it left it, a row
/// that it changes is gone, or a count is too low.
const LOST: [&str; 3] = [" of Own", " was refused: ResourceNotFound", ", below Counter"];

/// The simulation finds that a write is lost without that part.
#[track_caller]
fn is_needed(part: LeftOut) {
    is_needed_from(part, 0);
}

/// The same, with the seeds from `first` on.
#[track_caller]
fn is_needed_from(part: LeftOut, first: u64) {
    let seeds = first..first + dose(20, 200);
    let violation = chaos::first_violation(part, seeds, |seed| simulate(seed, Some(part)));
    let Some(violation) = violation else {
        panic!("the simulations without {part:?} find nothing");
    };
    assert!(LOST.iter().any(|lost| violation.contains(lost)), "without {part:?}: {violation}");
}

#[test]
fn a_write_needs_the_fence_of_its_partition() {
    is_needed(LeftOut::WriteFence);
}

#[test]
fn a_registration_needs_the_fence_of_the_register() {
    is_needed_from(LeftOut::RegisterFence, 130);
}

#[test]
fn a_partition_is_made_once() {
    is_needed(LeftOut::Made);
}

#[test]
fn a_partition_is_closed_before_it_is_copied() {
    is_needed(LeftOut::ClosedPartition);
}

#[test]
fn the_register_is_closed_before_it_is_read() {
    is_needed_from(LeftOut::ClosedRegister, 15);
}

#[test]
fn a_read_looks_where_the_partition_is() {
    is_needed(LeftOut::Look);
}

#[test]
fn rows_are_copied() {
    is_needed(LeftOut::Copy);
}

/// The value of a row that was written after its partition had moved, when a transaction of the copy takes
/// effect an hour later.
async fn after_a_late_copy(left_out: Option<LeftOut>) -> Option<String> {
    let hour = Duration::from_secs(3600);
    let (table, map) = (name("rows"), name("accounts"));
    let stores = [memory(), memory()];
    let key = (0..).map(|n| format!("p{n}"));
    let key = key.into_iter().find(|key| account_of(slot_of(key), 2) == 1).unwrap();
    let put = async |accounts: &Accounts, value: &str| {
        let row = DynamicEntity::new(&key, "r").with("Value", value);
        let action = Action::InsertOrReplace(row.body().unwrap());
        let operation = Operation { row_key: "r".into(), action };
        accounts.write(&table, &key, operation).await.map(drop)
    };
    let old = Accounts::growing([Arc::clone(&stores[0])], map.clone()).unwrap();
    for store in &stores {
        store.create_table(&table).await.unwrap();
    }
    put(&old, "before").await.unwrap();

    // In the new account: the row of the register without its partition, the partition, the row, the data's
    // partition, and its rows.
    let late = Faults::seeded(3).on("commit", 5, Fault::Late).latest(hour);
    let late = late.store(Tampering::around(Arc::clone(&stores[1]), left_out, table.clone()));
    let mover = Accounts::growing(
        [Arc::clone(&stores[0]), Arc::new(late.unwrap()) as Arc<dyn Store>],
        map.clone(),
    );
    let stopped = mover.unwrap().grow().await.unwrap_err();
    assert!(stopped.to_string().contains("NoAnswer"), "{stopped}");

    let accounts = Accounts::growing(stores.clone(), map).unwrap();
    assert_eq!(accounts.grow().await.unwrap().rows, 1);
    put(&accounts, "after").await.unwrap();
    tokio::time::sleep(hour).await;
    let row = accounts.get(&table, &key, "r", None, Metadata::Minimal).await.unwrap().unwrap();
    match read_row::<DynamicEntity>(0, &row.body).unwrap().properties.remove("Value") {
        Some(Edm::String(value)) => Some(value),
        _ => None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_copy_that_comes_late_changes_nothing_as_it_carries_a_fence() {
    assert_eq!(after_a_late_copy(None).await.as_deref(), Some("after"));
    let left_out = Some(LeftOut::CopyFence);
    assert_eq!(after_a_late_copy(left_out).await.as_deref(), Some("before"));
}
