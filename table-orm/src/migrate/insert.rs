//! Inserts, in either form.
//!
//! Invariant: an entity is inserted in its new form only after a marker is under its old key, and no parcel that the
//! marker names is left.

use super::canonical::canonical_key;
use super::entity_expiry::is_alive_at;
use super::follow::{inserted, intents, send_and_settle};
use super::marker_row::marker_row;
use super::migrates::Migrates;
use super::migrating::Migrating;
use super::old_key::old_key;
use super::old_place::{AtOld, as_old, check_conversion};
use super::stays::has_one_form;
use super::stored_form::StoredForm;
use crate::entity::{EntityRows, Marker, has_across, is_alive};
use crate::error::{Error, Result};
use crate::eventual::Intents;
use crate::plan::{Attempts, CanonicalKey, RetryLimits, insert_all};
use crate::store::{Action, Batch, Operation};
use std::borrow::Cow;

/// What an insert does next.
pub(super) enum Next {
    /// The old key is free: the same again.
    Again,
    /// A marker is under the old key.
    Insert,
}

impl<E: Migrates> Migrating<E> {
    /// Inserts an entity in the form of this client. One request in the old form, and where old and new rows are in one
    /// partition; else two. With `unique(.., across)`, two and one for each value in the old form, and one more in the new
    /// form.
    ///
    /// # Errors
    /// - [`Error::AlreadyExists`] when the entity is there, in either form, or another entity has its old key.
    /// - [`Error::UniqueViolation`] when another entity, in either form, has one of its unique values.
    /// - [`MigrationError::KeyDiffers`](crate::migrate::MigrationError::KeyDiffers) when the conversion to the old type
    ///   changes the key.
    ///
    /// The entity is not written in these cases.
    pub async fn insert(&self, entity: &E) -> Result<()> {
        let rows = EntityRows::of_in(entity, self.new.table())?;
        let new = canonical_key(&rows);
        if has_one_form::<E>(&new) {
            check_conversion(entity, &rows)?;
            return self.insert_rows(rows).await;
        }
        match self.form {
            StoredForm::Old => self.insert_old(entity, rows).await,
            StoredForm::New => {
                let own = self.own_values(Cow::Owned(rows), None).await?;
                let inserted = self.insert_new(entity, own.rows.into_owned()).await;
                self.copied(&own.copied, inserted).await
            }
        }
    }

    async fn insert_old(&self, entity: &E, rows: EntityRows) -> Result<()> {
        let (_, old_rows) = as_old(entity, &rows)?;
        let key = canonical_key(&old_rows);
        let mut attempts = self.attempts();
        loop {
            let client = &self.old.client;
            let due = inserted::<E::Old>(client, &old_rows)?;
            match send_and_settle(client, insert_all(old_rows.clone()), None, due).await {
                Ok(_) => return Ok(()),
                Err(error) if stands_at(&error, &key) || self.is_marked(&error, &key).await? => {
                    match self.look(&key, &rows, &mut attempts).await? {
                        Next::Insert => return self.insert_copied(rows).await,
                        Next::Again if attempts.next().await => {}
                        Next::Again => return Err(error),
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn insert_new(&self, entity: &E, rows: EntityRows) -> Result<()> {
        let Some(key) = old_key::<E>(&canonical_key(&rows)) else {
            // Where no old key has the values, there is no old form.
            return self.insert_rows(rows).await;
        };
        check_conversion(entity, &rows)?;
        let (batch, together) = self.insert_marker(&key, &rows)?;
        let client = if together { &self.new.client } else { &self.old.client };
        let mut attempts = self.attempts();
        loop {
            let due =
                if together { inserted::<E>(&self.new.client, &rows)? } else { Intents::default() };
            let error = match send_and_settle(client, batch.clone(), None, due).await {
                Ok(_) if together => return Ok(()),
                Ok(_) => return self.insert_rows(rows).await,
                Err(error) => error,
            };
            // A marker that was sent twice does no harm; an entity does.
            let is_open = stands_at(&error, &key) || !together && error.is_unanswered();
            if !is_open {
                return Err(error);
            }
            match self.look(&key, &rows, &mut attempts).await? {
                Next::Insert => return self.insert_rows(rows).await,
                Next::Again if attempts.next().await => {}
                Next::Again => return Err(error),
            }
        }
    }

    /// Whether a write in the old form failed because the entity, or another one, has one of its values, and a marker is
    /// under its old key: then a write in the new form says which.
    pub(super) async fn is_marked(&self, error: &Error, key: &CanonicalKey) -> Result<bool> {
        if !matches!(error, Error::UniqueViolation { .. }) {
            return Ok(false);
        }
        let stored = AtOld::<E::Old>::read(&self.old.client, key).await?;
        Ok(matches!(stored, AtOld::Marker(_)))
    }

    /// Looks at the old key that is not free. An expired entity makes room, in whatever form it is.
    pub(super) async fn look(
        &self,
        key: &CanonicalKey,
        rows: &EntityRows,
        attempts: &mut Attempts,
    ) -> Result<Next> {
        let now = Some(self.new.client.connection.clock.now());
        loop {
            match AtOld::<E::Old>::read(&self.old.client, key).await? {
                AtOld::Nothing => return Ok(Next::Again),
                AtOld::Marker(marker) => match self.parcel(&marker, key).await? {
                    None => return Ok(Next::Insert),
                    Some(parcel)
                        if parcel.new_key() == canonical_key(rows)
                            && is_alive_at::<E>(&parcel.rows, now) =>
                    {
                        break;
                    }
                    // The insert finds an expired one where it lands. Another entity frees the old key by landing.
                    Some(parcel) => self.finish_or_wait(&parcel, attempts).await?,
                },
                AtOld::Entity(stored) if is_alive::<E::Old>(stored.stored(), now) => break,
                AtOld::Entity(_) => {
                    self.old.client.evict(key).await?;
                    return Ok(Next::Again);
                }
            }
        }
        let CanonicalKey { partition_key, row_key } = canonical_key(rows);
        Err(self.new.client.already_exists(&partition_key, &row_key))
    }

    /// The transaction that inserts the marker of an entity, and whether it inserts the new rows, too.
    pub(super) fn insert_marker(
        &self,
        key: &CanonicalKey,
        rows: &EntityRows,
    ) -> Result<(Batch, bool)> {
        let marker = Marker::new(self.new.table(), &rows.partition_key, None);
        let marker = marker_row(&marker, key)?;
        let CanonicalKey { partition_key, row_key } = key.clone();
        let operations = vec![Operation { row_key, action: Action::Insert(marker) }];
        let alone = Batch { partition_key, operations };
        // The marker comes first where a value is reserved: with it, a value of the entity itself would be that of another.
        if has_across::<E>() || !self.is_together(key, &rows.partition_key) {
            return Ok((alone, false));
        }
        let mut both = alone.clone();
        both.operations.extend(insert_all(rows.clone()).operations);
        let together = self.takes(&self.new.client, &both, intents::<E>());
        Ok((if together { both } else { alone }, together))
    }

    /// Inserts the new rows, with copies of large values of the old key.
    async fn insert_copied(&self, rows: EntityRows) -> Result<()> {
        let own = self.own_values(Cow::Owned(rows), None).await?;
        let inserted = self.insert_rows(own.rows.into_owned()).await;
        self.copied(&own.copied, inserted).await
    }

    async fn insert_rows(&self, rows: EntityRows) -> Result<()> {
        let due = inserted::<E>(&self.new.client, &rows)?;
        send_and_settle(&self.new.client, insert_all(rows), None, due).await.map(drop)
    }

    pub(super) fn attempts(&self) -> Attempts {
        Attempts::begin(&self.new.client.connection, RetryLimits::default())
    }
}

/// Whether a row under that key is what an insert met.
pub(super) fn stands_at(error: &Error, key: &CanonicalKey) -> bool {
    match error {
        Error::AlreadyExists(rejection) => rejection.row_key == key.row_key,
        _ => false,
    }
}
