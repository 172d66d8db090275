//! A lock for each key, taken in the order of the calls.
//!
//! Invariants: at one key, no more permits are out at a time than the lock has; a call that is dropped,
//! with its permit or waiting for one, leaves it to the next; a key without calls takes no memory.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A number of permits for each key.
#[derive(Debug)]
pub(crate) struct KeyedLock<K> {
    permits: usize,
    queues: Arc<Queues<K>>,
}

/// The keys that have calls.
#[derive(Debug)]
struct Queues<K>(Mutex<BTreeMap<K, Queue>>);

impl<K> Queues<K> {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<K, Queue>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct Queue {
    permits: Arc<Semaphore>,
    /// The calls that have a permit or wait for one.
    calls: usize,
    /// Rises when a call returns its permit, or says that it goes on.
    progress: u64,
}

impl<K: Clone + Ord> KeyedLock<K> {
    /// A lock with that many permits for each key.
    pub fn new(permits: usize) -> Self {
        Self { permits, queues: Arc::new(Queues(Mutex::new(BTreeMap::new()))) }
    }

    /// Waits for a permit at a key.
    pub async fn acquire(&self, key: K) -> Permit<K> {
        let (waiter, permits) = self.join_queue(key);
        // The semaphore is never closed.
        let permit = permits.acquire_owned().await.ok();
        Permit { _permit: permit, waiter }
    }

    fn join_queue(&self, key: K) -> (Waiter<K>, Arc<Semaphore>) {
        let mut queues = self.queues();
        let queue = queues.entry(key.clone()).or_insert_with(|| Queue {
            permits: Arc::new(Semaphore::new(self.permits)),
            calls: 0,
            progress: 0,
        });
        queue.calls += 1;
        let permits = Arc::clone(&queue.permits);
        (Waiter { queues: Arc::clone(&self.queues), key }, permits)
    }

    /// Whether calls have a permit at the key, or wait for one.
    pub fn has_calls(&self, key: &K) -> bool {
        self.queues().contains_key(key)
    }

    /// A number that rises when a call at the key returns its permit, or says that it goes on.
    pub fn progress(&self, key: &K) -> u64 {
        self.queues().get(key).map_or(0, |queue| queue.progress)
    }

    fn queues(&self) -> MutexGuard<'_, BTreeMap<K, Queue>> {
        self.queues.lock()
    }
}

/// A permit at a key, until it is dropped.
#[must_use = "dropping the permit releases it"]
pub(crate) struct Permit<K: Clone + Ord> {
    _permit: Option<OwnedSemaphorePermit>,
    waiter: Waiter<K>,
}

impl<K: Clone + Ord> Permit<K> {
    /// Says that its call goes on, to those who wait.
    pub fn goes_on(&self) {
        self.waiter.report_progress();
    }
}

impl<K: Clone + Ord> Drop for Permit<K> {
    fn drop(&mut self) {
        self.waiter.report_progress();
    }
}

/// A call in the queue of a key, with a permit or without.
struct Waiter<K: Clone + Ord> {
    queues: Arc<Queues<K>>,
    key: K,
}

impl<K: Clone + Ord> Waiter<K> {
    fn report_progress(&self) {
        if let Some(queue) = self.queues.lock().get_mut(&self.key) {
            queue.progress += 1;
        }
    }
}

/// The last call removes the key. A call that ends without a permit is no progress for those who wait.
impl<K: Clone + Ord> Drop for Waiter<K> {
    fn drop(&mut self) {
        let mut queues = self.queues.lock();
        if let Some(queue) = queues.get_mut(&self.key) {
            queue.calls -= 1;
            if queue.calls == 0 {
                queues.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;
    use futures_util::stream::{FuturesOrdered, StreamExt as _};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    #[test]
    fn a_key_without_calls_is_removed_whichever_call_ends_last() {
        let lock = KeyedLock::new(2);
        let arrived = AtomicUsize::new(0);
        let client = || {
            for round in 1..=100_000 {
                let permit = lock.acquire(round).now_or_never().unwrap();
                arrived.fetch_add(1, Ordering::SeqCst);
                // A spin, not a sleep: both threads release at the same moment.
                while arrived.load(Ordering::SeqCst) < 2 * round {
                    thread::yield_now();
                }
                drop(permit);
            }
        };
        thread::scope(|scope| {
            scope.spawn(client);
            scope.spawn(client);
        });
        assert_eq!(lock.queues().len(), 0);
    }

    #[test]
    fn a_permit_is_waited_for_at_one_key_only() {
        let lock = KeyedLock::new(1);
        let first = lock.acquire("a").now_or_never();
        assert!(first.is_some());
        assert!(lock.acquire("a").now_or_never().is_none());
        assert!(lock.acquire("b").now_or_never().is_some());
        drop(first);
        assert!(lock.acquire("a").now_or_never().is_some());
    }

    #[tokio::test]
    async fn permits_come_in_the_order_of_the_calls() {
        let lock = KeyedLock::new(1);
        let order = Mutex::new(Vec::new());
        let first = lock.acquire("a").await;
        let call = |number| {
            let (lock, order) = (&lock, &order);
            async move {
                let _permit = lock.acquire("a").await;
                tokio::task::yield_now().await;
                order.lock().unwrap().push(number);
            }
        };
        let mut calls: FuturesOrdered<_> = (0..10).map(call).collect();
        assert!(calls.next().now_or_never().is_none());
        drop(first);
        while calls.next().await.is_some() {}
        assert_eq!(*order.lock().unwrap(), (0..10).collect::<Vec<_>>());
        assert_eq!(lock.queues().len(), 0);
    }

    #[tokio::test]
    async fn a_call_that_is_dropped_while_it_waits_leaves_its_permit_to_the_next() {
        let lock = KeyedLock::new(1);
        let first = lock.acquire("a").await;
        let mut dropped = Box::pin(lock.acquire("a"));
        assert!(dropped.as_mut().now_or_never().is_none());
        let mut next = Box::pin(lock.acquire("a"));
        assert!(next.as_mut().now_or_never().is_none());
        // `dropped` owns the permit now, though it has not been polled since.
        drop(first);
        assert!(next.as_mut().now_or_never().is_none());
        drop(dropped);
        drop(next.now_or_never().unwrap());
        assert_eq!(lock.queues().len(), 0);
    }
}
