//! One load on its way to the store.
//!
//! Invariant: with a journal, a load that may or may not have been written is sent until that is known. Its
//! lane waits for it, so the order of the partition is kept.

use super::handle::Inlet;
use super::lanes::{Load, Ticket};
use crate::entity::{EntityRows, TableEntity};
use crate::error::{Error, Result};
use crate::eventual::Settling;
use crate::plan::{CanonicalKey, TableClient};
use crate::repo::MAX_PARALLEL_GETS;
use crate::repo::bulk::Chunk;
use crate::sync::{Backoff, Concurrent};
use std::sync::Arc;
use std::time::Duration;

/// The waits between the attempts of a writer with a journal.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// A load and its answer.
pub(super) struct Delivered<E> {
    pub chunk: Chunk<E>,
    pub tickets: Vec<Ticket>,
    /// Of entities that an earlier attempt had written.
    pub present: Vec<Ticket>,
    /// How many transactions were sent.
    pub requests: u64,
    pub answer: Result<()>,
}

/// Sends a load. Removes from the journal what was written.
pub(super) async fn deliver<E: TableEntity + 'static>(
    inlet: Arc<Inlet<E>>,
    load: Load<E>,
) -> Delivered<E> {
    let Load { chunk, tickets, .. } = load;
    let Some(journal) = &inlet.journal else {
        let (chunk, answer) = send(&inlet, chunk).await;
        return Delivered { chunk, tickets, present: Vec::new(), requests: 1, answer };
    };
    let delivered = deliver_once(&inlet, chunk, tickets).await;
    let is_written = match &delivered.answer {
        Ok(()) => true,
        Err(error) => error.is_stored_as_sent(),
    };
    let written = delivered.tickets.iter().filter(|_| is_written).chain(&delivered.present);
    journal.remove(written.filter_map(|ticket| ticket.entry)).await;
    delivered
}

async fn send<E: TableEntity + 'static>(
    inlet: &Inlet<E>,
    mut chunk: Chunk<E>,
) -> (Chunk<E>, Result<()>) {
    let batch = chunk.take_batch();
    let (client, settling) = (inlet.client.clone(), Settling::default());
    let sent = inlet.policy.send(client, &Vec::from_iter(&chunk.entities), batch, settling);
    let answer = sent.await;
    (chunk, answer)
}

/// Sends it until each entity is known to be written or rejected.
async fn deliver_once<E: TableEntity + 'static>(
    inlet: &Inlet<E>,
    mut chunk: Chunk<E>,
    mut tickets: Vec<Ticket>,
) -> Delivered<E> {
    let connection = &inlet.client.connection;
    let mut backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
    let (mut present, mut requests) = (Vec::new(), 0);
    let answer = loop {
        let (sent, answer) = send(inlet, chunk).await;
        chunk = sent;
        requests += 1;
        let Err(error) = answer else { break Ok(()) };
        if error.is_stored_as_sent() {
            break Err(error);
        }
        let earlier = sent_before(&error, &chunk, &tickets);
        let is_known = match earlier {
            Some(index) => match is_stored(&inlet.client, &chunk.entities[index]).await {
                Ok(true) => {
                    // The earlier attempt may have been one of many entities.
                    let stored = all_stored(&inlet.client, &chunk.entities, &tickets, index).await;
                    for index in stored.into_iter().rev() {
                        drop(chunk.entities.remove(index));
                        present.push(tickets.remove(index));
                    }
                    true
                }
                Err(unread) if unread.is_unanswered() => false,
                _ => break Err(error),
            },
            None if error.is_unanswered() => {
                // Some of it may have been written.
                tickets.iter_mut().for_each(|ticket| ticket.is_sent = true);
                false
            }
            None => break Err(error),
        };
        if !is_known {
            connection.timer.sleep(backoff.next(&connection.random)).await;
        }
        // The operations were sent: the entities make them anew.
        if let Err(error) = chunk.refill(|entity| inlet.policy.measured(&inlet.client, entity)) {
            break Err(error);
        }
        if chunk.entities.is_empty() {
            break Ok(());
        }
    };
    Delivered { chunk, tickets, present, requests, answer }
}

/// The entity whose row is there, if an earlier attempt may have written it.
fn sent_before<E>(error: &Error, chunk: &Chunk<E>, tickets: &[Ticket]) -> Option<usize> {
    let Error::AlreadyExists(rejection) = error else { return None };
    let index = match rejection.operation {
        _ if chunk.entities.len() == 1 => 0,
        Some((operation, _)) => chunk.owner(operation)?,
        None => return None,
    };
    tickets[index].is_sent.then_some(index)
}

/// The entities that an earlier attempt has written, `known` among them, in order. One that cannot be read is none
/// of them: it is sent again.
async fn all_stored<E: TableEntity>(
    client: &TableClient,
    entities: &[E],
    tickets: &[Ticket],
    known: usize,
) -> Vec<usize> {
    let checks =
        entities.iter().zip(tickets).enumerate().map(|(index, (entity, ticket))| async move {
            let is_stored = index == known
                || ticket.is_sent && matches!(is_stored(client, entity).await, Ok(true));
            is_stored.then_some(index)
        });
    let checked = Concurrent::in_order(checks, MAX_PARALLEL_GETS).all().await;
    checked.into_iter().flatten().collect()
}

/// Whether the entity is stored as it would be written.
async fn is_stored<E: TableEntity>(client: &TableClient, entity: &E) -> Result<bool> {
    let rows = EntityRows::of(entity)?;
    let Some(canonical) = rows.canonical() else { return Ok(false) };
    let key = CanonicalKey::in_partition(&rows.partition_key, canonical);
    let stored = client.load::<E>(&key).await?;
    Ok(match stored {
        Some(stored) => EntityRows::of_stored(&*stored)? == rows,
        None => false,
    })
}
