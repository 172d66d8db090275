//! The move of one entity.
//!
//! Invariant: the switch replaces the old row in the version that was read. It takes effect once or never, however
//! often it is sent, and the old row shows which.

use super::canonical::canonical_key;
use super::follow::{Switched, intents};
use super::large_values::{Copies, as_if_copied, refers_to_row};
use super::marker_row::marker_row;
use super::migrates::Migrates;
use super::migrating::Migrating;
use super::old_place::{AtOld, OldEntity};
use super::parcel::{self, Parcel};
use crate::entity::{EntityRow, EntityRows, Marker, TableEntity as _, has_across};
use crate::error::{Error, LargeValueError, Result};
use crate::eventual::Settling;
use crate::model::{ETag, PARCEL_START};
use crate::plan::{Attempts, CanonicalKey, MeasuredBatch, RetryLimits, TableClient};
use crate::store::{Action, Batch, IfMatch, Operation};
use std::borrow::Cow;

/// An entity that has moved.
pub(super) struct Moved<'r> {
    /// Its rows, with copies of its large values.
    pub rows: Cow<'r, EntityRows>,
    /// These copies.
    pub copies: Copies,
    /// The version of the new canonical row, where it is known.
    pub etag: Option<ETag>,
}

impl<E: Migrates> Migrating<E> {
    /// Moves an entity; it will have these rows, with copies of large values of the old key.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the entity has changed since it was read. Nothing is written then.
    pub(super) async fn move_to<'r>(
        &self,
        old: &OldEntity<E>,
        rows: &'r EntityRows,
    ) -> Result<Moved<'r>> {
        let own = match self.own_values(Cow::Borrowed(rows), None).await {
            Err(error) => return Err(self.cannot_copy(old, error).await?),
            own => own?,
        };
        let moved = async {
            if self.moves_within(old, &own.rows)? {
                self.move_within(old, &own.rows).await
            } else {
                self.move_across(old, &own.rows).await
            }
        };
        let etag = self.copied(&own.copied, moved.await).await?;
        Ok(Moved { rows: own.rows, copies: own.copied.copies, etag })
    }

    /// The error of a move whose copy failed: whoever replaces a value removes it.
    async fn cannot_copy(&self, old: &OldEntity<E>, error: Error) -> Result<Error> {
        let Error::LargeValue(LargeValueError::Gone { partition_key, row_key }) = error else {
            return Ok(error);
        };
        let now = AtOld::<E::Old>::read(&self.old.client, &old.key).await?;
        if now.is_version(old.etag.as_str()) {
            return Ok(if refers_to_row::<E::Old>(&old.old_rows, &row_key) {
                LargeValueError::Damaged { partition_key, row_key }.into()
            } else {
                LargeValueError::Gone { partition_key, row_key }.into()
            });
        }
        Ok(self.old.client.changed(&old.key.partition_key, &old.key.row_key))
    }

    /// Whether it moves within its partition, in one transaction.
    pub(super) fn moves_within(&self, old: &OldEntity<E>, rows: &EntityRows) -> Result<bool> {
        if !self.is_together(&old.key, &rows.partition_key) {
            return Ok(false);
        }
        if !self.may_be_many() {
            return Ok(true);
        }
        let (batch, _) = self.batch_within(old, rows)?;
        let intents = intents::<E>() + intents::<E::Old>();
        Ok(self.takes(&self.client_within(old, rows)?, &batch, intents))
    }

    fn client_within(&self, old: &OldEntity<E>, rows: &EntityRows) -> Result<TableClient> {
        let client = self.within(std::iter::once((old, rows)))?;
        let client = self.reporting(&client, old, rows)?;
        Ok(self.with_values_of_both(client))
    }

    /// Within one partition: one transaction.
    async fn move_within(&self, old: &OldEntity<E>, rows: &EntityRows) -> Result<Option<ETag>> {
        let (batch, canonical) = self.batch_within(old, rows)?;
        let client = self.client_within(old, rows)?;
        let due = (self.entered(rows)?, self.left(old)?);
        let etags = self.send_within(&client, batch, Some(&old.key.row_key), due).await?;
        Ok(etags.into_iter().nth(canonical).flatten())
    }

    /// The transaction of a move within one partition, and where the new canonical row is in it.
    pub(super) fn batch_within(
        &self,
        old: &OldEntity<E>,
        rows: &EntityRows,
    ) -> Result<(Batch, usize)> {
        let mut batch = self.switch_of(old, rows, None)?;
        // A guard of a value that stays is replaced: it names the new canonical row now.
        batch.operations.retain(|operation| rows.row(&operation.row_key).is_none());
        let canonical = batch.operations.len();
        batch.operations.extend(rows.rows.iter().map(|row| {
            let is_stored = old.old_rows.row(&row.row_key).is_some();
            let action = if is_stored { Action::InsertOrReplace } else { Action::Insert };
            Operation { row_key: row.row_key.clone(), action: action(row.body.clone()) }
        }));
        Ok((batch, canonical))
    }

    /// The switch of an entity to a parcel of that name.
    pub(super) fn switch_of(
        &self,
        old: &OldEntity<E>,
        rows: &EntityRows,
        parcel: Option<&str>,
    ) -> Result<Batch> {
        let marker = Marker::new(self.new.table(), &rows.partition_key, parcel);
        // Guards of its unique values go on naming the old key.
        let row_key = const { has_across::<E>() }.then(|| old.new_key().row_key);
        switch(old, &Marker { row_key, ..marker })
    }

    /// To another partition, or with more rows than a transaction takes: the parcel, the switch, the landing.
    async fn move_across(&self, old: &OldEntity<E>, rows: &EntityRows) -> Result<Option<ETag>> {
        let client = &self.new.client;
        // After the switch, a landing that is too large would leave the entity in its parcel for ever.
        self.check_fits(old, rows)?;
        self.check_index_rows(rows).await?;
        let touches = self.touches(rows)?;
        let name = parcel::send(client, old, rows, self.old.table().as_str(), touches).await?;
        let place = CanonicalKey { partition_key: rows.partition_key.clone(), row_key: name };
        let switched = self.switch_or_drop(old, rows, &place).await?;
        // The entity has moved. Who meets the parcel lands it.
        let landed = self.land(&place, rows).await.ok().flatten();
        let follows = landed.as_ref().is_some_and(|landed| landed.is_settled);
        switched.settle(&self.old.client, follows).await;
        Ok(landed.and_then(|landed| landed.etag))
    }

    /// Fails where the transaction that switches an entity, or the one that lands it with these rows, would be too
    /// large.
    pub(super) fn check_fits(&self, old: &OldEntity<E>, rows: &EntityRows) -> Result<()> {
        let (new, old_client) = (&self.new.client, &self.old.client);
        let mut landing = Parcel::<E>::landing(&canonical_key(rows), rows);
        let values = new.value_operations(&landing)?;
        landing.operations.extend(values);
        self.entered(rows)?.append_to(new, &mut landing)?;
        let mut switch = self.switch_of(old, rows, Some(PARCEL_START))?;
        self.left(old)?.append_to(old_client, &mut switch)?;
        for (client, batch, totals, events) in [
            (old_client, switch, E::Old::SUM_NAMES, E::Old::OUTBOX),
            (new, landing, E::SUM_NAMES, None),
        ] {
            // One operation for each total, and two for an event.
            let more = totals.len() + 2 * events.iter().len();
            client.check_fits(&with_more(batch, more))?;
        }
        Ok(())
    }

    /// Fails where the move of an entity as it is would need a parcel or a transaction that is too large. Sends nothing.
    pub(super) fn check_move(&self, old: &OldEntity<E>) -> Result<()> {
        let rows = &*as_if_copied::<E>(&old.rows)?;
        if !self.moves_within(old, rows)? {
            parcel::check(old, rows, self.old.table().as_str())?;
            return self.check_fits(old, rows);
        }
        let (mut batch, _) = self.batch_within(old, rows)?;
        let client = self.client_within(old, rows)?;
        let mut due = self.entered(rows)?;
        due.join(self.left(old)?);
        due.append_to(&client, &mut batch)?;
        let MeasuredBatch { batch, most, more, .. } = client.measure(batch);
        let of_all = client.store().transaction_operations().saturating_sub(most);
        client.check_fits(&with_more(batch, of_all + more))
    }

    /// Switches an entity to its parcel.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the entity has changed since it was read. The parcel is deleted then.
    pub(super) async fn switch_or_drop(
        &self,
        old: &OldEntity<E>,
        rows: &EntityRows,
        place: &CanonicalKey,
    ) -> Result<Switched> {
        let batch = self.switch_of(old, rows, Some(&place.row_key))?;
        if let Some(switched) = self.switch(old, rows, &batch, &place.row_key).await? {
            return Ok(switched);
        }
        // The old row has another version, so the switch can never come. What is left is deleted by a mover.
        let _dropped = parcel::drop(&self.new.client, place).await;
        Err(self.old.client.changed(&old.key.partition_key, &old.key.row_key))
    }

    /// Sends a switch until it is known whether it took effect. Returns what it leaves to be settled; `None` where it
    /// never will take effect.
    async fn switch(
        &self,
        old: &OldEntity<E>,
        rows: &EntityRows,
        batch: &Batch,
        parcel: &str,
    ) -> Result<Option<Switched>> {
        let intents = self.left(old)?;
        let client = &self.reporting(&self.old.client, old, rows)?;
        let mut attempts = Attempts::begin(&client.connection, RetryLimits::default());
        let settling = Settling::default();
        let in_doubt = |error: &Error| error.is_unanswered() && !error.is_refused_as_busy();
        // Of a sending that may still take effect, whatever the answers to the later ones.
        let mut lost: Option<Error> = None;
        loop {
            // A register goes on naming the partition for a sending that was not answered.
            let mut attempt = intents.clone();
            let sent = attempt.send(client, batch.clone(), Some(&old.key.row_key), &settling).await;
            let error = match sent {
                Ok(etags) => return Ok(Some(Switched { intents: attempt, etags: Some(etags) })),
                Err(error) => error,
            };
            let is_open =
                error.is_unanswered() || matches!(error, Error::Conflict(_) | Error::NotFound(_));
            let error = lost.unwrap_or(error);
            if !is_open {
                return Err(error);
            }
            // An earlier sending, left without an answer, may be what the version does not match.
            let now = match AtOld::<E::Old>::read(client, &old.key).await {
                Err(_) if in_doubt(&error) => return Err(error),
                now => now?,
            };
            if now.names(parcel) {
                return Ok(Some(Switched { intents, etags: None }));
            }
            if !now.is_version(old.etag.as_str()) {
                return Ok(None);
            }
            if !attempts.next().await {
                return Err(error);
            }
            lost = Some(error).filter(in_doubt);
        }
    }
}

/// The transaction with as many more operations, to be measured.
fn with_more(mut batch: Batch, more: usize) -> Batch {
    let one = || Operation { row_key: String::new(), action: Action::Delete(IfMatch::Any) };
    batch.operations.extend((0..more).map(|_| one()));
    batch
}

/// The transaction that replaces the old row with a marker, and deletes the other old rows.
fn switch<E: Migrates>(old: &OldEntity<E>, marker: &Marker) -> Result<Batch> {
    let body = marker_row(marker, &old.key)?;
    let operation = |(at, row): (usize, &EntityRow)| {
        let action = if at == 0 {
            Action::Replace(body.clone(), IfMatch::ETag(old.etag.clone()))
        } else {
            Action::Delete(IfMatch::Any)
        };
        Operation { row_key: row.row_key.clone(), action }
    };
    let operations = old.old_rows.rows.iter().enumerate().map(operation).collect();
    Ok(Batch { partition_key: old.key.partition_key.clone(), operations })
}
