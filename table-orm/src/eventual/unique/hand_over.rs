//! The end of a ticket whose transaction did not take the values: an intent comes in its place.
//!
//! Invariant: one transaction deletes the ticket and inserts an intent that lists its values. So at each instant
//! a guard that was made with the ticket is named by a row of the entity's partition, whoever ends the ticket, and
//! whoever ends in between: one ticket may have guards of several values, and who ends it may know of one.
//!
//! The intent has the name of the ticket behind its own start, so the reserver finds it, whoever put it there. The
//! name is as new as any other: a ticket goes once.

use super::guard::{Guard, Guards};
use crate::entity::{DynamicEntity, read_row};
use crate::error::{Error, Result};
use crate::eventual::intent;
use crate::model::ETag;
use crate::plan::{CanonicalKey, TableClient};
use crate::store::{Action, Batch, IfMatch, Operation};

/// What the RowKey of the ticket of a reservation begins with.
pub(crate) const TICKET: &str = crate::eventual::ticket::START;

/// The RowKey of the intent in the place of a ticket.
pub(crate) fn in_place_of(ticket: &str) -> String {
    format!("{}{}", intent::START, ticket.trim_start_matches(TICKET))
}

/// Puts an intent in the place of a ticket. Returns its version; `None` where the ticket is gone.
pub(crate) async fn hand_over(
    client: &TableClient,
    partition_key: &str,
    (ticket, version): (&str, IfMatch),
    intent: Operation,
) -> Result<Option<ETag>> {
    let partition_key = partition_key.to_owned();
    let key =
        CanonicalKey { partition_key: partition_key.clone(), row_key: intent.row_key.clone() };
    let delete = Operation { row_key: ticket.to_owned(), action: Action::Delete(version) };
    match client.send(Batch { partition_key, operations: vec![delete, intent] }).await {
        Ok(etags) => client.version(&key, etags.into_iter().last().flatten()).map(Some),
        Err(Error::NotFound(_) | Error::Conflict(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Guards {
    /// Ends the ticket that a guard was made with: its transaction cannot take effect any more. The intent is
    /// left to a sweep of that partition.
    pub async fn end_ticket(&self, guard: &Guard) -> Result<()> {
        let Guard { home, ticket, .. } = guard;
        let client = self.home.in_table(&home.table);
        let partition_key = &home.key.partition_key;
        // A name is used once, so a ticket that is gone stays gone.
        let Some(row) = client.annotated_row(partition_key, ticket).await? else { return Ok(()) };
        let version = IfMatch::ETag(row.etag()?);
        // As it is: it may be that of another version of the app.
        let ticket_row: DynamicEntity = read_row(0, &row.body)?;
        let row_key = in_place_of(ticket);
        let body = DynamicEntity { row_key: row_key.clone(), ..ticket_row }.body()?;
        let intent = Operation { row_key, action: Action::Insert(body) };
        hand_over(&client, partition_key, (ticket, version), intent).await.map(drop)
    }
}
