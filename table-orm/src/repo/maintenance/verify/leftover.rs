//! Findings about tickets that nobody used.

use super::finding::{Finding, Problem, RowLocation};
use crate::entity::{copies_partition, read_row};
use crate::error::Result;
use crate::eventual::{LeftTicket, SETTLE_GRACE};
use crate::model::{Metadata, TableName};
use crate::plan::TableClient;
use crate::query::{KeyRange, RowQuery, Span};
use crate::repo::maintenance::MaintainedType;

/// The queries for the tickets of copies of totals in these partitions of the client's table. The partition of an
/// entity has none.
pub(super) fn queries(
    of: &'static MaintainedType,
    client: &TableClient,
    partitions: &Span,
) -> Vec<RowQuery> {
    let mut queries = Vec::new();
    for sum in (of.copied_sums)() {
        let partition = copies_partition(sum);
        if partitions.contains(&partition) {
            let keys = KeyRange { partition: Span::Exact(partition), row: LeftTicket::rows() };
            queries.push(RowQuery { metadata: Metadata::Minimal, ..client.query(keys) });
        }
    }
    queries
}

/// The finding about a row of `table` that is a ticket of an entity of the type. A young one makes none: it may
/// be in use.
pub(super) fn finding(
    of: &'static MaintainedType,
    client: &TableClient,
    table: &TableName,
    stored: &[u8],
) -> Result<Option<Finding>> {
    let ticket = LeftTicket::read(read_row(0, stored)?, &client.table, of.settled);
    let Some(ticket) = ticket else { return Ok(None) };
    let age = client.age(ticket.written);
    Ok((age >= SETTLE_GRACE).then(|| Finding {
        entity: of.name.to_owned(),
        row: "ticket".to_owned(),
        partition_key: ticket.partition_key,
        row_key: ticket.row_key,
        location: Some(RowLocation::new(table.as_str(), ticket.home.partition_key)),
        canonical: Some(ticket.home.row_key),
        etag: Some(ticket.etag.as_str().to_owned()),
        problem: Problem::Leftover { seconds: age.as_secs() },
    }))
}
