//! Brings the foreign rows that an intent lists in step with their entities, and releases the values that it
//! lists.
//!
//! The order is what makes it safe:
//! 1. make or share the tickets of all partitions;
//! 2. after all of them are answered, read the canonical rows;
//! 3. in each partition, one transaction that deletes the ticket in its version and writes every listed
//!    key, even one that looks right: leaving it alone would leave an older settler's ticket valid;
//! 4. delete the intent in its version.
//!
//! A partition whose ticket is gone starts again at 1. Partitions that gain a row come before those that
//! only lose one: a reader sees a moving entity rather twice than not at all.

use super::error::SettleError;
use super::foreign_rows::ForeignRows;
use super::foreign_type::ForeignType;
use super::intent::{DueEntry, Pending};
use super::share::{Again, MAX_ROWS, Ready, Share, Step, at_once, groups, individually, shares};
use super::ticket::Ticket;
use super::unique::Guards;
use crate::error::{Error, Result};
use crate::plan::{CanonicalKey, TableClient};
use crate::query::RowQuery;
use crate::store::{Action, Batch, IfMatch, Operation};
use crate::sync::Backoff;
use std::time::Duration;

/// How often partitions start again before the intent is left to a later settler.
const MAX_ROUNDS: u32 = 8;
/// The waits between rounds.
const FIRST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// Settles an intent that stands in `home`.
///
/// # Errors
/// The intent stays, and settling it again is safe.
pub(crate) async fn settle(
    home: &TableClient,
    kind: ForeignType,
    pending: &Pending,
) -> Result<(), SettleError> {
    let Pending { intent, etag, .. } = pending;
    let settler = Settler { home, kind, partition_key: &intent.partition_key };
    settler.write_entities(&intent.due).await?;
    let guards = Guards { home: home.clone(), kind };
    for (row_key, value) in intent.values() {
        guards.release(value, &guards.entity(&intent.partition_key, row_key)).await?;
    }
    let action = Action::Delete(IfMatch::ETag(etag.clone()));
    let operations = vec![Operation { row_key: intent.row_key.clone(), action }];
    let clear = Batch { partition_key: intent.partition_key.clone(), operations };
    match home.send(clear).await {
        // Another settler was faster.
        Ok(_) | Err(Error::NotFound(_) | Error::Conflict(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

pub(super) struct Settler<'c> {
    pub home: &'c TableClient,
    pub kind: ForeignType,
    /// The partition of the entities.
    pub partition_key: &'c str,
}

impl Settler<'_> {
    /// Writes the rows of all entities. An entity whose rows cannot be written holds up no other.
    async fn write_entities(&self, due: &[DueEntry]) -> Result<(), SettleError> {
        let Err(error) = self.write_rows(shares(due)).await else { return Ok(()) };
        if !error.is_transient() && due.len() > 1 {
            for entry in due.chunks(1) {
                // The error of one of them is known.
                let _written = self.write_rows(shares(entry)).await;
            }
        }
        Err(error)
    }

    /// Writes all rows, in rounds.
    pub async fn write_rows(&self, mut open: Vec<Share>) -> Result<(), SettleError> {
        let connection = &self.home.connection;
        let mut backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        while !open.is_empty() {
            // After a first failure, each entity is on its own: those together would disturb more others.
            let together = backoff.waits() == 0;
            if let Err(again) = self.round(&mut open, together).await? {
                let rounds = backoff.waits() + 1;
                if rounds == MAX_ROUNDS {
                    return Err(match again {
                        Again::Overtaken => SettleError::Contended { rounds },
                        Again::Unanswered(error) => error.into(),
                    });
                }
                connection.timer.sleep(backoff.next(&connection.random)).await;
            }
            open.retain(|share| !share.row_keys.is_empty());
        }
        Ok(())
    }

    /// One round over the open shares. Removes what it wrote from them. Returns why some of them start again.
    async fn round(&self, open: &mut [Share], together: bool) -> Step<()> {
        let mut again = Ok(());
        let tickets = self.tickets(open, together).await?;
        let mut ready = Vec::with_capacity(open.len());
        for (share, ticket) in open.iter_mut().zip(tickets) {
            match ticket {
                Ok(ticket) => ready.push((share, ticket)),
                Err(reason) => again = Err(reason),
            }
        }
        // Now that all tickets are answered, and not before.
        let canonical = ready.iter().map(|(share, _)| &*share.canonical).collect();
        let rows = match self.entities(&canonical).await? {
            Ok(rows) => rows,
            Err(reason) => return Ok(Err(reason)),
        };
        let none = ForeignRows::default();
        let wanted = |share: &Share| rows.get(&share.canonical).unwrap_or(&none);
        let (gaining, losing): (Vec<_>, Vec<_>) =
            ready.into_iter().partition(|(share, _)| share.gains(wanted(share)));
        for shares in [gaining, losing] {
            let ready: Vec<_> = shares
                .into_iter()
                .map(|(share, ticket)| {
                    let wanted = wanted(share);
                    Ready { share, ticket, wanted }
                })
                .collect();
            let groups = if together { groups(ready) } else { individually(ready) };
            let writes = groups.into_iter().map(|group| self.write_group(group));
            for written in at_once(writes).await? {
                if let Err(reason) = written {
                    again = Err(reason);
                }
            }
            if again.is_err() {
                break;
            }
        }
        Ok(again)
    }

    pub(super) fn entity(&self, row_key: &str) -> CanonicalKey {
        let (partition_key, row_key) = (self.partition_key.to_owned(), row_key.to_owned());
        CanonicalKey { partition_key, row_key }
    }

    pub(super) async fn ticket(&self, share: &Share) -> Step<Ticket> {
        let (client, entity) = (self.home.elsewhere(&share.table), self.entity(&share.canonical));
        match Ticket::obtain(&client, &share.partition_key, self.home, &entity).await {
            Ok(ticket) => Ok(ticket.ok_or(Again::Overtaken)),
            Err(error) => Again::after(error).map(Err),
        }
    }

    /// Reads a canonical row. Returns the foreign rows that it tells of.
    pub(super) async fn wanted(&self, row_key: &str) -> Step<ForeignRows> {
        let point = self.home.point(&self.entity(row_key));
        let query = RowQuery { metadata: self.kind.metadata, ..point };
        match self.home.row(&query).await {
            Ok(Some(row)) => (self.kind.rows)(&self.home.table, row).map(Ok),
            Ok(None) => Ok(Ok(ForeignRows::default())),
            Err(error) => Again::after(error).map(Err),
        }
    }

    /// Writes the rows of a share, as many as one transaction takes.
    pub(super) async fn write(&self, ready: Ready<'_>) -> Step<()> {
        let Ready { share, ticket, wanted } = ready;
        let client = self.home.elsewhere(&share.table);
        let mut count = share.row_keys.len().min(MAX_ROWS);
        loop {
            let mut operations = vec![ticket.consume()];
            operations.extend(share.operations(wanted, count));
            let batch = Batch { partition_key: share.partition_key.clone(), operations };
            match client.send_changes(batch, None).await {
                Ok(_) => {
                    share.row_keys.drain(..count);
                    return Ok(Ok(()));
                }
                Err(Error::NotFound(_) | Error::Conflict(_)) => return Ok(Err(Again::Overtaken)),
                Err(Error::TooLarge(_)) if count > 1 => count = count.div_ceil(2),
                Err(error) => return Again::after(error).map(Err),
            }
        }
    }
}
