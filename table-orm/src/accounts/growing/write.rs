//! Sends each write to the account in which its partition takes writes.

use super::super::Answer;
use super::fence::{OPEN, begin, commit_behind, is_reserved};
use super::map::Slot;
use super::{Growing, ROUNDS, is_moving};
use crate::model::{ETag, TableName};
use crate::store::{Batch, ErrorCode, Operation, StoreError};

type Written = Vec<Option<ETag>>;

impl Growing {
    pub async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Answer<Option<ETag>> {
        let written = self.send(table, partition_key, &[operation]).await;
        let written = written.map_err(|error| StoreError { operation: None, ..error })?;
        Ok(written.into_iter().next().flatten())
    }

    pub async fn commit(&self, table: &TableName, transaction: Batch) -> Answer<Written> {
        let Batch { partition_key, operations } = transaction;
        if operations.is_empty() {
            let message = "The transaction has no operations.";
            return Err(StoreError::new(ErrorCode::INVALID_INPUT, message));
        }
        self.send(table, &partition_key, &operations).await
    }

    async fn send(
        &self,
        table: &TableName,
        partition_key: &str,
        operations: &[Operation],
    ) -> Answer<Written> {
        self.check(table)?;
        check(operations, self.operations())?;
        let mut seen = self.map.current().await?;
        for _ in 0..ROUNDS {
            let written = match seen.map.slot(partition_key) {
                Slot::At(account) => self.enter(account, table, partition_key, operations).await?,
                Slot::Moving { from, to } => {
                    self.while_moving(from, to, table, partition_key, operations).await?
                }
            };
            match written {
                Some(written) => return Ok(written),
                None => seen = self.map.after(&seen).await?,
            }
        }
        Err(is_moving())
    }

    /// Writes to a partition of that account, or makes it there; `None` where it was closed.
    async fn enter(
        &self,
        account: usize,
        table: &TableName,
        partition_key: &str,
        operations: &[Operation],
    ) -> Answer<Option<Written>> {
        let store = &*self.stores[account];
        let written = commit_behind(store, table, partition_key, OPEN, operations).await?;
        if written.is_some() || !self.register.insert(store, table, partition_key).await? {
            return Ok(written);
        }
        begin(store, table, partition_key, OPEN).await?;
        commit_behind(store, table, partition_key, OPEN, operations).await
    }

    /// Writes where the partition is, while its slot moves: it moves by itself, or is new.
    async fn while_moving(
        &self,
        from: usize,
        to: usize,
        table: &TableName,
        partition_key: &str,
        operations: &[Operation],
    ) -> Answer<Option<Written>> {
        if !self.opened.holds(to, table, partition_key) {
            let written = self.enter(from, table, partition_key, operations).await?;
            if written.is_some() {
                return Ok(written);
            }
        }
        let written =
            commit_behind(&*self.stores[to], table, partition_key, OPEN, operations).await?;
        if written.is_some() {
            self.opened.insert(to, table, partition_key);
            return Ok(written);
        }
        // The register is closed, so what is not in it will never be made there.
        if self.register.holds(&*self.stores[from], table, partition_key).await? {
            return Err(is_moving());
        }
        self.enter(to, table, partition_key, operations).await
    }
}

fn check(operations: &[Operation], most: usize) -> Answer<()> {
    if let Some(at) = operations.iter().position(|operation| is_reserved(&operation.row_key)) {
        let message =
            "RowKeys that begin with `ACC:` are those of the accounts. Nothing was written.";
        return Err(StoreError::new(ErrorCode::OUT_OF_RANGE_INPUT, message).at(at));
    }
    if operations.len() > most {
        let last = most.saturating_sub(1);
        let message = format!(
            "{last}:A transaction of these accounts has at most {most} operations. Nothing was written."
        );
        return Err(StoreError::new(ErrorCode::INVALID_INPUT, message).at(last));
    }
    Ok(())
}
