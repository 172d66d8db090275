//! Writes of several entities in one transaction, in either form.
//!
//! Invariants:
//! - The writes are one transaction. Each asks for the version that was read, or inserts a row.
//! - Entities in their old form move before it, each by itself, with the content that was read. So nobody sees a part
//!   of the writes.
//! - An entity that waits in its parcel lands before it, or fails the transaction; its version is not known then.
//! - A client that inserts the old form moves nothing, and writes the old form in place, until it meets an entity
//!   in its new form, or a marker. By then, every client that runs knows both forms.

use super::canonical::{canonical_key, shown};
use super::follow::send_and_settle;
use super::insert::{Next, stands_at};
use super::large_values::{Copied, Copies, as_if_copied, entity_as_if_copied, with_copies};
use super::loaded::{MigratingLoaded, Stored};
use super::marker_row::marker_row;
use super::migrates::Migrates;
use super::migrating::Migrating;
use super::moving::Moved;
use super::old_key::old_key;
use super::old_place::{AtOld, OldEntity, as_old, check_conversion};
use super::stays::has_one_form;
use super::stored_form::StoredForm;
use crate::entity::{
    EntityRows, InvalidEntity, Loaded, Marker, TableEntity, check_period, has_large,
};
use crate::error::{Error, MigrationError, Result, TransactionError};
use crate::eventual::Intents;
use crate::model::ETag;
use crate::plan::{CanonicalKey, TableClient, insert_all};
use crate::repo::Writes;
use crate::store::{Action, Batch, Operation};
use std::borrow::{Borrow, BorrowMut, Cow};

/// What happens to a loaded entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Save,
    Delete,
    /// Its version is asked for.
    Require,
}

/// A loaded entity, or a reference to one.
pub(super) type AnyHeld<'a, E> = Box<dyn BorrowMut<MigratingLoaded<E>> + Send + Sync + 'a>;

fn borrowed<'h, E>(held: &'h AnyHeld<'_, E>) -> &'h MigratingLoaded<E> {
    Borrow::<MigratingLoaded<E>>::borrow(&**held)
}

/// What a transaction does with one entity.
pub(super) enum Change<'a, E> {
    Insert(Box<E>),
    Held(What, AnyHeld<'a, E>),
}

/// The changes of one transaction.
pub(super) struct Together<'a, E: Migrates> {
    pub client: Migrating<E>,
    /// The new partition.
    pub partition_key: String,
    pub changes: Vec<Change<'a, E>>,
}

/// A change of an entity of one form.
enum Step<T> {
    Insert(T),
    Save(Loaded<T>),
    Delete(Loaded<T>),
    Require(Loaded<T>),
}

impl<T> Step<T> {
    const fn of(what: What, loaded: Loaded<T>) -> Self {
        match what {
            What::Save => Self::Save(loaded),
            What::Delete => Self::Delete(loaded),
            What::Require => Self::Require(loaded),
        }
    }
}

/// The transaction of these steps.
fn writes<'l, T: TableEntity + 'static>(
    client: &TableClient,
    partition_key: &str,
    steps: &'l mut [Step<T>],
) -> Writes<'l> {
    let mut writes = Writes::in_partition(client.clone(), T::TABLE, Ok(partition_key.to_owned()));
    for step in steps {
        match step {
            Step::Insert(entity) => writes.rows(&*entity, insert_all),
            Step::Save(loaded) => writes.save(loaded),
            Step::Delete(loaded) => writes.delete(&*loaded),
            Step::Require(loaded) => writes.require(loaded),
        }
    }
    writes
}

impl<E: Migrates> Change<'_, E> {
    pub fn held(&self) -> Option<(What, &MigratingLoaded<E>)> {
        match self {
            Self::Insert(_) => None,
            Self::Held(what, held) => Some((*what, borrowed(held))),
        }
    }

    fn held_mut(&mut self) -> Option<(What, &mut MigratingLoaded<E>)> {
        match self {
            Self::Insert(_) => None,
            Self::Held(what, held) => {
                Some((*what, BorrowMut::<MigratingLoaded<E>>::borrow_mut(&mut **held)))
            }
        }
    }

    /// The new key of the entity.
    ///
    /// # Errors
    /// [`MigrationError::KeyChanged`] when a save would change it.
    pub fn key(&self) -> Result<CanonicalKey> {
        let (entity, loaded) = match self {
            Self::Insert(entity) => (&**entity, None),
            Self::Held(what, held) => {
                let held = borrowed(held);
                if *what != What::Save {
                    return Ok(held.key.clone());
                }
                (&held.entity, Some(&held.key))
            }
        };
        let key = canonical_key(&EntityRows::of(entity)?);
        match loaded {
            Some(loaded) if *loaded != key => {
                let (from, to) = (shown(loaded), shown(&key));
                Err(MigrationError::KeyChanged { entity: E::NAME, from, to }.into())
            }
            _ => Ok(key),
        }
    }
}

impl<E: Migrates> Together<'_, E> {
    /// Writes all, or nothing.
    pub async fn commit(mut self) -> Result<()> {
        let keys: Vec<_> = self.changes.iter().map(Change::key).collect::<Result<_>>()?;
        for key in &keys {
            self.check_partition(key)?;
        }
        for change in &self.changes {
            match change {
                Change::Insert(entity) => {
                    let rows = EntityRows::of_in(&**entity, self.client.new.table())?;
                    check_conversion::<E>(entity, &rows)?;
                }
                Change::Held(What::Save, held) => {
                    check_period(&borrowed(held).entity, self.client.new.table())
                        .map_err(InvalidEntity::from)?;
                }
                Change::Held(..) => {}
            }
        }
        let mut changes = self.changes.iter().zip(&keys).filter(|(_, key)| !has_one_form::<E>(key));
        let moving = changes.clone().count();
        let has_begun = changes.any(|(change, _)| {
            change.held().is_some_and(|(_, held)| held.form() == StoredForm::New)
        });
        if self.client.form == StoredForm::Old && !has_begun && moving > 0 {
            if moving < keys.len() {
                return Err(MigrationError::OldPartitions { entity: E::NAME }.into());
            }
            if self.commit_old().await? {
                return Ok(());
            }
        }
        self.commit_new().await
    }

    fn check_partition(&self, key: &CanonicalKey) -> Result<()> {
        if key.partition_key == self.partition_key {
            return Ok(());
        }
        let (expected, found) = (self.partition_key.clone(), key.partition_key.clone());
        Err(TransactionError::OtherPartition { entity: E::NAME, expected, found }.into())
    }

    /// Writes the old form in place. Returns `false`, and has written nothing, when it meets a marker.
    async fn commit_old(&mut self) -> Result<bool> {
        let client = &self.client.old.client;
        let (mut steps, mut keys) = (Vec::new(), Vec::new());
        for change in &self.changes {
            let (step, key) = self.old_step(change)?;
            steps.push(step);
            keys.push(key);
        }
        let Some(first) = keys.first().cloned() else { return Ok(true) };
        if keys.iter().any(|key| key.partition_key != first.partition_key) {
            return Err(MigrationError::OldPartitions { entity: E::NAME }.into());
        }
        let mut attempts = self.client.attempts();
        loop {
            let sent = writes(client, &first.partition_key, &mut steps).commit().await;
            let Err(error) = sent else { break };
            let mut met = None;
            for (change, key) in self.changes.iter().zip(&keys) {
                let is_marked = self.client.is_marked(&error, key).await?;
                match change {
                    Change::Insert(entity) if is_marked || stands_at(&error, key) => {
                        met = Some((&**entity, key));
                        break;
                    }
                    // The entity has moved, and may have the value itself.
                    Change::Held(_, held) if is_marked => {
                        return Err(self.client.changed(&borrowed(held).key));
                    }
                    _ => {}
                }
            }
            let Some((entity, key)) = met else { return Err(error) };
            let rows = EntityRows::of(entity)?;
            match self.client.look(key, &rows, &mut attempts).await? {
                Next::Insert => return Ok(false),
                Next::Again if attempts.next().await => {}
                Next::Again => return Err(error),
            }
        }
        for (change, step) in self.changes.iter_mut().zip(steps) {
            if let (Some((_, held)), Step::Save(loaded) | Step::Require(loaded)) =
                (change.held_mut(), step)
            {
                held.stored = Stored::Old(Box::new(OldEntity::of(&loaded)?));
            }
        }
        Ok(true)
    }

    /// The change under the old key.
    fn old_step(&self, change: &Change<'_, E>) -> Result<(Step<E::Old>, CanonicalKey)> {
        let as_old = |entity: &E| -> Result<(E::Old, CanonicalKey)> {
            let (old, old_rows) = as_old(entity, &EntityRows::of(entity)?)?;
            Ok((old, canonical_key(&old_rows)))
        };
        let (what, held) = match change {
            Change::Insert(entity) => {
                let (old, key) = as_old(entity)?;
                return Ok((Step::Insert(old), key));
            }
            Change::Held(what, held) => (*what, borrowed(held)),
        };
        let Stored::Old(old) = &held.stored else { return Err(self.client.changed(&held.key)) };
        let mut loaded = old.loaded(&self.client.old.client)?;
        if what == What::Save {
            *loaded = as_old(&held.entity)?.0;
        }
        Ok((Step::of(what, loaded), old.key.clone()))
    }

    /// Moves what is in its old form, and writes the new one.
    async fn commit_new(&mut self) -> Result<()> {
        // Nothing moves for a transaction that breaks a rule.
        let mut steps = self.new_steps(entity_as_if_copied)?;
        writes(&self.client.new.client, &self.partition_key, &mut steps).plan()?;
        // One entity may be required, and saved or deleted.
        let mut moved = Vec::<(CanonicalKey, ETag, AsRead<E>)>::new();
        for change in &mut self.changes {
            let Some((_, held)) = change.held_mut() else { continue };
            if let Stored::Parcel(parcel) = &held.stored {
                let landed = self.client.finish(parcel).await;
                landed.map_err(|error| unprepared::<E>(&held.key, error))?;
                return Err(self.client.changed(&held.key));
            }
            let Stored::Old(old) = &held.stored else { continue };
            let old = old.clone();
            let mut before =
                moved.iter().filter(|(key, etag, _)| (key, etag) == (&old.key, &old.etag));
            if let Some((.., as_read)) = before.next() {
                as_read.show(held)?;
                continue;
            }
            let as_read = self.client.move_held(held, &old).await?;
            moved.push((old.key, old.etag, as_read));
        }
        // The marker of an insert makes room, where an expired entity has the values.
        let values = self.take_values().await?;
        let committed = async {
            for change in &self.changes {
                if let Change::Insert(entity) = change {
                    self.client.fence(entity).await?;
                }
            }
            let mut steps = self.new_steps(|entity| Ok(entity.clone()))?;
            writes(&self.client.new.client, &self.partition_key, &mut steps).commit().await?;
            Ok(steps)
        };
        let mut committed: Result<_> = committed.await;
        for copied in &values {
            committed = self.client.copied(copied, committed).await;
        }
        let steps = committed?;
        for (change, step) in self.changes.iter_mut().zip(steps) {
            if let (Some((what, held)), Step::Save(loaded) | Step::Require(loaded)) =
                (change.held_mut(), step)
            {
                if what == What::Save {
                    held.entity = (*loaded).clone();
                }
                held.stored = Stored::New(Box::new(loaded));
            }
        }
        Ok(())
    }

    /// Copies the large values of old keys that the changes write.
    async fn take_values(&mut self) -> Result<Vec<Copied>> {
        let mut all = Vec::new();
        if const { !has_large::<E>() } {
            return Ok(all);
        }
        for change in &mut self.changes {
            let (entity, stored) = match change {
                Change::Insert(entity) => (&mut **entity, None),
                Change::Held(What::Save, held) => {
                    let held = BorrowMut::<MigratingLoaded<E>>::borrow_mut(&mut **held);
                    let stored = match &held.stored {
                        Stored::New(loaded) => Some(loaded.stored_rows()?),
                        _ => None,
                    };
                    (&mut held.entity, stored)
                }
                Change::Held(..) => continue,
            };
            let rows = EntityRows::of(entity)?;
            let own = self.client.own_values(Cow::Borrowed(&rows), stored.as_ref()).await;
            let copied = match own {
                Ok(own) => own.copied,
                Err(error) => {
                    for copied in &all {
                        self.client.remove_copies(copied).await;
                    }
                    return Err(error);
                }
            };
            if !copied.copies.is_empty() {
                *entity = with_copies(&rows, &copied.copies)?;
            }
            all.push(copied);
        }
        Ok(all)
    }

    /// The changes under the new keys. An entity in its old form has no version yet.
    fn new_steps(&self, of: fn(&E) -> Result<E>) -> Result<Vec<Step<E>>> {
        let step = |change: &Change<'_, E>| {
            let (what, held) = match change {
                Change::Insert(entity) => return Ok(Step::Insert(of(entity)?)),
                Change::Held(what, held) => (*what, borrowed(held)),
            };
            let mut loaded = match &held.stored {
                Stored::New(loaded) => (**loaded).clone(),
                Stored::Old(old) => Loaded::of_rows(&*as_if_copied::<E>(&old.rows)?)?,
                Stored::Parcel(parcel) => Loaded::of_rows(&parcel.rows)?,
                Stored::Moved => return Err(self.client.changed(&held.key)),
            };
            if what == What::Save {
                *loaded = of(&held.entity)?;
            }
            Ok(Step::of(what, loaded))
        };
        self.changes.iter().map(step).collect()
    }
}

/// An entity that moved as it was read.
pub(super) struct AsRead<E> {
    loaded: Box<Loaded<E>>,
    copies: Copies,
}

impl<E: Migrates> AsRead<E> {
    /// `None` where its version is not known.
    fn of(Moved { rows, copies, etag }: Moved<'_>) -> Result<Option<Self>> {
        let Some((row, etag)) = rows.canonical().zip(etag) else { return Ok(None) };
        let mut loaded = Loaded::<E>::of_rows(&rows)?;
        loaded.written(row.body.clone(), etag);
        Ok(Some(Self { loaded: Box::new(loaded), copies }))
    }

    /// Lets a loaded entity be in its new form, as it was changed since.
    fn show(&self, held: &mut MigratingLoaded<E>) -> Result<()> {
        if !self.copies.is_empty() {
            held.entity = with_copies(&EntityRows::of(&held.entity)?, &self.copies)?;
        }
        held.stored = Stored::New(self.loaded.clone());
        Ok(())
    }
}

impl<E: Migrates> Migrating<E> {
    /// Moves a loaded entity as it was read, which had this old form.
    ///
    /// # Errors
    /// [`Error::Conflict`] when it has changed since, or the version of its new row is not known.
    pub(super) async fn move_held(
        &self,
        held: &mut MigratingLoaded<E>,
        old: &OldEntity<E>,
    ) -> Result<AsRead<E>> {
        let moved = self.move_as_read(old).await;
        let moved = moved.map_err(|error| unprepared::<E>(&held.key, error))?;
        let Some(moved) = moved else {
            held.stored = Stored::Moved;
            return Err(self.changed(&held.key));
        };
        moved.show(held)?;
        Ok(moved)
    }

    /// Returns `None` when it has changed since, or the version of its new row is not known.
    async fn move_as_read(&self, old: &OldEntity<E>) -> Result<Option<AsRead<E>>> {
        let mut attempts = self.attempts();
        loop {
            let error = match self.move_to(old, &old.rows).await {
                Ok(moved) => return AsRead::of(moved),
                Err(error) => error,
            };
            if !error.is_unanswered() {
                return Err(error);
            }
            let now = AtOld::<E::Old>::read(&self.old.client, &old.key).await?;
            if !now.is_version(old.etag.as_str()) {
                return Ok(None);
            }
            if !attempts.next().await {
                return Err(error);
            }
        }
    }

    /// Sees to it that a marker is under the old key of an entity that will be inserted in its new form.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`] when the entity is there, or another one has its old key.
    async fn fence(&self, entity: &E) -> Result<()> {
        let rows = EntityRows::of(entity)?;
        let new = canonical_key(&rows);
        let Some(key) = old_key::<E>(&new) else { return Ok(()) };
        let fenced = self.put_marker(&key, &rows).await;
        fenced.map_err(|error| unprepared::<E>(&new, error))
    }

    async fn put_marker(&self, key: &CanonicalKey, rows: &EntityRows) -> Result<()> {
        let marker = Marker::new(self.new.table(), &rows.partition_key, None);
        let marker = marker_row(&marker, key)?;
        let operation = Operation { row_key: key.row_key.clone(), action: Action::Insert(marker) };
        let partition_key = key.partition_key.clone();
        let batch = Batch { partition_key, operations: vec![operation] };
        let mut attempts = self.attempts();
        loop {
            let nothing = Intents::default();
            let sent = send_and_settle(&self.old.client, batch.clone(), None, nothing).await;
            let Err(error) = sent else { return Ok(()) };
            // A marker that was sent twice does no harm.
            if !stands_at(&error, key) && !error.is_unanswered() {
                return Err(error);
            }
            match self.look(key, rows, &mut attempts).await? {
                Next::Insert => return Ok(()),
                Next::Again if attempts.next().await => {}
                Next::Again => return Err(error),
            }
        }
    }
}

/// The error of a step before the transaction. Without an answer it would say that the transaction may have taken
/// effect.
fn unprepared<E: Migrates>(key: &CanonicalKey, error: Error) -> Error {
    if !error.is_unanswered() {
        return error;
    }
    let (key, cause) = (shown(key), error.to_string());
    MigrationError::Unprepared { entity: E::NAME, key, cause }.into()
}
