//! The values of one transaction, from the ticket to the transaction that consumes it.

use super::guard::Guards;
use crate::error::{Error, Result};
use crate::eventual::intent::{DueEntry, Intent};
use crate::model::ETag;
use crate::plan::CanonicalKey;
use crate::store::{Action, Batch, IfMatch, Operation};

/// What the RowKey of the ticket of a reservation begins with.
pub(crate) const TICKET: &str = crate::eventual::ticket::START;
/// How many names a ticket is given, when the insert under one is not answered.
const NAMES: usize = 4;
/// How often the delete of a ticket is sent.
const DELETES: usize = 3;

/// Values that are reserved until a transaction takes them, or gives them up.
#[derive(Debug)]
pub(crate) struct Reservation {
    guards: Guards,
    ticket: Intent,
    etag: ETag,
    /// The names that the ticket was given.
    names: usize,
}

impl Reservation {
    /// Reserves values for entities of one partition.
    ///
    /// # Errors
    /// Nothing is reserved, with the RowKey of the entity that does not get its value.
    pub async fn make(
        guards: Guards,
        partition_key: &str,
        values: &[DueEntry],
    ) -> Result<Self, (Error, Option<String>)> {
        let (ticket, etag, names) =
            Self::insert(&guards, partition_key, values).await.map_err(|error| (error, None))?;
        let reservation = Self { guards, ticket, etag, names };
        let Self { guards, ticket, .. } = &reservation;
        for (index, (row_key, value)) in ticket.values().enumerate() {
            let entity = guards.entity(partition_key, row_key);
            if let Err(error) = guards.reserve(value, &entity, &ticket.row_key).await {
                // A value that another entity has is not reserved.
                let is_taken = matches!(error, Error::UniqueViolation { .. });
                reservation.give_up_first(index + usize::from(!is_taken)).await;
                return Err((error, Some(row_key.to_owned())));
            }
        }
        Ok(reservation)
    }

    /// Inserts a ticket. Each name is sent once: an insert that is not answered may take effect later.
    async fn insert(
        guards: &Guards,
        partition_key: &str,
        values: &[DueEntry],
    ) -> Result<(Intent, ETag, usize)> {
        let client = &guards.home;
        let mut names = 0;
        loop {
            names += 1;
            let ticket = Intent::named(TICKET, &client.connection, partition_key, values.to_vec());
            let operations = vec![ticket.insert(client, guards.kind)?];
            let batch = Batch { partition_key: partition_key.to_owned(), operations };
            match client.send(batch).await {
                Ok(etags) => {
                    let (partition_key, row_key) =
                        (partition_key.to_owned(), ticket.row_key.clone());
                    let key = CanonicalKey { partition_key, row_key };
                    let etag = client.version(&key, etags.into_iter().next().flatten())?;
                    return Ok((ticket, etag, names));
                }
                Err(error) if error.is_unanswered() && names < NAMES => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The delete of the ticket in its version: the operation of the transaction that takes the values.
    pub fn consume(&self) -> Operation {
        let action = Action::Delete(IfMatch::ETag(self.etag.clone()));
        Operation { row_key: self.ticket.row_key.clone(), action }
    }

    /// Whether no other ticket may take effect later.
    pub const fn is_clean(&self) -> bool {
        self.names == 1
    }

    /// Whether a transaction failed because another reserver deleted the ticket.
    pub fn is_lost(&self, error: &Error) -> bool {
        match error {
            Error::NotFound(rejection) | Error::Conflict(rejection) => {
                rejection.row_key == self.ticket.row_key
            }
            _ => false,
        }
    }

    /// Ends the reservation of values that the entities have already.
    pub async fn keep(self) -> Result<()> {
        let entity = self.guards.entity(&self.ticket.partition_key, "");
        self.guards.delete_ticket(&entity, &self.ticket.row_key).await
    }

    /// Gives the values up. What cannot be done is left: the ticket to a sweep, and without it a guard that
    /// keeps nobody away.
    pub async fn give_up(&self) {
        self.give_up_first(usize::MAX).await;
    }

    /// Gives up that many values.
    async fn give_up_first(&self, count: usize) {
        let Self { guards, ticket, .. } = self;
        let partition_key = &ticket.partition_key;
        let entity = |row_key: &str| guards.entity(partition_key, row_key);
        let mut sent = 0;
        // The ticket first: as long as it is there, the transaction may still take effect.
        while let Err(error) = guards.delete_ticket(&entity(""), &ticket.row_key).await {
            sent += 1;
            if !error.is_unanswered() || sent == DELETES {
                return;
            }
        }
        for (row_key, value) in ticket.values().take(count) {
            // A guard that stays keeps nobody away.
            let _released = guards.release(value, &entity(row_key)).await;
        }
    }
}
