//! A transaction whose writes depend on what it reads.
//!
//! Invariant: it takes effect only if every entity that was read through it is still as it was read.

use super::loaded::MigratingLoaded;
use super::migrates::Migrates;
use super::migrating::Migrating;
use super::old_key::old_key;
use super::save::{is_lost, is_there};
use super::together::{Change, Together, What};
use super::transaction::partition_of;
use crate::entity::{CanonicalKeyOf, CompleteKey, RowOf, WholePartition, keys_of};
use crate::error::{Error, Result, TransactionError};
use crate::key::KeyError;
use crate::model::ETag;
use crate::plan::{Attempts, CanonicalKey, RetryLimits};
use futures_core::future::BoxFuture;
use std::fmt;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

impl<E: Migrates> Migrating<E> {
    /// Starts a transaction that reads before it writes, in either form. `function` reads and writes through its
    /// [`MigratingScope`]; it is called again when another client, or a mover, has written what it read.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, TableEntity)]
    /// # #[table(name = "lots", partition = "{hall}", row = "L:{n:03}")]
    /// # struct LotV1 { hall: String, n: u32, cents: i64 }
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "lots2", partition = "{hall}", row = "LOT:{n:08}", migrate_from = LotV1)]
    /// # struct Lot { hall: String, n: u32, cents: i64 }
    /// # impl From<LotV1> for Lot { fn from(LotV1 { hall, n, cents }: LotV1) -> Self { Self { hall, n, cents } } }
    /// # impl From<Lot> for LotV1 { fn from(Lot { hall, n, cents }: Lot) -> Self { Self { hall, n, cents } } }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let old = tables.repo::<LotV1>();
    /// # old.create_table().await?;
    /// # for n in [1, 2] { old.insert(&LotV1 { hall: "a".into(), n, cents: 500 }).await?; }
    /// # let lots = tables.migrating::<Lot>()?;
    /// # lots.create_table_if_not_exists().await?;
    /// let hall = Lot::partition("a");
    /// let left = lots.transaction_with(&hall, async |tx| {
    ///     let mut from = tx.load(hall.row().n(1_u32)).await?.expect("it is stored");
    ///     let mut to = tx.load(hall.row().n(2_u32)).await?.expect("it is stored");
    ///     from.cents -= 200;
    ///     to.cents += 200;
    ///     let left = from.cents;
    ///     tx.save(from);
    ///     tx.save(to);
    ///     Ok(left)
    /// });
    /// assert_eq!(left.await?, 300);
    /// assert_eq!(lots.get(hall.row().n(2_u32)).await?.map(|lot| lot.cents), Some(700));
    /// # Ok(())
    /// # }
    /// ```
    pub fn transaction_with<'a, Q, T, F>(
        &self,
        partition: Q,
        function: impl FnMut(MigratingScope<E>) -> F + Send + 'a,
    ) -> MigratingTransactionWith<'a, E, T>
    where
        Q: WholePartition,
        Q::Row: RowOf<E>,
        F: Future<Output = Result<T>> + Send + 'a,
    {
        self.try_transaction_with(partition, function)
    }

    /// Does the same as [`transaction_with`](Self::transaction_with), for a function with an error type of the app's
    /// own.
    pub fn try_transaction_with<'a, Q, T, X, F>(
        &self,
        partition: Q,
        function: impl FnMut(MigratingScope<E>) -> F + Send + 'a,
    ) -> MigratingTransactionWith<'a, E, T, X>
    where
        Q: WholePartition,
        Q::Row: RowOf<E>,
        F: Future<Output = Result<T, X>> + Send + 'a,
        X: From<Error>,
    {
        MigratingTransactionWith::of(self, partition_of(partition), function)
    }
}

type Function<'a, E, T, X> =
    Box<dyn FnMut(MigratingScope<E>) -> BoxFuture<'a, Result<T, X>> + Send + 'a>;

/// A transaction that reads before it writes: `.await` calls the function, sends its writes as
/// [`MigratingTransaction::commit`](super::MigratingTransaction::commit) does, and returns what it returned.
///
/// # Errors
/// - The error of the function. None of its writes is sent then.
/// - [`Error::Conflict`], [`Error::NotFound`] or [`Error::AlreadyExists`] when every attempt lost to another writer, or
///   when it is about an entity that was not read through the scope.
/// - [`Error::AlreadyExists`] at once when the function inserts an entity that it read, or one whose old key another
///   entity has. Move that one first.
/// - Otherwise as `commit`.
#[must_use = "nothing is sent until this is awaited"]
pub struct MigratingTransactionWith<'a, E: Migrates, T, X = Error> {
    client: Migrating<E>,
    partition_key: Result<String, KeyError>,
    function: Function<'a, E, T, X>,
    limits: RetryLimits,
}

impl<E: Migrates, T, X> fmt::Debug for MigratingTransactionWith<'_, E, T, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("MigratingTransactionWith");
        out.field("partition_key", &self.partition_key).finish_non_exhaustive()
    }
}

/// What the function of [`Migrating::transaction_with`] reads and writes through.
///
/// What is read through it is still so when the transaction takes effect. That an entity was absent is checked only when
/// it is inserted.
pub struct MigratingScope<E: Migrates>(Arc<Mutex<State<E>>>);

struct State<E: Migrates> {
    client: Migrating<E>,
    partition_key: String,
    changes: Vec<Change<'static, E>>,
    /// The first reading of each entity.
    reads: Vec<Reading<E>>,
    /// The key of one that a second reading found changed.
    changed: Option<CanonicalKey>,
}

struct Reading<E> {
    key: CanonicalKey,
    held: Option<MigratingLoaded<E>>,
}

/// A reading that is not so any more.
#[derive(Debug, Clone, PartialEq)]
struct Stale {
    key: CanonicalKey,
    etag: Option<ETag>,
}

impl<E> Reading<E> {
    fn stale(&self) -> Stale {
        let etag = self.held.as_ref().and_then(MigratingLoaded::etag).cloned();
        Stale { key: self.key.clone(), etag }
    }
}

impl<E: Migrates> fmt::Debug for MigratingScope<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MigratingScope").field("changes", &self.len()).finish_non_exhaustive()
    }
}

impl<E: Migrates> MigratingScope<E> {
    fn state(&self) -> MutexGuard<'_, State<E>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the entity under a new key of the partition, whatever its form. Returns `None` when it does not exist.
    ///
    /// # Errors
    /// As [`Migrating::load`], and when the entity is of another partition.
    pub async fn load<Q>(&self, key: Q) -> Result<Option<MigratingLoaded<E>>>
    where
        Q: CompleteKey + CanonicalKeyOf<E>,
    {
        self.load_at(CanonicalKey::of(keys_of(key)?)).await
    }

    pub(super) async fn load_at(&self, key: CanonicalKey) -> Result<Option<MigratingLoaded<E>>> {
        let (client, expected) = {
            let state = self.state();
            (state.client.clone(), state.partition_key.clone())
        };
        if key.partition_key != expected {
            let found = key.partition_key;
            return Err(
                TransactionError::OtherPartition { entity: E::NAME, expected, found }.into()
            );
        }
        let held = client.hold(&key).await?;
        let State { reads, changed, .. } = &mut *self.state();
        // An entity that waits for an index row has no version yet.
        let version =
            |held: &Option<MigratingLoaded<E>>| held.as_ref().map(|held| held.etag().cloned());
        match reads.iter().find(|read| read.key == key) {
            None => reads.push(Reading { key, held: held.clone() }),
            Some(read) if version(&read.held) != version(&held) => *changed = Some(key),
            Some(_) => {}
        }
        Ok(held)
    }

    /// Does the same as [`load`](Self::load), and returns the entity alone.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub async fn get<Q>(&self, key: Q) -> Result<Option<E>>
    where
        Q: CompleteKey + CanonicalKeyOf<E>,
    {
        Ok(self.load(key).await?.map(MigratingLoaded::into_inner))
    }

    /// Adds an insert.
    pub fn insert(&self, entity: &E) {
        self.state().changes.push(Change::Insert(Box::new(entity.clone())));
    }

    /// Adds a save.
    pub fn save(&self, held: MigratingLoaded<E>) {
        self.add(What::Save, held);
    }

    /// Adds a delete.
    pub fn delete(&self, held: MigratingLoaded<E>) {
        self.add(What::Delete, held);
    }

    fn add(&self, what: What, held: MigratingLoaded<E>) {
        self.state().changes.push(Change::Held(what, Box::new(held)));
    }

    /// Returns the number of writes so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.state().changes.len()
    }

    /// Returns whether nothing is to be written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sends the writes, with a condition for each entity that was read; nothing without writes. Returns with an error
    /// the reading that is not so any more, if another attempt may succeed.
    async fn commit(&self) -> Result<(), (Error, Option<Stale>)> {
        let (client, partition_key, mut changes, reads, changed) = {
            let State { client, partition_key, changes, reads, changed } = &mut *self.state();
            let (changes, reads) = (mem::take(changes), mem::take(reads));
            (client.clone(), partition_key.clone(), changes, reads, changed.take())
        };
        if changes.is_empty() {
            return Ok(());
        }
        if let Some(read) = reads.iter().find(|read| Some(&read.key) == changed.as_ref()) {
            return Err((client.changed(&read.key), Some(read.stale())));
        }
        if let Some(refusal) = refusal(&client, &changes, &reads) {
            return Err(refusal);
        }
        // Of an entity in its old form, an error may name either key.
        let named: Vec<_> = reads
            .iter()
            .flat_map(|read| {
                let keys = [Some(read.key.clone()), old_key::<E>(&read.key)];
                keys.into_iter().flatten().map(|key| (key, read.stale()))
            })
            .collect();
        let required = reads.into_iter().filter_map(|read| read.held);
        changes.extend(required.map(|held| Change::Held(What::Require, Box::new(held))));
        let committed = Together { client: client.clone(), partition_key, changes }.commit().await;
        let Err(error) = committed else { return Ok(()) };
        let stale = error.rejection().and_then(|rejection| {
            let (partition_key, row_key) = (&rejection.partition_key, &rejection.row_key);
            let mut named = named.into_iter();
            named.find(|(key, _)| (&key.partition_key, &key.row_key) == (partition_key, row_key))
        });
        let Some((_, stale)) = stale.filter(|_| is_lost(&error) || is_there(&error)) else {
            return Err((error, None));
        };
        // Until another entity has moved that has its old key, no attempt inserts it.
        let is_taken =
            is_there(&error) && matches!(client.is_old_key_taken(&stale.key).await, Ok(true));
        Err((error, Some(stale).filter(|_| !is_taken)))
    }
}

/// The error of a change that cannot take effect after what was read.
fn refusal<E: Migrates>(
    client: &Migrating<E>,
    changes: &[Change<'_, E>],
    reads: &[Reading<E>],
) -> Option<(Error, Option<Stale>)> {
    // The rules of a transaction tell of a change without a key.
    let keys: Vec<_> = changes.iter().map(|change| change.key().ok()).collect();
    reads.iter().find_map(|read| {
        let of_key =
            || changes.iter().zip(&keys).filter(|(_, key)| key.as_ref() == Some(&read.key));
        let etag = read.held.as_ref().and_then(MigratingLoaded::etag);
        let mut written = of_key().filter_map(|(change, _)| change.held());
        if let Some((_, other)) = written.find(|(_, held)| held.etag() != etag) {
            let stale = Stale { etag: other.etag().cloned(), ..read.stale() };
            return Some((client.changed(&read.key), Some(stale)));
        }
        let inserts = of_key().any(|(change, _)| change.held().is_none());
        let deletes = of_key().any(|(change, _)| matches!(change.held(), Some((What::Delete, _))));
        let is_there = inserts && !deletes && read.held.is_some();
        let CanonicalKey { partition_key, row_key } = &read.key;
        is_there.then(|| (client.new.client.already_exists(partition_key, row_key), None))
    })
}

impl<'a, E: Migrates, T, X: From<Error>> MigratingTransactionWith<'a, E, T, X> {
    pub(super) fn of<F>(
        client: &Migrating<E>,
        partition_key: Result<String, KeyError>,
        mut function: impl FnMut(MigratingScope<E>) -> F + Send + 'a,
    ) -> Self
    where
        F: Future<Output = Result<T, X>> + Send + 'a,
    {
        let function: Function<'a, E, T, X> = Box::new(move |scope| Box::pin(function(scope)));
        Self { client: client.clone(), partition_key, function, limits: RetryLimits::default() }
    }

    /// Sets how long it starts again when other writers change what it read, instead of
    /// [`CONFLICT_RETRY_TIME`](crate::repo::CONFLICT_RETRY_TIME). With zero it makes one attempt.
    pub const fn retry_for(mut self, time: Duration) -> Self {
        self.limits.time = time;
        self
    }

    /// Sets the most attempts within that time; 0 counts as 1.
    pub fn attempts(mut self, attempts: usize) -> Self {
        self.limits.set_attempts(attempts);
        self
    }

    async fn run(mut self) -> Result<T, X> {
        let partition_key = self.partition_key.map_err(Error::from)?;
        let mut attempts = Attempts::begin(&self.client.new.client.connection, self.limits);
        let mut before = None;
        loop {
            let scope = MigratingScope(Arc::new(Mutex::new(State {
                client: self.client.clone(),
                partition_key: partition_key.clone(),
                changes: Vec::new(),
                reads: Vec::new(),
                changed: None,
            })));
            let value = (self.function)(MigratingScope(Arc::clone(&scope.0))).await?;
            match scope.commit().await {
                Ok(()) => return Ok(value),
                Err((error, stale)) => {
                    // A function that writes a version again which it has not read again fails again.
                    let is_repeated = stale
                        .as_ref()
                        .is_none_or(|stale| stale.etag.is_some() && before.as_ref() == Some(stale));
                    if is_repeated || !attempts.next().await {
                        return Err(error.into());
                    }
                    before = stale;
                }
            }
        }
    }
}

impl<'a, E, T, X> IntoFuture for MigratingTransactionWith<'a, E, T, X>
where
    E: Migrates,
    T: Send + 'a,
    X: From<Error> + Send + 'a,
{
    type Output = Result<T, X>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
