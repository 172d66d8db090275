//! Tickets that nobody used.
//!
//! Invariant: a ticket is deleted only in a version that was a day old when it was read. A younger one may be in
//! use, and its holder would have to start again.

use super::report::SkipReason;
use super::verdict::{RepairOutcome, Verdict};
use crate::entity::read_row;
use crate::error::{Error, Result};
use crate::eventual::LeftTicket;
use crate::plan::TableClient;
use crate::repo::maintenance::MaintainedType;
use crate::repo::maintenance::verify::Finding;
use crate::store::{Action, Batch, IfMatch, Operation};
use std::time::Duration;

/// The age from which a ticket is deleted.
const OLD: Duration = Duration::from_secs(24 * 60 * 60);

/// Deletes the ticket that a finding is about.
pub(super) async fn delete(
    of: &'static MaintainedType,
    client: &TableClient,
    finding: Finding,
) -> RepairOutcome {
    let deleted = match decide(of, client, &finding).await {
        Ok(Ok((place, batch))) => match place.send(batch).await {
            Ok(_) => Ok(Verdict::Repair),
            Err(Error::NotFound(_)) => Ok(Verdict::Skip(SkipReason::NoLongerHolds)),
            Err(Error::Conflict(_)) => Ok(Verdict::Skip(SkipReason::Changed)),
            Err(error) => Err(error),
        },
        Ok(Err(reason)) => Ok(Verdict::Skip(reason)),
        Err(error) => Err(error),
    };
    match deleted {
        Ok(verdict) => RepairOutcome::of(vec![finding], [verdict], None),
        Err(error) => RepairOutcome::failed(vec![finding], error),
    }
}

/// Reads the ticket. Returns its delete, and the table of it, or the reason to leave it.
pub(super) async fn decide(
    of: &'static MaintainedType,
    client: &TableClient,
    finding: &Finding,
) -> Result<Result<(TableClient, Batch), SkipReason>> {
    let said = finding.location.as_ref().map_or("", |location| &location.table);
    let rows = of.eventual.iter().map(|row| row.table_of(&client.table));
    // The copies of totals are in the entity's table.
    let mut tables = rows.chain((!(of.copied_sums)().is_empty()).then(|| client.table.clone()));
    // The names of tables have no case.
    let table = tables.find(|table| table.as_str().eq_ignore_ascii_case(said));
    let Some(table) = table.filter(|_| LeftTicket::has_key(&finding.row_key)) else {
        return Ok(Err(SkipReason::NotOurs));
    };
    let place = client.in_other_table(&table);
    let Some(row) = place.annotated_row(&finding.partition_key, &finding.row_key).await? else {
        return Ok(Err(SkipReason::NoLongerHolds));
    };
    let row = read_row(0, &row.body)?;
    let Some(ticket) = LeftTicket::read(row, &client.table, of.settled) else {
        return Ok(Err(SkipReason::NotOurs));
    };
    if place.age(ticket.written) < OLD {
        return Ok(Err(SkipReason::Young));
    }
    let LeftTicket { partition_key, row_key, etag, .. } = ticket;
    let action = Action::Delete(IfMatch::ETag(etag));
    let operations = vec![Operation { row_key, action }];
    Ok(Ok((place, Batch { partition_key, operations })))
}
