//! The rows that decide whether a partition takes writes.

use super::super::Answer;
use crate::entity::DynamicEntity;
use crate::model::{ETag, Metadata, ROW_KEY, TableName};
use crate::store::{Action, Batch, ErrorCode, IfMatch, Operation, Store, StoreError};

/// How the RowKeys of the protocol start.
const RESERVED: &str = "ACC:";
const MADE: &str = "ACC:MADE";
pub(super) const OPEN: &str = "ACC:OPEN";
pub(super) const COPY: &str = "ACC:COPY";

/// Whether the row is one of the protocol.
pub(super) fn is_reserved(row_key: &str) -> bool {
    row_key.starts_with(RESERVED)
}

/// The operation that fails without the fence, as each transaction carries it.
pub(in crate::accounts) fn fence_operation(partition_key: &str) -> Answer<Operation> {
    pass(partition_key, OPEN)
}

/// An operation that changes nothing, and fails without the row.
fn pass(partition_key: &str, fence: &str) -> Answer<Operation> {
    let body = row(&DynamicEntity::new(partition_key, fence))?;
    Ok(Operation { row_key: fence.to_owned(), action: Action::Merge(body, IfMatch::Any) })
}

fn insert(partition_key: &str, fence: &str) -> Answer<Operation> {
    let body = row(&DynamicEntity::new(partition_key, fence))?;
    Ok(Operation { row_key: fence.to_owned(), action: Action::Insert(body) })
}

fn delete(fence: &str) -> Operation {
    Operation { row_key: fence.to_owned(), action: Action::Delete(IfMatch::Any) }
}

/// The body of a row.
pub(super) fn row(row: &DynamicEntity) -> Answer<bytes::Bytes> {
    row.body().map_err(|error| {
        StoreError::new(ErrorCode::INVALID_INPUT, "A row of the accounts cannot be written.")
            .caused_by(error)
    })
}

/// Commits operations where the partition has that fence; `None` where it has not.
pub(super) async fn commit_behind(
    store: &dyn Store,
    table: &TableName,
    partition_key: &str,
    fence: &str,
    operations: &[Operation],
) -> Answer<Option<Vec<Option<ETag>>>> {
    let mut all = Vec::with_capacity(operations.len() + 1);
    all.push(pass(partition_key, fence)?);
    all.extend_from_slice(operations);
    let batch = Batch { partition_key: partition_key.to_owned(), operations: all };
    match store.commit(table, batch).await {
        Ok(etags) => Ok(Some(etags.into_iter().skip(1).collect())),
        Err(error) if error.code == ErrorCode::RESOURCE_NOT_FOUND && error.operation == Some(0) => {
            Ok(None)
        }
        Err(mut error) => {
            error.operation = error.operation.map(|index| index.saturating_sub(1));
            Err(error)
        }
    }
}

/// Commits operations in a partition that takes writes, or that nothing was written to; `None` where it was
/// closed.
pub(super) async fn commit_or_make(
    store: &dyn Store,
    table: &TableName,
    partition_key: &str,
    operations: &[Operation],
) -> Answer<Option<Vec<Option<ETag>>>> {
    let done = commit_behind(store, table, partition_key, OPEN, operations).await?;
    if done.is_some() {
        return Ok(done);
    }
    begin(store, table, partition_key, OPEN).await?;
    commit_behind(store, table, partition_key, OPEN, operations).await
}

/// The first step of a partition, if it is the first: to take writes, or to be copied to.
pub(super) async fn begin(
    store: &dyn Store,
    table: &TableName,
    partition_key: &str,
    fence: &str,
) -> Answer<()> {
    let operations = vec![insert(partition_key, MADE)?, insert(partition_key, fence)?];
    let batch = Batch { partition_key: partition_key.to_owned(), operations };
    unless(store.commit(table, batch).await, &ErrorCode::ENTITY_ALREADY_EXISTS)
}

/// From being copied to, to taking writes.
pub(super) async fn open(store: &dyn Store, table: &TableName, partition_key: &str) -> Answer<()> {
    let operations = vec![delete(COPY), insert(partition_key, OPEN)?];
    let batch = Batch { partition_key: partition_key.to_owned(), operations };
    unless(store.commit(table, batch).await, &ErrorCode::RESOURCE_NOT_FOUND)
}

/// The last step: the partition takes no writes any more, whatever it was.
pub(super) async fn close(store: &dyn Store, table: &TableName, partition_key: &str) -> Answer<()> {
    let made = insert(partition_key, MADE)?;
    let made = store.write(table, partition_key, made).await;
    unless(made, &ErrorCode::ENTITY_ALREADY_EXISTS)?;
    let open = store.write(table, partition_key, delete(OPEN)).await;
    unless(open, &ErrorCode::RESOURCE_NOT_FOUND)
}

/// Whether the partition takes writes.
pub(super) async fn is_open(
    store: &dyn Store,
    table: &TableName,
    partition_key: &str,
) -> Answer<bool> {
    match store.get(table, partition_key, OPEN, Some(&[ROW_KEY]), Metadata::None).await {
        Ok(row) => Ok(row.is_some()),
        Err(error) if error.code == ErrorCode::TABLE_NOT_FOUND => Ok(false),
        Err(error) => Err(error),
    }
}

/// Takes the error for success whose code says that an earlier request did it.
fn unless<T>(answer: Answer<T>, is_done: &ErrorCode) -> Answer<()> {
    match answer {
        Err(error) if error.code == *is_done => Ok(()),
        answer => answer.map(drop),
    }
}
