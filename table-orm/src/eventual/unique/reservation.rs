//! The values of one transaction, from the ticket to the transaction that consumes it.

use super::guard::Guards;
use super::hand_over::{TICKET, hand_over, in_place_of};
use crate::error::{Error, Result};
use crate::eventual::due_entry::DueEntry;
use crate::eventual::intent::Intent;
use crate::model::ETag;
use crate::plan::CanonicalKey;
use crate::store::{Action, Batch, IfMatch, Operation};

/// How many names a ticket is given, when the insert under one is not answered.
const NAMES: usize = 4;
/// How often the end of a ticket is sent.
const ENDS: usize = 3;

/// Values that are reserved until a transaction takes them, or gives them up.
#[derive(Debug)]
pub(crate) struct Reservation {
    guards: Guards,
    ticket: Intent,
    etag: ETag,
    /// The names that the ticket was given.
    names: usize,
    /// Whether a guard of it may be written later, by a request that was not answered.
    in_doubt: bool,
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
        let mut reservation = Self { guards, ticket, etag, names, in_doubt: false };
        let wanted = reservation.ticket.clone();
        for (index, (row_key, value)) in wanted.values().enumerate() {
            let Self { guards, ticket, .. } = &reservation;
            let (entity, mut in_doubt) = (guards.entity(partition_key, row_key), false);
            let reserved = guards.reserve(value, &entity, &ticket.row_key, &mut in_doubt).await;
            reservation.in_doubt |= in_doubt;
            if let Err(error) = reserved {
                // A value that an entity has is not reserved.
                let is_taken = match &error {
                    Error::UniqueViolation { .. } => !in_doubt,
                    Error::Conflict(rejection) => rejection.row_key == *row_key && !in_doubt,
                    _ => false,
                };
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
        let due = &self.ticket.due;
        let Some((intent, version)) = self.end(due.clone()).await? else { return Ok(()) };
        for DueEntry { canonical, values, .. } in due {
            // Who gave one up meanwhile has found the ticket, and left the guard to this.
            let entity = self.guards.entity(&intent.partition_key, canonical);
            let stored = self.guards.values(&entity).await?;
            for value in values.iter().filter(|value| !stored.contains(value)) {
                self.guards.release(value, &entity).await?;
            }
        }
        if self.in_doubt { Ok(()) } else { self.clear(&intent, version).await }
    }

    /// Gives the values up. What cannot be done is left to a sweep.
    pub async fn give_up(&self) {
        self.give_up_first(usize::MAX).await;
    }

    /// Gives up that many values.
    async fn give_up_first(&self, count: usize) {
        let due = DueEntry::first_values(&self.ticket.due, count);
        // The ticket first: as long as it is there, the transaction may still take effect.
        let Ok(intent) = self.end(due).await else { return };
        let mut is_released = true;
        for (row_key, value) in self.ticket.values().take(count) {
            let entity = self.guards.entity(&self.ticket.partition_key, row_key);
            is_released &= self.guards.release(value, &entity).await.is_ok();
        }
        // A guard that may be written later is found by the intent.
        if let Some((intent, version)) = intent
            && is_released
            && !self.in_doubt
        {
            let _cleared = self.clear(&intent, version).await;
        }
    }

    /// Ends the ticket. Returns the intent that is in its place, whoever put it there; `None` where there is none.
    async fn end(&self, due: Vec<DueEntry>) -> Result<Option<(Intent, ETag)>> {
        let Self { guards: Guards { home, kind }, ticket, .. } = self;
        let Intent { partition_key, row_key, .. } = ticket;
        let is_empty = due.is_empty();
        let (partition_key, row_key) = (partition_key.clone(), row_key.clone());
        let intent = Intent { row_key: in_place_of(&row_key), partition_key, due };
        let mut sent = 0;
        loop {
            sent += 1;
            let ended = if is_empty {
                let action = Action::Delete(IfMatch::Any);
                self.send(Operation { row_key: row_key.clone(), action }).await.map(|()| None)
            } else {
                let row = intent.row(home, *kind)?;
                match hand_over(home, (&row_key, IfMatch::Any), row).await {
                    Ok(None) => {
                        let version = self.version_of(&intent).await;
                        version.map(|version| Some((intent.row_key.clone(), version?)))
                    }
                    handed_over => handed_over,
                }
            };
            match ended {
                Err(error) if error.is_unanswered() && sent < ENDS => {}
                Err(error) => return Err(error),
                Ok(ended) => {
                    return Ok(
                        ended.map(|(row_key, version)| (Intent { row_key, ..intent }, version))
                    );
                }
            }
        }
    }

    /// The version of an intent that is there.
    async fn version_of(&self, intent: &Intent) -> Result<Option<ETag>> {
        let home = &self.guards.home;
        let row = home.annotated_row(&intent.partition_key, &intent.row_key).await?;
        Ok(row.map(|row| row.etag()).transpose()?)
    }

    /// Deletes an intent in its version.
    async fn clear(&self, intent: &Intent, version: ETag) -> Result<()> {
        let action = Action::Delete(IfMatch::ETag(version));
        self.send(Operation { row_key: intent.row_key.clone(), action }).await
    }

    /// Sends the delete of a row beside the entities. It may be gone.
    async fn send(&self, operation: Operation) -> Result<()> {
        let partition_key = self.ticket.partition_key.clone();
        let batch = Batch { partition_key, operations: vec![operation] };
        match self.guards.home.send(batch).await {
            Ok(_) | Err(Error::NotFound(_) | Error::Conflict(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
