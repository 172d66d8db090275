//! Turns the writes of a caller into a request: everything that can be checked without the
//! database is checked here, on the caller's task.

use super::apply::{AdmittedOperation, Request};
use super::{key_bytes, layout, rules};
use crate::entity::TableName;
use crate::store::{
    Action, ErrorCode, MAX_TRANSACTION_BYTES, MAX_TRANSACTION_OPERATIONS, Operation, StoreError,
    Transaction,
};
use bytes::Bytes;
use std::collections::HashSet;

/// One write.
pub(super) fn write(
    table: &TableName,
    partition_key: &str,
    operation: Operation,
) -> Result<Request, StoreError> {
    check_bytes(partition_key, std::slice::from_ref(&operation))?;
    rules::check_key("PartitionKey", partition_key)?;
    let operation = admit(partition_key, operation)?;
    Ok(Request::Write { table: stored_name(table), operations: vec![operation] })
}

/// An entity group transaction.
pub(super) fn transaction(
    table: &TableName,
    transaction: Transaction,
) -> Result<Request, StoreError> {
    let Transaction { partition_key, operations } = transaction;
    if operations.is_empty() {
        return Err(invalid("The transaction holds no operation."));
    }
    if operations.len() > MAX_TRANSACTION_OPERATIONS {
        let last = MAX_TRANSACTION_OPERATIONS - 1;
        return Err(invalid(format!(
            "{last}:The batch request operation exceeds the maximum {MAX_TRANSACTION_OPERATIONS} \
             changes per change set."
        ))
        .at(last));
    }
    check_bytes(&partition_key, &operations)?;
    rules::check_key("PartitionKey", &partition_key).map_err(|error| error.at(0))?;
    let mut admitted = Vec::with_capacity(operations.len());
    let mut row_keys = HashSet::with_capacity(operations.len());
    for (index, operation) in operations.into_iter().enumerate() {
        if !row_keys.insert(operation.row_key.clone()) {
            return Err(StoreError::new(
                ErrorCode::INVALID_DUPLICATE_ROW,
                format!("The RowKey `{}` occurs twice in the transaction.", operation.row_key),
            )
            .at(index));
        }
        admitted.push(admit(&partition_key, operation).map_err(|error| error.at(index))?);
    }
    Ok(Request::Write { table: stored_name(table), operations: admitted })
}

fn admit(partition_key: &str, operation: Operation) -> Result<AdmittedOperation, StoreError> {
    let Operation { row_key, action } = operation;
    rules::check_key("RowKey", &row_key)?;
    let row = |body: Bytes| rules::normalise(&body, partition_key, &row_key);
    let action = match action {
        Action::Insert(body) => Action::Insert(row(body)?),
        Action::InsertOrReplace(body) => Action::InsertOrReplace(row(body)?),
        Action::InsertOrMerge(body) => Action::InsertOrMerge(row(body)?),
        Action::Replace(body, if_match) => Action::Replace(row(body)?, if_match),
        Action::Merge(body, if_match) => Action::Merge(row(body)?, if_match),
        Action::Delete(if_match) => Action::Delete(if_match),
    };
    Ok(AdmittedOperation { key: key_bytes::row(partition_key, &row_key), action })
}

fn check_bytes(partition_key: &str, operations: &[Operation]) -> Result<(), StoreError> {
    let body = |operation: &Operation| operation.action.body().map_or(0, Bytes::len);
    let bytes: usize = operations
        .iter()
        .map(|operation| partition_key.len() + operation.row_key.len() + body(operation))
        .sum();
    if bytes <= MAX_TRANSACTION_BYTES {
        return Ok(());
    }
    Err(StoreError::new(
        ErrorCode::REQUEST_BODY_TOO_LARGE,
        format!("The request has {bytes} bytes; it can have {MAX_TRANSACTION_BYTES}."),
    ))
}

fn stored_name(table: &TableName) -> String {
    layout::lower_case(table.as_str()).into_owned()
}

fn invalid(message: impl Into<String>) -> StoreError {
    StoreError::new(ErrorCode::INVALID_INPUT, message)
}
