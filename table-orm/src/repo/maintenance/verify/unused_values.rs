//! Findings about large values that no entity refers to.

use super::finding::{Finding, Problem};
use crate::entity::{ReadRow as _, RowHead};
use crate::error::Result;
use crate::plan::TableClient;
use crate::property::{LARGE_START, chunk_of};
use crate::query::{KeyRange, RowQuery, Span};
use crate::repo::large::{Unused, judge};
use crate::repo::maintenance::MaintainedType;

/// The query for the keys of large values in the partitions of another query; `None` for a type without any.
pub(super) fn query(of: &'static MaintainedType, other: &RowQuery) -> Option<RowQuery> {
    let keys = KeyRange { row: Span::prefix(LARGE_START), ..other.keys.clone() };
    let values = RowQuery { keys, select: RowHead::select(), ..other.clone() };
    of.large.map(|_| values)
}

/// Whether the row is the first one of another value than the row before it.
pub(super) fn is_next(row: &RowHead, before: &RowHead) -> bool {
    let id = |row: &'_ RowHead| chunk_of(&row.row_key).map(|(id, _)| id.to_owned());
    row.partition_key != before.partition_key || id(row) != id(before)
}

/// The finding about the value that has that row. A young one makes none: its upload may be in progress.
pub(super) async fn finding(
    of: &'static MaintainedType,
    client: &TableClient,
    RowHead { partition_key, row_key }: RowHead,
) -> Result<Option<Finding>> {
    let Some((id, _)) = chunk_of(&row_key) else { return Ok(None) };
    let Unused::Yes(etag, age) = judge(of.large, client, &partition_key, id).await? else {
        return Ok(None);
    };
    Ok(Some(Finding {
        entity: of.name.to_owned(),
        row: "large value".to_owned(),
        partition_key,
        row_key,
        location: None,
        canonical: None,
        etag: etag.map(|etag| etag.as_str().to_owned()),
        problem: Problem::UnusedValue { seconds: age.as_secs() },
    }))
}
