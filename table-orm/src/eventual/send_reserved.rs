//! Sends a transaction that gives entities values which are unique over all partitions.
//!
//! Invariant: it takes effect only while its reservations hold.

use super::intent::Intent;
use super::intents::Intents;
use super::unique::{Guards, Reservation};
use crate::error::{Error, Result};
use crate::model::ETag;
use crate::plan::TableClient;
use crate::store::{Action, Batch, ErrorCode, Operation, StoreError};
use crate::sync::Backoff;
use std::time::Duration;

/// How often a transaction is sent whose reservation other clients take away.
const MAX_ROUNDS: u32 = 8;
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(8);

impl Intents {
    /// Sends a transaction that takes values. After a failure on the way, the partition stays named: a ticket
    /// may be left.
    pub(super) async fn send_reserved(
        &mut self,
        client: &TableClient,
        batch: Batch,
        canonical: Option<&str>,
    ) -> Result<Vec<Option<ETag>>> {
        let connection = &client.connection;
        let mut backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        loop {
            let reservations = self.reserve(client, &batch).await?;
            let mut attempt = batch.clone();
            attempt.operations.extend(reservations.iter().map(Reservation::consume));
            let sent = match self.append_inserts(client, &mut attempt) {
                Ok(()) => self.sender(client).send_changes(attempt, canonical).await,
                Err(error) => Err(error),
            };
            let error = match sent {
                Ok(etags) => {
                    if backoff.waits() > 0 || !reservations.iter().all(Reservation::is_clean) {
                        self.covers.clear();
                    }
                    return Ok(etags);
                }
                Err(error) => error,
            };
            for reservation in &reservations {
                reservation.give_up().await;
            }
            if !reservations.iter().any(|reservation| reservation.is_lost(&error)) {
                return Err(error);
            }
            if backoff.waits() + 1 == MAX_ROUNDS {
                let key = batch.operations.first().map_or("", |operation| &operation.row_key);
                return Err(client.changed(&batch.partition_key, key));
            }
            connection.timer.sleep(backoff.next(&connection.random)).await;
        }
    }

    async fn reserve(&self, client: &TableClient, batch: &Batch) -> Result<Vec<Reservation>> {
        let mut reservations = Vec::with_capacity(self.tickets.len());
        for (kind, Intent { partition_key, due, .. }) in &self.tickets {
            let guards = Guards { home: client.clone(), kind: *kind };
            match Reservation::make(guards, partition_key, due).await {
                Ok(reservation) => reservations.push(reservation),
                Err((error, entity)) => {
                    for reservation in &reservations {
                        reservation.give_up().await;
                    }
                    return Err(of_operation(error, batch, entity.as_deref()));
                }
            }
        }
        Ok(reservations)
    }
}

/// The same error, with the operation that writes the entity whose value is taken.
fn of_operation(error: Error, batch: &Batch, entity: Option<&str>) -> Error {
    let mut operations = batch.operations.iter().enumerate();
    let of_entity = |(_, operation): &(usize, &Operation)| Some(&*operation.row_key) == entity;
    match (error, operations.find(of_entity)) {
        (
            Error::UniqueViolation { unique, key, holder, mut rejection },
            Some((index, operation)),
        ) => {
            rejection.operation = Some((index, operation.action.name()));
            Error::UniqueViolation { unique, key, holder, rejection }
        }
        // The entity has the value itself: another write of it was faster.
        (Error::Conflict(mut rejection), Some((index, operation)))
            if rejection.row_key == operation.row_key =>
        {
            rejection.operation = Some((index, operation.action.name()));
            if matches!(operation.action, Action::Insert(_)) {
                rejection.cause =
                    StoreError::new(ErrorCode::ENTITY_ALREADY_EXISTS, "the row exists");
                Error::AlreadyExists(rejection)
            } else {
                Error::Conflict(rejection)
            }
        }
        (error, _) => error,
    }
}
