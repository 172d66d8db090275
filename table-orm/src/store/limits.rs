//! The service's limits on keys and requests. Each store checks them before it does anything.

use super::{ErrorCode, Operation, StoreError};
use crate::key;
use crate::key::KeyFault;
use crate::model::{MAX_KEY_UNITS, MAX_TRANSACTION_BYTES, MAX_TRANSACTION_OPERATIONS, order};
use crate::query::Filter;
use std::collections::HashSet;

/// Checks one key.
pub(crate) fn check_key(name: &str, key: &str) -> Result<(), StoreError> {
    key::check_key(key).map_err(|fault| match fault {
        KeyFault::Forbidden(c) => StoreError::new(
            ErrorCode::OUT_OF_RANGE_INPUT,
            format!(
                "The {name} `{}` contains {c:?}, which no key may contain.",
                key.escape_debug()
            ),
        ),
        _ => StoreError::new(
            ErrorCode::KEY_VALUE_TOO_LARGE,
            format!(
                "The {name} has {} UTF-16 units; the limit is {MAX_KEY_UNITS}.",
                order::len(key)
            ),
        ),
    })
}

/// Checks that a filter compares finite numbers only: servers share no spelling of the others.
pub(crate) fn check_finite(filter: &Filter) -> Result<(), StoreError> {
    filter.not_finite().map_or(Ok(()), |(property, value)| {
        let message = format!(
            "The filter compares `{}` with {value}, which it cannot.",
            property.escape_debug()
        );
        Err(StoreError::new(ErrorCode::INVALID_INPUT, message))
    })
}

/// Checks that a transaction has 1 to [`MAX_TRANSACTION_OPERATIONS`] operations.
pub(crate) fn check_count(operations: &[Operation]) -> Result<(), StoreError> {
    if operations.is_empty() {
        let message = "The transaction has no operations.";
        return Err(StoreError::new(ErrorCode::INVALID_INPUT, message));
    }
    if operations.len() > MAX_TRANSACTION_OPERATIONS {
        let last = MAX_TRANSACTION_OPERATIONS - 1;
        let message = format!(
            "{last}:The batch request operation exceeds the maximum {MAX_TRANSACTION_OPERATIONS} \
             changes per change set."
        );
        return Err(StoreError::new(ErrorCode::INVALID_INPUT, message).at(last));
    }
    Ok(())
}

/// Checks that no two operations are on one row.
pub(crate) fn check_distinct(operations: &[Operation]) -> Result<(), StoreError> {
    // The common case: rows written in order.
    if operations.is_sorted_by(|one, next| one.row_key < next.row_key) {
        return Ok(());
    }
    let mut row_keys = HashSet::with_capacity(operations.len());
    for (index, operation) in operations.iter().enumerate() {
        if !row_keys.insert(&operation.row_key) {
            let message = format!(
                "The transaction has two operations on the RowKey `{}`.",
                operation.row_key.escape_debug()
            );
            return Err(StoreError::new(ErrorCode::INVALID_DUPLICATE_ROW, message).at(index));
        }
    }
    Ok(())
}

/// Checks the size of a request's body.
pub(crate) fn check_bytes(bytes: usize) -> Result<(), StoreError> {
    if bytes <= MAX_TRANSACTION_BYTES {
        return Ok(());
    }
    Err(StoreError::new(
        ErrorCode::REQUEST_BODY_TOO_LARGE,
        format!("The request has {bytes} bytes; the limit is {MAX_TRANSACTION_BYTES}."),
    ))
}
