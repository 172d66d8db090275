//! Ends a ticket whose transaction did not take the values: replaces it by an intent.
//!
//! Invariant: one transaction deletes the ticket and inserts an intent that lists its values. So at each instant
//! a guard that was made with the ticket is named by a row of the entity's partition, whoever ends the ticket, and
//! whoever ends in between: one ticket may have guards of several values, and who ends it may know of one.
//!
//! The intent has the name of the ticket after its own start, so the reserver finds it, whoever inserted it. A late
//! request can insert a ticket again that was already ended. If the intent of the first time is still there, the
//! one of the second time has a new name.

use super::guard::{Guard, Guards};
use crate::entity::{DynamicEntity, read_row};
use crate::error::{Error, Result};
use crate::eventual::{intent, new_row_name};
use crate::model::{ETag, Metadata};
use crate::plan::{CanonicalKey, TableClient};
use crate::query::RowQuery;
use crate::store::{Action, Batch, IfMatch, Operation};

/// What the RowKey of the ticket of a reservation begins with.
pub(crate) const TICKET: &str = crate::eventual::ticket::START;

/// The RowKey of the intent in the place of a ticket.
pub(crate) fn in_place_of(ticket: &str) -> String {
    format!("{}{}", intent::START, ticket.trim_start_matches(TICKET))
}

/// Puts an intent in the place of a ticket, which has all of the row but its RowKey. Returns its RowKey and its
/// version; `None` where the ticket is gone.
pub(crate) async fn hand_over(
    client: &TableClient,
    (ticket, version): (&str, IfMatch),
    row: DynamicEntity,
) -> Result<Option<(String, ETag)>> {
    let delete = Operation { row_key: ticket.to_owned(), action: Action::Delete(version) };
    let send = async |row: DynamicEntity| {
        let key =
            CanonicalKey { partition_key: row.partition_key.clone(), row_key: row.row_key.clone() };
        let (partition_key, row_key) = (row.partition_key.clone(), row.row_key.clone());
        let intent = Operation { row_key, action: Action::Insert(row.body()?) };
        let etags =
            client.send(Batch { partition_key, operations: vec![delete.clone(), intent] }).await?;
        let version = client.version(&key, etags.into_iter().last().flatten())?;
        Ok((key.row_key, version))
    };
    let mut sent = send(DynamicEntity { row_key: in_place_of(ticket), ..row.clone() }).await;
    if let Err(Error::AlreadyExists(_)) = sent {
        let row_key = new_row_name(intent::START, &client.connection);
        sent = send(DynamicEntity { row_key, ..row }).await;
    }
    match sent {
        Ok(intent) => Ok(Some(intent)),
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
        let annotated = |point| RowQuery { metadata: Metadata::Minimal, ..point };
        let Some(row) = self.ticket(guard, annotated).await? else { return Ok(()) };
        let version = IfMatch::ETag(row.etag()?);
        // As it is: it may be that of another version of the app.
        let ticket_row: DynamicEntity = read_row(0, &row.body)?;
        hand_over(&client, (ticket, version), ticket_row).await.map(drop)
    }
}
