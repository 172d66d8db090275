//! Brings the `eventual` rows that an intent lists in step with their entities, and releases the values that it
//! lists.
//!
//! The order is what makes it safe:
//! 1. make or share the tickets of all partitions;
//! 2. after all of them are answered, read the canonical rows;
//! 3. in each partition, one transaction that deletes the ticket in its version and writes every listed
//!    key, even one that looks right: leaving it alone would leave an older settler's ticket valid;
//! 4. delete the intent in its version.
//!
//! Tickets may also be made before the entity is written (`prepared`): then its transaction is the reading.
//!
//! Of many entities, the tickets of one partition share transactions (`group`); so do the rows, the canonical rows
//! share queries, and the intents that are settled together one transaction. The order stays the same.
//!
//! A partition whose ticket is gone starts again at 1. Partitions that gain a row come before those that only lose
//! one, which wait for all of the gained rows. So a reader may see a moving entity twice, but never misses it.
//!
//! If a partition rejects a request, this delays only what is still open of the same entity and table.

use super::eventual_rows::EventualRows;
use super::eventual_type::EventualType;
use super::intent::Intent;
use super::pending::Pending;
use super::ticket::Ticket;
use super::ticket_rows::{Ready, Share, Stop, at_once, groups, individually, shares};
use super::tickets_first::Prepared;
use super::unique::Guards;
use crate::error::{Error, Result, SettleError};
use crate::plan::{CanonicalKey, TableClient};
use crate::query::RowQuery;
use crate::store::{Action, Batch, ErrorCode, IfMatch, Operation, StoredRow};
use crate::sync::Backoff;
use std::collections::{BTreeMap, BTreeSet};
use std::slice;
use std::time::Duration;

/// How often partitions start again before the intent is left to a later settler.
const MAX_ROUNDS: u32 = 8;
/// The waits between rounds.
const FIRST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// Settles an intent that stands in `home`. An entity whose rows cannot be written holds up no other.
///
/// # Errors
/// The intent stays, and settling it again is safe.
pub(crate) async fn settle(
    home: &TableClient,
    kind: EventualType,
    pending: &Pending,
) -> Result<(), SettleError> {
    let settled = settle_together(home, kind, slice::from_ref(pending)).await;
    let Pending { intent, .. } = pending;
    // A canonical row that cannot be read ends the rounds of all.
    if matches!(&settled, Err(SettleError::Store(error)) if !error.is_unanswered())
        && intent.due.len() > 1
    {
        let settler = Settler { home, kind, partition_key: &intent.partition_key };
        for entry in &intent.due {
            // The error of one of them is known.
            let _written = settler.write_rows(shares([entry]), None).await;
        }
    }
    settled
}

/// Settles intents of one partition with the requests of one.
///
/// # Errors
/// The intents stay, and settling them again is safe, together or each by itself.
pub(crate) async fn settle_together(
    home: &TableClient,
    kind: EventualType,
    pending: &[Pending],
) -> Result<(), SettleError> {
    let Some(Pending { intent: Intent { partition_key, .. }, .. }) = pending.first() else {
        return Ok(());
    };
    let settler = Settler { home, kind, partition_key };
    let prepared = if let [one] = pending { one.prepared.as_deref() } else { None };
    let due = pending.iter().flat_map(|one| &one.intent.due);
    let written = settler.write_rows(shares(due), prepared).await;
    let guards = Guards { home: home.clone(), kind };
    let values = pending.iter().flat_map(|one| one.intent.values());
    let release = values.map(|(row_key, value)| {
        let entity = guards.entity(partition_key, row_key);
        let guards = &guards;
        async move { guards.release(value, &entity).await }
    });
    let released: Result<()> = at_once(release).await.into_iter().collect();
    written?;
    released?;
    Ok(settler.clear(pending).await?)
}

pub(super) struct Settler<'c> {
    pub home: &'c TableClient,
    pub kind: EventualType,
    /// The partition of the entities.
    pub partition_key: &'c str,
}

impl Settler<'_> {
    /// The most rows of one transaction, beside the ticket.
    pub(super) fn most_rows(&self) -> usize {
        self.home.store().transaction_operations() - 1
    }

    /// Makes the tickets of an intent that is to be inserted, or shares those that are there. `rows` are those of
    /// its entities as they will be. `None` where a ticket cannot be had: those that it made are given up, and settling
    /// will make them.
    pub async fn prepare(
        &self,
        intent: &Intent,
        rows: &BTreeMap<String, EventualRows>,
    ) -> Option<Prepared> {
        let shares = shares(&intent.due);
        let tickets = self.tickets(&shares, false).await;
        let count = shares.len();
        let place = |(share, ticket): (Share, Result<_, _>)| {
            Some((share.table, share.partition_key, ticket.ok()?))
        };
        let tickets: Vec<_> = shares.into_iter().zip(tickets).filter_map(place).collect();
        let is_whole = tickets.len() == count;
        let prepared = Prepared { tickets, rows: rows.clone() };
        if is_whole {
            return Some(prepared);
        }
        prepared.give_up(self.home).await;
        None
    }

    /// Writes all rows, in rounds: the first with the tickets that were made before the entities were written, if
    /// there are such.
    pub async fn write_rows(
        &self,
        mut open: Vec<Share>,
        mut prepared: Option<&Prepared>,
    ) -> Result<(), SettleError> {
        let connection = &self.home.connection;
        let mut backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        let mut refused = None;
        while !open.is_empty() {
            // After a first failure, each entity is on its own: those together would disturb more others.
            let together = backoff.waits() == 0;
            let unread = self.round(&mut open, together, prepared.take()).await?;
            let rounds = backoff.waits() + 1;
            let mut again = unread.map(SettleError::from);
            let mut held = BTreeSet::new();
            for share in &mut open {
                match share.stopped.take() {
                    Some(Stop::Refused(error)) => {
                        held.insert((share.canonical.clone(), share.table.clone()));
                        refused.get_or_insert_with(|| self.failed(share, error));
                    }
                    Some(Stop::Unanswered(error)) => {
                        again.get_or_insert_with(|| self.failed(share, error));
                    }
                    Some(Stop::Overtaken) => {
                        again.get_or_insert(SettleError::Contended { rounds });
                    }
                    None => {}
                }
            }
            open.retain(|share| {
                let place = || (share.canonical.clone(), share.table.clone());
                !share.row_keys.is_empty() && !held.contains(&place())
            });
            if let Some(again) = again {
                if rounds == MAX_ROUNDS {
                    return Err(again);
                }
                connection.timer.sleep(backoff.next(&connection.random)).await;
            }
        }
        refused.map_or(Ok(()), Err)
    }

    fn failed(&self, share: &Share, error: Error) -> SettleError {
        SettleError::Row {
            entity: self.kind.entity,
            row: share.row.clone(),
            table: share.table.clone(),
            partition_key: share.partition_key.clone(),
            source: Box::new(error),
        }
    }

    /// One round over the open shares. Removes what it wrote from them, and says of the others why they stopped.
    /// Returns the error of a reading of the entities that was not answered.
    async fn round(
        &self,
        open: &mut [Share],
        together: bool,
        prepared: Option<&Prepared>,
    ) -> Result<Option<Error>> {
        let tickets = match prepared {
            Some(prepared) => {
                prepared.tickets.iter().map(|(.., ticket)| Ok(ticket.clone())).collect()
            }
            None => self.tickets(open, together).await,
        };
        let all = open.len();
        let mut ready = Vec::with_capacity(all);
        for (share, ticket) in open.iter_mut().zip(tickets) {
            match ticket {
                Ok(ticket) => ready.push((share, ticket)),
                Err(stop) => share.stopped = Some(stop),
            }
        }
        let have_tickets = ready.len() == all;
        // Now that all tickets are answered, and not before.
        let canonical = ready.iter().map(|(share, _)| &*share.canonical).collect();
        let read;
        let rows = match prepared {
            // The transaction was the reading.
            Some(prepared) => &prepared.rows,
            None => match self.entities(&canonical).await {
                Ok(rows) => {
                    read = rows;
                    &read
                }
                // What an entity that moved has to settle first had its rounds already.
                Err(error @ Error::Settle(_)) => return Err(error),
                Err(error) if error.is_unanswered() => return Ok(Some(error)),
                Err(error) => return Err(error),
            },
        };
        let none = EventualRows::default();
        let wanted = |share: &Share| rows.get(&share.canonical).unwrap_or(&none);
        let (gaining, losing): (Vec<_>, Vec<_>) =
            ready.into_iter().partition(|(share, _)| share.gains(wanted(share)));
        for mut shares in [gaining, losing] {
            let ready: Vec<_> = shares
                .iter_mut()
                .map(|(share, ticket)| {
                    let wanted = wanted(share);
                    Ready { share, ticket: ticket.clone(), wanted }
                })
                .collect();
            let groups =
                if together { groups(ready, self.most_rows()) } else { individually(ready) };
            at_once(groups.into_iter().map(|group| self.write_group(group))).await;
            // One transaction may be too small for the rows of an entity.
            if !have_tickets || shares.iter().any(|(share, _)| !share.row_keys.is_empty()) {
                break;
            }
        }
        Ok(None)
    }

    /// Deletes intents that are settled, each in its version.
    async fn clear(&self, pending: &[Pending]) -> Result<()> {
        for together in pending.chunks(self.most_rows() + 1) {
            if !self.clear_at_once(together).await? && together.len() > 1 {
                let cleared = at_once(together.chunks(1).map(|one| self.clear_at_once(one))).await;
                cleared.into_iter().collect::<Result<Vec<_>>>()?;
            }
        }
        Ok(())
    }

    /// Deletes them in one transaction. `false` where another settler was faster.
    async fn clear_at_once(&self, pending: &[Pending]) -> Result<bool> {
        let clear = |Pending { intent, etag, .. }: &Pending| {
            let action = Action::Delete(IfMatch::ETag(etag.clone()));
            Operation { row_key: intent.row_key.clone(), action }
        };
        let operations = pending.iter().map(clear).collect();
        let batch = Batch { partition_key: self.partition_key.to_owned(), operations };
        match self.home.send(batch).await {
            Ok(_) => Ok(true),
            Err(Error::NotFound(_) | Error::Conflict(_)) => Ok(false),
            // The answer was lost, and then the intents were gone. Each has a name of its own, and is deleted in its
            // version, so nobody else needs them.
            Err(Error::Ambiguous(rejection))
                if *rejection.cause.answer_code() == ErrorCode::RESOURCE_NOT_FOUND =>
            {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn entity(&self, row_key: &str) -> CanonicalKey {
        let (partition_key, row_key) = (self.partition_key.to_owned(), row_key.to_owned());
        CanonicalKey { partition_key, row_key }
    }

    pub(super) async fn ticket(&self, share: &Share) -> Result<Ticket, Stop> {
        let (client, entity) =
            (self.home.in_other_table(&share.table), self.entity(&share.canonical));
        let ticket = Ticket::obtain(&client, &share.partition_key, self.home, &entity).await;
        ticket.map_err(Stop::after)?.ok_or(Stop::Overtaken)
    }

    /// Reads a canonical row. Returns the `eventual` rows that it calls for.
    pub(super) async fn wanted(&self, row_key: &str) -> Result<EventualRows> {
        let point = self.home.point(&self.entity(row_key));
        let query = RowQuery { metadata: self.kind.metadata, ..point };
        match self.home.row(&query).await? {
            Some(row) => self.called_for(row).await,
            None => Ok(EventualRows::default()),
        }
    }

    /// The `eventual` rows that a canonical row calls for. An entity that has left its key has none there.
    pub(super) async fn called_for(&self, row: StoredRow) -> Result<EventualRows> {
        match ((self.kind.rows)(&self.home.table, row), self.home.after_move) {
            (Err(Error::Moved(moved)), Some(after_move)) => {
                after_move(self.home, &moved).await?;
                Ok(EventualRows::default())
            }
            (rows, _) => rows,
        }
    }

    /// Writes the rows of a share, as many as one transaction takes.
    pub(super) async fn write(&self, ready: Ready<'_>) {
        let Ready { share, ticket, wanted } = ready;
        let client = self.home.in_other_table(&share.table);
        let mut count = share.row_keys.len().min(self.most_rows());
        loop {
            let mut operations = vec![ticket.consume()];
            operations.extend(share.operations(wanted, count));
            let batch = Batch { partition_key: share.partition_key.clone(), operations };
            let stop = match client.send_changes(batch, None).await {
                Ok(_) => {
                    share.row_keys.drain(..count);
                    return;
                }
                Err(Error::TooLarge(_)) if count > 1 => {
                    count = count.div_ceil(2);
                    continue;
                }
                Err(Error::NotFound(_) | Error::Conflict(_)) => Stop::Overtaken,
                Err(error) => Stop::after(error),
            };
            share.stopped = Some(stop);
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_waits_about_five_seconds_for_a_partition_that_does_not_answer() {
        let wait = |number| FIRST_WAIT.saturating_mul(2u32.pow(number)).min(LONGEST_WAIT);
        let waits: Duration = (0..MAX_ROUNDS - 1).map(wait).sum();
        assert_eq!(waits.as_secs(), 5, "the guide and `report_settled` say so");
    }
}
