//! Faults of single requests, chosen by a test.

use crate::layer::{LayerError, error};
use crate::store::ErrorCode;
use std::collections::BTreeMap;

/// The operations that a script can name: those of
/// [`StoreRequest::operation`](crate::store::StoreRequest::operation), and those of blobs.
const OPERATIONS: [&str; 18] = [
    "commit",
    "create_table",
    "delete",
    "delete_table",
    "get",
    "insert",
    "insert-or-merge",
    "insert-or-replace",
    "list_tables",
    "merge",
    "query",
    "replace",
    "create-blob",
    "stage-blob",
    "commit-blob",
    "read-blob",
    "delete-blob",
    "list-blobs",
];

/// What happens to one request: an argument of [`Faults::on`](super::Faults::on).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// Fails with this code and its status. The request has no effect. A code without a known status
    /// has 500; in a transaction, the first operation fails.
    Rejected(ErrorCode),
    /// Fails with 500 although the request took effect.
    ErrorAfter,
    /// No answer comes, and the request has no effect.
    LostRequest,
    /// No answer comes, and the request took effect.
    LostReply,
    /// No answer comes, and a write takes effect later, within the time of
    /// [`latest`](super::Faults::latest).
    Late,
}

/// The faults of single requests: operation, number from 1, fault.
pub(super) type Script = Vec<(&'static str, u64, Fault)>;

pub(super) fn check(script: &Script) -> Result<(), LayerError> {
    script.iter().try_for_each(|&(operation, number, _)| {
        if !OPERATIONS.contains(&operation) {
            return Err(LayerError::FaultOperation(operation));
        }
        let given = usize::try_from(number).unwrap_or(usize::MAX);
        error::number("the number of the request with a fault", given, usize::MAX)
    })
}

/// How many requests of each operation there were.
#[derive(Debug, Default)]
pub(super) struct RequestCounts(BTreeMap<&'static str, u64>);

impl RequestCounts {
    /// Counts a request. Returns the fault that a script has for it.
    pub(super) fn next(&mut self, operation: &'static str, script: &Script) -> Option<Fault> {
        let count = self.0.entry(operation).or_default();
        *count += 1;
        let (_, _, fault) =
            script.iter().find(|(name, number, _)| *name == operation && number == count)?;
        Some(fault.clone())
    }
}
