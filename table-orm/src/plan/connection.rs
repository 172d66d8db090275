//! A store, and the locks of the calls that write to it.
//!
//! Invariant: no call waits for a lock that makes no progress without end. The task that holds the lock
//! may have stopped polling its call in order to await this one.

use super::canonical_key::CanonicalKey;
use super::registers::Registers;
use super::within::writing;
use crate::blobs::Blobs;
#[cfg(feature = "cache")]
use crate::cache::{DEFAULT_CACHE_BYTES, RowCache};
#[cfg(any(test, feature = "testing"))]
use crate::model::DateTime;
use crate::model::TableName;
use crate::store::{Store, StoreError};
use crate::sync::{KeyedLock, Permit, Random, Timer, WallClock};
use futures_util::FutureExt as _;
use futures_util::future::{Either, select};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// The longest wait for a lock whose calls make no progress, enough for many requests to end. After it,
/// the ETag alone decides.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// The most tasks at a time that bring rows in other partitions in step while no call waits for them.
pub(crate) const MAX_IN_BACKGROUND: usize = 64;

/// What all clones of a [`Tables`](crate::Tables) share.
#[derive(Debug)]
pub(crate) struct Connection {
    pub store: Arc<dyn Store>,
    /// Held by writes that read an entity first.
    write_locks: KeyedLock<LockKey>,
    /// Held by tasks that go on after the call that began them: [`MAX_IN_BACKGROUND`] permits.
    pub background: Arc<Semaphore>,
    /// The clock of waits.
    pub timer: Timer,
    /// Spreads the waits after conflicts.
    pub random: Arc<Random>,
    /// What names begin with, and what says which entities have expired.
    pub clock: WallClock,
    /// The registers of its tables.
    pub registers: Arc<Registers>,
    /// What holds the bytes of large values, if rows do not.
    pub blobs: Option<Arc<dyn Blobs>>,
    /// The rows that it keeps.
    #[cfg(feature = "cache")]
    pub cache: Arc<RowCache>,
}

/// The canonical row of an entity.
pub(super) type LockKey = (TableName, CanonicalKey);

impl Connection {
    pub fn new(store: Arc<dyn Store>) -> Self {
        let (timer, random) = (Timer::system(), Arc::new(Random::from_system()));
        let background = Arc::new(Semaphore::new(MAX_IN_BACKGROUND));
        let (write_locks, registers) = (KeyedLock::new(1), Arc::default());
        Self {
            store,
            write_locks,
            background,
            timer,
            random,
            clock: WallClock::System,
            registers,
            blobs: None,
            #[cfg(feature = "cache")]
            cache: Arc::new(RowCache::new(DEFAULT_CACHE_BYTES)),
        }
    }

    /// The same, with a cache of at most `bytes` bytes of rows.
    #[cfg(feature = "cache")]
    pub fn with_cache(self, bytes: u64) -> Self {
        Self { cache: Arc::new(RowCache::new(bytes)), ..self }
    }

    /// The same with another clock.
    pub fn with_clock(self, clock: WallClock) -> Self {
        Self { clock, ..self }
    }

    /// The same, whose large values are in blobs.
    pub fn with_blobs(self, blobs: Option<Arc<dyn Blobs>>) -> Self {
        Self { blobs, ..self }
    }

    /// The time on the clock of waits.
    pub fn now(&self) -> Duration {
        self.timer.now()
    }

    /// Another store with locks and kept rows of its own, and the same clocks and registers.
    pub fn with_store(&self, store: Arc<dyn Store>) -> Self {
        Self {
            store,
            write_locks: KeyedLock::new(1),
            background: Arc::clone(&self.background),
            timer: self.timer,
            random: Arc::clone(&self.random),
            clock: self.clock.clone(),
            registers: Arc::clone(&self.registers),
            blobs: self.blobs.clone(),
            // What a layer answers is not what the store below it answers.
            #[cfg(feature = "cache")]
            cache: Arc::new(self.cache.emptied()),
        }
    }

    /// The same store with locks of its own, whose waits are on the runtime's clock and follow the seed, as the
    /// dates do. These are wrong by hours: nothing that must hold depends on them.
    #[cfg(any(test, feature = "testing"))]
    pub fn on_virtual_time(&self, seed: u64) -> Self {
        /// The year 2026.
        const DATE: i64 = 639_028_224_000_000_000;
        let (timer, random) = (Timer::tokio(), Arc::new(Random::seeded(seed)));
        let date = DateTime::from_ticks(DATE).unwrap_or(DateTime::MAX);
        // A clock that was given stays as it is.
        let clock = match &self.clock {
            WallClock::Given(_) => self.clock.clone(),
            _ => WallClock::wrong(date, seed),
        };
        Self { timer, random, clock, ..self.with_store(Arc::clone(&self.store)) }
    }

    /// Deletes a table.
    pub async fn delete_table(&self, table: &TableName) -> Result<(), StoreError> {
        #[cfg(feature = "cache")]
        let _written = self.cache.writes_any();
        writing(self.store.delete_table(table)).await
    }

    /// Whether calls hold that lock, or wait for it.
    pub(crate) fn is_locked(&self, table: &TableName, key: &CanonicalKey) -> bool {
        self.write_locks.has_calls(&(table.clone(), key.clone()))
    }

    /// Waits until no other call is between its read and its write of the entity. Returns `None` after
    /// [`MAX_WAIT`] without progress of the calls before it.
    pub(crate) async fn write_lock(
        &self,
        table: &TableName,
        key: &CanonicalKey,
    ) -> Option<Permit<LockKey>> {
        let key = (table.clone(), key.clone());
        let mut permit = pin!(self.write_locks.acquire(key.clone()));
        if let Some(permit) = permit.as_mut().now_or_never() {
            return Some(permit);
        }
        let mut seen = self.write_locks.progress(&key);
        loop {
            // The app's runtime may be one without timers.
            let time = pin!(self.timer.sleep(MAX_WAIT));
            if let Either::Left((permit, _)) = select(permit.as_mut(), time).await {
                return Some(permit);
            }
            let progress = self.write_locks.progress(&key);
            if progress == seen {
                return None;
            }
            seen = progress;
        }
    }
}

#[cfg(all(test, feature = "embedded"))]
mod tests {
    use super::*;
    use crate::embedded::EmbeddedStore;
    use futures_util::future::{join, join_all};
    use tokio::time::{Instant, sleep, timeout};

    #[tokio::test(start_paused = true)]
    async fn each_call_goes_on_after_the_longest_wait_for_a_stuck_holder() {
        let store = Arc::new(EmbeddedStore::in_memory().unwrap());
        let connection = Connection::new(store).on_virtual_time(1);
        let table = TableName::new("tallies").unwrap();
        let key = CanonicalKey { partition_key: "p".to_owned(), row_key: "r".to_owned() };
        let lock = || connection.write_lock(&table, &key);
        let stuck = lock().await;
        assert!(stuck.is_some());
        let waiting = (0..20).map(|second| async move {
            sleep(Duration::from_secs(second)).await;
            let began = Instant::now();
            assert!(lock().await.is_none());
            began.elapsed()
        });
        let dropped = (0..20).map(|second| async move {
            sleep(Duration::from_millis(1000 * second + 500)).await;
            assert!(timeout(Duration::from_millis(700), lock()).await.is_err());
        });
        let (waits, _) = join(join_all(waiting), join_all(dropped)).await;
        for wait in waits {
            let late = wait.saturating_sub(MAX_WAIT);
            assert!(wait >= MAX_WAIT && late < Duration::from_millis(10), "{wait:?}");
        }
        drop(stuck);
        assert!(lock().now_or_never().flatten().is_some());
        assert!(!connection.is_locked(&table, &key));
    }
}
