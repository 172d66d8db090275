//! The checks of a write that need no database, on the caller's task.
//!
//! Invariant: a [`Change`] of these functions keeps every rule that does not depend on stored rows.

use super::apply::{AdmittedOperation, Change};
use super::known_rows::KnownRows;
use super::{key_bytes, layout, rules};
use crate::model::{PARTITION_KEY, ROW_KEY, TableName};
use crate::store::{Action, Batch, Operation, StoreError, limits};
use bytes::Bytes;

/// Checks one write.
pub(crate) fn write(
    table: &TableName,
    partition_key: &str,
    operation: Operation,
) -> Result<Change, StoreError> {
    check_bytes(partition_key, std::slice::from_ref(&operation))?;
    limits::check_key(PARTITION_KEY, partition_key)?;
    let operation = admit(partition_key, operation, &mut KnownRows::of(1))?;
    Ok(Change::Write { table: stored_name(table), operations: vec![operation] })
}

/// Checks an entity group transaction.
pub(crate) fn transaction(table: &TableName, transaction: Batch) -> Result<Change, StoreError> {
    let Batch { partition_key, operations } = transaction;
    limits::check_count(&operations)?;
    check_bytes(&partition_key, &operations)?;
    limits::check_key(PARTITION_KEY, &partition_key).map_err(|error| error.at(0))?;
    limits::check_distinct(&operations)?;
    let mut admitted = Vec::with_capacity(operations.len());
    let mut known = KnownRows::of(operations.len());
    for (index, operation) in operations.into_iter().enumerate() {
        let operation = admit(&partition_key, operation, &mut known);
        admitted.push(operation.map_err(|error| error.at(index))?);
    }
    Ok(Change::Write { table: stored_name(table), operations: admitted })
}

fn admit(
    partition_key: &str,
    operation: Operation,
    known: &mut KnownRows,
) -> Result<AdmittedOperation, StoreError> {
    let Operation { row_key, action } = operation;
    limits::check_key(ROW_KEY, &row_key)?;
    let mut row = |body: Bytes| rules::normalise(&body, partition_key, &row_key, known);
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
    limits::check_bytes(bytes(partition_key, operations))
}

/// The bytes that these operations count as.
pub(crate) fn bytes(partition_key: &str, operations: &[Operation]) -> usize {
    let body = |operation: &Operation| operation.action.body().map_or(0, Bytes::len);
    operations
        .iter()
        .map(|operation| partition_key.len() + operation.row_key.len() + body(operation))
        .sum()
}

fn stored_name(table: &TableName) -> String {
    layout::lower_case(table.as_str()).into_owned()
}
