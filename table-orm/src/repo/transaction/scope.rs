//! A transaction that reads before it writes: one attempt of it.
//!
//! Invariant: it takes effect only if every entity that was read through it is still as it was read.

use super::writes::{Room, Writes, complete};
use crate::entity::{CanonicalKeyOf, CompleteKey, Loaded, Query, Row, TableEntity, has_one_form};
use crate::error::{Error, Result};
use crate::model::ETag;
use crate::plan::{CanonicalKey, EntityContext, Found, Plan, TableClient, insert_all, upsert_all};
use crate::repo::EntityPatch;
use crate::store::{Action, Operation};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A transaction that a function reads and writes through: see
/// [`Tables::transaction_with`](crate::Tables::transaction_with).
///
/// Every entity that is read through it is unchanged when the transaction takes effect; otherwise the function
/// is called again. An entity that is only read costs one operation and gets a new version, as with
/// [`require`](super::Transaction::require). Read through a [`Repo`](crate::Repo) what may change meanwhile.
///
/// If an entity was read as absent, this is checked only when the transaction writes it: by `insert`, or by
/// `upsert` or `insert_or_merge`, which are then sent as an insert. A `merge` into an absent entity fails with
/// `Error::NotFound`, and nothing is sent.
#[derive(Debug)]
pub struct TransactionScope(Arc<Mutex<State>>);

/// What was read and is to be written.
#[derive(Debug)]
pub(super) struct State {
    writes: Writes<'static>,
    /// The first read of each row.
    reads: Vec<RowRead>,
    /// The row of `reads` that a later read found changed.
    changed: Option<usize>,
}

/// The entity of a key.
type EntityOf<Q> = <<Q as Query>::Row as Row>::Entity;

/// A canonical row that was read.
#[derive(Debug)]
struct RowRead {
    context: EntityContext,
    row_key: String,
    /// Its version; `None` when it did not exist.
    etag: Option<ETag>,
}

/// A condition that failed: a row, and the version that it no longer has.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FailedCondition {
    row_key: String,
    etag: Option<ETag>,
}

impl TransactionScope {
    pub(super) fn new(writes: Writes<'static>) -> Self {
        Self(Arc::new(Mutex::new(State { writes, reads: Vec::new(), changed: None })))
    }

    /// The same scope, for the function.
    pub(super) fn share(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the entity under a canonical key of the partition: one request. Returns `None` when it does not
    /// exist.
    ///
    /// # Errors
    /// When a key cannot hold one of the values, the entity is of another table or partition, the store
    /// rejects the request, or the row cannot be read. [`Error::KeyMismatch`] as in
    /// [`Repo::load`](crate::Repo::load).
    pub async fn load<Q>(&self, key: Q) -> Result<Option<Loaded<EntityOf<Q>>>>
    where
        Q: CompleteKey + CanonicalKeyOf<EntityOf<Q>>,
    {
        const { has_one_form::<EntityOf<Q>>() };
        let (partition_key, row_key) = complete(key.into_keys()?);
        let context = EntityContext::of::<EntityOf<Q>>();
        let client = {
            let writes = &self.state().writes;
            writes.check_place::<EntityOf<Q>>(&partition_key)?;
            TableClient { context, ..writes.client.clone() }
        };
        let key = CanonicalKey { partition_key, row_key };
        let loaded = match client.find::<EntityOf<Q>>(&client.point_of::<EntityOf<Q>>(&key)).await?
        {
            Found::Entity(loaded) => Some(loaded).filter(|loaded| client.is_alive(loaded)),
            Found::Nothing => None,
            // Not a row that is absent: another attempt to insert one would fail, too.
            Found::OtherType => return Ok(None),
        };
        let row_key = key.row_key;
        let etag = loaded.as_ref().map(|loaded| loaded.etag().clone());
        let State { reads, changed, .. } = &mut *self.state();
        match reads.iter().position(|read| read.row_key == row_key) {
            None => reads.push(RowRead { context, row_key, etag }),
            Some(place) if reads[place].etag != etag => *changed = Some(place),
            Some(_) => {}
        }
        Ok(loaded)
    }

    /// Does the same as [`load`](Self::load), and returns the entity alone.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub async fn get<Q>(&self, key: Q) -> Result<Option<EntityOf<Q>>>
    where
        Q: CompleteKey + CanonicalKeyOf<EntityOf<Q>>,
    {
        Ok(self.load(key).await?.map(Loaded::into_inner))
    }

    /// Adds an insert, as [`Transaction::insert`](super::Transaction::insert).
    pub fn insert<E: TableEntity>(&self, entity: &E) {
        const { has_one_form::<E>() };
        self.state().writes.rows(entity, insert_all);
    }

    /// Adds an insert or replace, as [`Transaction::upsert`](super::Transaction::upsert).
    pub fn upsert<E: TableEntity>(&self, entity: &E) {
        const { has_one_form::<E>() };
        self.state().writes.blind(entity, upsert_all);
    }

    /// Adds an insert or merge, as
    /// [`Transaction::insert_or_merge`](super::Transaction::insert_or_merge).
    pub fn insert_or_merge<E: TableEntity>(&self, entity: &E) {
        const { has_one_form::<E>() };
        self.state().writes.insert_or_merge(entity);
    }

    /// Adds a merge of a patch, as [`Transaction::merge`](super::Transaction::merge).
    pub fn merge<Q>(&self, key: Q, patch: impl EntityPatch<EntityOf<Q>>)
    where
        Q: CompleteKey + CanonicalKeyOf<EntityOf<Q>>,
    {
        const { has_one_form::<EntityOf<Q>>() };
        self.state().writes.merge(key.into_keys(), &patch.into_patch());
    }

    /// Adds a save, as [`Transaction::save`](super::Transaction::save).
    pub fn save<E: TableEntity + 'static>(&self, loaded: Loaded<E>) {
        const { has_one_form::<E>() };
        self.state().writes.save(loaded);
    }

    /// Adds a delete, as [`Transaction::delete`](super::Transaction::delete).
    #[allow(clippy::needless_pass_by_value)] // A deleted entity is of no further use.
    pub fn delete<E: TableEntity>(&self, loaded: Loaded<E>) {
        const { has_one_form::<E>() };
        self.state().writes.delete(&loaded);
    }

    /// Requires that an entity which was loaded outside the scope is unchanged, as
    /// [`Transaction::require`](super::Transaction::require). Entities that were read through the scope are
    /// required already.
    pub fn require<E: TableEntity>(&self, loaded: &Loaded<E>) {
        const { has_one_form::<E>() };
        self.state().writes.require_once(loaded);
    }

    /// Returns the number of its operations so far, without those for entities that were only read.
    #[must_use]
    pub fn len(&self) -> usize {
        self.state().writes.len()
    }

    /// Returns whether nothing is to be written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns what still fits, as [`Transaction::room`](super::Transaction::room), after the operations for
    /// entities that were only read.
    #[must_use]
    pub fn room(&self) -> Room {
        let State { writes, reads, .. } = &*self.state();
        let mut all = writes.copy();
        // An operation that fails takes its room, too.
        let _ = require_reads(&mut all, reads);
        all.room()
    }

    /// Returns the request for the writes so far, with the conditions for entities that were only read, in
    /// the order in which it would be sent. Empty without writes.
    ///
    /// # Errors
    /// As [`Transaction::plan`](super::Transaction::plan), and the error of a write that cannot take effect
    /// after what was read.
    pub fn plan(&self) -> Result<Plan> {
        let State { writes, reads, .. } = &*self.state();
        let mut all = writes.copy();
        if all.len() > 0 && !all.is_faulty() {
            require_reads(&mut all, reads).map_err(|unmet| unmet.into_error(&all).0)?;
            send_conditions_first(&mut all, reads);
        }
        all.plan()
    }

    /// Sends the writes under the versions that were read; nothing without writes. Returns with an error the
    /// condition that failed, if another attempt may succeed.
    pub(super) async fn commit(&self) -> Result<(), (Error, Option<FailedCondition>)> {
        let (mut writes, reads, changed) = {
            let mut state = self.state();
            let none = state.writes.emptied();
            let writes = mem::replace(&mut state.writes, none);
            (writes, mem::take(&mut state.reads), state.changed.take())
        };
        if writes.len() == 0 {
            return writes.commit().await.map(drop).map_err(|error| (error, None));
        }
        let changed = changed.and_then(|place| reads.get(place)).map(Unmet::changed);
        let required = require_reads(&mut writes, &reads);
        if let Err(unmet) = changed.map_or(Ok(()), Err).and(required)
            && !writes.is_faulty()
        {
            return Err(unmet.into_error(&writes));
        }
        send_conditions_first(&mut writes, &reads);
        let operations = writes.batch.operations.iter();
        let conditions: Vec<_> = operations
            .map(|operation| FailedCondition {
                row_key: operation.row_key.clone(),
                etag: operation.action.etag().cloned(),
            })
            .collect();
        let error = match writes.commit().await {
            Ok(_) => return Ok(()),
            Err(error) => error,
        };
        let index = error.rejection().and_then(|rejection| rejection.operation);
        let failed = index.and_then(|(index, _)| conditions.into_iter().nth(index));
        let failed = failed.filter(|failed| match &error {
            Error::Conflict(_) | Error::NotFound(_) => failed.etag.is_some(),
            Error::AlreadyExists(_) => was_absent(&reads, &failed.row_key),
            _ => false,
        });
        Err((error, failed))
    }
}

/// A condition that is known to fail before anything is sent.
struct Unmet {
    context: EntityContext,
    condition: FailedCondition,
    /// Whether another attempt would fail as well.
    is_final: bool,
    /// Its error, of a PartitionKey and a RowKey.
    error: fn(&TableClient, &str, &str) -> Error,
}

impl Unmet {
    /// Two versions of a row were read.
    fn changed(read: &RowRead) -> Self {
        let condition = FailedCondition { row_key: read.row_key.clone(), etag: read.etag.clone() };
        let (context, error) = (read.context, TableClient::changed as _);
        Self { context, condition, is_final: false, error }
    }

    /// The operation on a row cannot take effect under the version that was read.
    fn operation(read: &RowRead, operation: Operation) -> Self {
        let changed = Self::changed(read);
        match operation.action.etag().cloned() {
            None if read.etag.is_some() => Self { error: TableClient::already_exists, ..changed },
            // It was absent when it was read, and nothing of the transaction inserts it.
            None => Self { error: TableClient::not_found, is_final: true, ..changed },
            etag => {
                let condition = FailedCondition { row_key: operation.row_key, etag };
                let error =
                    if read.etag.is_some() { TableClient::changed } else { TableClient::not_found };
                Self { condition, error, ..changed }
            }
        }
    }

    /// The error, and the condition if another attempt may succeed.
    fn into_error(self, writes: &Writes<'_>) -> (Error, Option<FailedCondition>) {
        let Self { context, condition, is_final, error } = self;
        let client = TableClient { context, ..writes.client.clone() };
        let error = error(&client, &writes.batch.partition_key, &condition.row_key);
        (error, Some(condition).filter(|_| !is_final))
    }
}

fn was_absent(reads: &[RowRead], row_key: &str) -> bool {
    reads.iter().any(|read| read.etag.is_none() && read.row_key == row_key)
}

/// A lost race is noticed here before it makes another operation fail.
fn send_conditions_first(writes: &mut Writes<'_>, reads: &[RowRead]) {
    writes.move_first(|Operation { row_key, action }| {
        action.etag().is_some() || matches!(action, Action::Insert(_)) && was_absent(reads, row_key)
    });
}

/// Makes the writes fail unless each row is still as it was read.
fn require_reads(writes: &mut Writes<'_>, reads: &[RowRead]) -> Result<(), Unmet> {
    let mut required = Ok(());
    for read in reads {
        let met = match &read.etag {
            Some(etag) => writes.require_row(read.context, &read.row_key, etag),
            None => writes.require_absent(&read.row_key),
        };
        required = required.and(met.map_err(|operation| Unmet::operation(read, operation)));
    }
    required
}

impl FailedCondition {
    /// Whether the function that failed before has not read the row again, so that another attempt would
    /// fail, too.
    pub(super) fn is_stale(&self, before: Option<&Self>) -> bool {
        self.etag.is_some() && before == Some(self)
    }
}
