//! A store that creates the table of a period when a write needs it.
//!
//! Invariants: a read of a table that is absent, or is being deleted, returns no rows. A write creates the table
//! only if it can then succeed, and sends one more request only after it met an absent table.

use crate::model::{Bucket, ETag, Metadata, Period, TableName};
use crate::query::RowQuery;
use crate::store::{
    Action, Batch, ErrorCode, Middleware, Operation, Page, Store, StoreError, StoredRow,
};
use crate::sync::KeyedLock;
use bytes::Bytes;
use std::collections::HashMap;
use std::future::Future;
use std::slice;
use std::sync::{Arc, Mutex, PoisonError};

type Answer<T> = Result<T, StoreError>;

/// A store around a store, which creates the tables of periods.
#[derive(Debug)]
pub(super) struct OnDemand {
    inner: Arc<dyn Store>,
    base: TableName,
    bucket: Bucket,
    /// Held while a table is created: writers that meet an absent table together create it once.
    creating: KeyedLock<TableName>,
    /// How often each table was created. A table that was dropped is created again.
    created: Mutex<HashMap<TableName, u64>>,
}

impl OnDemand {
    pub fn new(inner: Arc<dyn Store>, base: TableName, bucket: Bucket) -> Self {
        let (creating, created) = (KeyedLock::new(1), Mutex::default());
        Self { inner, base, bucket, creating, created }
    }

    /// Whether the answer says that the table of a period does not exist.
    fn is_absent(&self, table: &TableName, error: &StoreError) -> bool {
        error.code == ErrorCode::TABLE_NOT_FOUND && self.is_of_period(table)
    }

    /// Whether the answer says that the table of a period has no rows. That of a table that the service is
    /// deleting does.
    fn is_empty(&self, table: &TableName, error: &StoreError) -> bool {
        let codes = [ErrorCode::TABLE_NOT_FOUND, ErrorCode::TABLE_BEING_DELETED];
        codes.contains(&error.code) && self.is_of_period(table)
    }

    fn is_of_period(&self, table: &TableName) -> bool {
        Period::of_table(self.bucket, &self.base, table).is_some()
    }

    /// Sends a write. Where the table does not exist, creates it and sends the write again.
    async fn send<T, F>(
        &self,
        table: &TableName,
        operations: &[Operation],
        send: impl Fn() -> F + Send + Sync,
    ) -> Answer<T>
    where
        T: Send,
        F: Future<Output = Answer<T>> + Send,
    {
        let before = self.times_created(table);
        let answer = send().await;
        if !matches!(&answer, Err(error) if self.is_absent(table, error)) {
            return answer;
        }
        if let Some(index) = operations.iter().position(|operation| needs_row(&operation.action)) {
            let message = "the table of the period does not exist, and so the row does not";
            let error = StoreError::new(ErrorCode::RESOURCE_NOT_FOUND, message);
            return Err(StoreError { operation: Some(index), ..error });
        }
        self.create(table, before).await?;
        send().await
    }

    /// Creates a table, unless another writer did since it had been created `before` times.
    async fn create(&self, table: &TableName, before: u64) -> Answer<()> {
        let _permit = self.creating.acquire(table.clone()).await;
        if self.times_created(table) != before {
            return Ok(());
        }
        match self.inner.create_table(table).await {
            Err(error) if !is_there(&error) => {
                let message = format!(
                    "nothing was written, for its table was not created: {}",
                    error.message
                );
                return Err(StoreError { message, operation: None, ..error });
            }
            _ => {}
        }
        let mut created = self.created.lock().unwrap_or_else(PoisonError::into_inner);
        *created.entry(table.clone()).or_default() += 1;
        Ok(())
    }

    fn times_created(&self, table: &TableName) -> u64 {
        let created = self.created.lock().unwrap_or_else(PoisonError::into_inner);
        created.get(table).copied().unwrap_or_default()
    }
}

/// Whether the operation fails where its row does not exist.
const fn needs_row(action: &Action) -> bool {
    action.if_match().is_some()
}

/// Whether another client created the table, or this one by a request whose answer was lost.
fn is_there(error: &StoreError) -> bool {
    *error.answer_code() == ErrorCode::TABLE_ALREADY_EXISTS
}

impl Middleware for OnDemand {
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
    ) -> Answer<Option<StoredRow>> {
        match self.inner.get(table, partition_key, row_key, select, metadata).await {
            Err(error) if self.is_empty(table, &error) => Ok(None),
            row => row,
        }
    }

    async fn query(&self, query: &RowQuery) -> Answer<Page> {
        const NO_ROWS: Bytes = Bytes::from_static(br#"{"value":[]}"#);
        match self.inner.query(query).await {
            Err(error) if self.is_empty(&query.table, &error) => {
                Ok(Page { body: NO_ROWS, continuation: None, scanned: Some(0) })
            }
            page => page,
        }
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Answer<Option<ETag>> {
        let again = || self.inner.write(table, partition_key, operation.clone());
        self.send(table, slice::from_ref(&operation), again).await
    }

    async fn commit(&self, table: &TableName, transaction: Batch) -> Answer<Vec<Option<ETag>>> {
        let again = || self.inner.commit(table, transaction.clone());
        self.send(table, &transaction.operations, again).await
    }
}
