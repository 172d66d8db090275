//! What a call is named in reports.

use crate::query::QueryClass;
use crate::store::StoreRequest;
use std::borrow::Cow;

/// `db.operation.name`: `BATCH insert` for several operations that are all inserts.
pub(super) fn operation(request: &StoreRequest<'_>) -> Cow<'static, str> {
    match (batch_size(request), request.common) {
        (Some(_), Some(common)) => format!("BATCH {common}").into(),
        (Some(_), None) => "BATCH".into(),
        (None, Some(alone)) => alone.into(),
        (None, None) => request.operation.into(),
    }
}

/// `db.operation.batch.size`: a batch has two operations or more.
pub(super) fn batch_size(request: &StoreRequest<'_>) -> Option<usize> {
    (request.operation == "commit" && request.entities > 1).then_some(request.entities)
}

/// `db.query.summary`: the access pattern of a read of rows, such as `list registrations.by_age`.
pub(super) fn summary(request: &StoreRequest<'_>) -> Option<String> {
    let (class, table) = (request.class?, request.table?);
    let does = match class {
        QueryClass::Point => "get",
        QueryClass::RowRange | QueryClass::Partition => "list",
        QueryClass::PartitionRange | QueryClass::TableScan => "scan",
    };
    Some(match request.mark.row {
        Some(row) => format!("{does} {table}.{row}"),
        None => format!("{does} {table}"),
    })
}
