//! Who gets a value that several want.
//!
//! The order is what makes it safe: the ticket of the other reserver is [ended](Guards::end_ticket) before the
//! entity is read the second time. After that, its transaction cannot give it the value any more, so what this read
//! shows stays true. The guard is replaced in the version that was read first, so nobody else has replaced it
//! meanwhile.

use super::guard::{Guard, Guards, Home};
use super::holder::Holder;
use crate::error::{Error, Result};
use crate::eventual::unique_value::UniqueValue;
use crate::sync::Backoff;
use std::time::Duration;

/// How often a value is tried for.
const MAX_ROUNDS: u32 = 8;
/// The waits for another reserver, which may be about to end. Waiting is polite; it is not needed.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(8);

/// What a round found.
enum Round {
    Mine,
    /// Another client was faster, or a request was not answered.
    Again,
}

impl Guards {
    /// Makes the guard of a value name the entity and the ticket. Sets `in_doubt` where a request was not
    /// answered: the guard may then be written later, whatever this returns.
    ///
    /// # Errors
    /// [`Error::UniqueViolation`] when another entity has the value, and [`Error::Conflict`] when other
    /// reservers were faster each time, or another write of this entity was: it has the value.
    pub async fn reserve(
        &self,
        value: &UniqueValue,
        entity: &Home,
        ticket: &str,
        in_doubt: &mut bool,
    ) -> Result<()> {
        let mut backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        let mut unanswered = None;
        for _ in 0..MAX_ROUNDS {
            match self.round(value, entity, ticket, &mut backoff).await {
                Ok(Round::Mine) => return Ok(()),
                Ok(Round::Again) => {}
                Err(error) if error.is_unanswered() => {
                    *in_doubt = true;
                    unanswered = Some(error);
                    self.wait(&mut backoff).await;
                }
                Err(error) => return Err(error),
            }
        }
        Err(unanswered.unwrap_or_else(|| self.contended(value)))
    }

    async fn round(
        &self,
        value: &UniqueValue,
        entity: &Home,
        ticket: &str,
        backoff: &mut Backoff,
    ) -> Result<Round> {
        match self.set(value, entity, ticket, None).await {
            Ok(()) => return Ok(Round::Mine),
            Err(Error::AlreadyExists(_)) => {}
            Err(error) => return Err(error),
        }
        let Some(guard) = self.get(value).await? else { return Ok(Round::Again) };
        if guard.ticket == ticket {
            // One transaction may give two entities one value.
            return if guard.names(entity) {
                Ok(Round::Mine)
            } else {
                Err(self.violation(value, &guard.home))
            };
        }
        self.contend(value, entity, ticket, &guard, backoff).await
    }

    /// Takes the guard over, unless the entity that it names has the value.
    async fn contend(
        &self,
        value: &UniqueValue,
        entity: &Home,
        ticket: &str,
        guard: &Guard,
        backoff: &mut Backoff,
    ) -> Result<Round> {
        if let Some(holder) = self.holder(&guard.home, value).await? {
            return self.room_for(value, entity, guard, &holder).await;
        }
        self.wait(backoff).await;
        self.end_ticket(guard).await?;
        if let Some(holder) = self.holder(&guard.home, value).await? {
            return self.room_for(value, entity, guard, &holder).await;
        }
        match self.set(value, entity, ticket, Some(guard)).await {
            Ok(()) => Ok(Round::Mine),
            Err(Error::Conflict(_) | Error::NotFound(_)) => Ok(Round::Again),
            Err(error) => Err(error),
        }
    }

    /// Asks again for a value whose entity has expired: it is deleted, with its guard.
    async fn room_for(
        &self,
        value: &UniqueValue,
        entity: &Home,
        guard: &Guard,
        holder: &Holder,
    ) -> Result<Round> {
        let Holder { home, is_moving, .. } = holder;
        // In its parcel, it is deleted after it has landed.
        if !is_moving && self.client_at(home).evict(&home.key).await? {
            return Ok(Round::Again);
        }
        if guard.names(entity) || home.is(entity) {
            return Err(self.home.changed(&entity.key.partition_key, &entity.key.row_key));
        }
        Err(self.violation(value, home))
    }

    async fn wait(&self, backoff: &mut Backoff) {
        let connection = &self.home.connection;
        connection.timer.sleep(backoff.next(&connection.random)).await;
    }
}
